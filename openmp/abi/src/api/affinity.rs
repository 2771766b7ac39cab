//! Thread affinity in words.
//!
//! gfortran passes the length of every string behind the other arguments;
//! Fortran strings end where their length says and are padded with blanks.

use fathomp_omp::cluster::{Setting, process};
use fathomp_omp::places::display::{self, Original};
use fathomp_omp::runtime;
use std::ffi::{CStr, c_char};
use std::ptr;

/// A C string in Rust; empty if the pointer is null.
///
/// # Safety
/// `text` is null or points to a string that ends in a NUL.
unsafe fn from_c(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: promised by the caller.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

/// A Fortran string in Rust, with its trailing blanks.
///
/// # Safety
/// `length` bytes can be read at `text`, or `length` is 0.
unsafe fn from_fortran(text: *const u8, length: usize) -> String {
    if text.is_null() || length == 0 {
        return String::new();
    }
    // SAFETY: promised by the caller.
    let bytes = unsafe { std::slice::from_raw_parts(text, length) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// Copies as much of `text` as fits, with a NUL behind it, and returns the
/// length of all of it.
///
/// # Safety
/// `size` bytes can be written at `buffer`, or `size` is 0.
unsafe fn to_c(text: &str, buffer: *mut c_char, size: usize) -> usize {
    if let Some(room) = size.checked_sub(1)
        && !buffer.is_null()
    {
        let length = text.len().min(room);
        // SAFETY: `length + 1` is at most `size`; a fresh string does not
        // overlap the caller's buffer.
        unsafe {
            ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), length);
            buffer.add(length).write(0);
        }
    }
    text.len()
}

/// Copies as much of `text` as fits, padded with blanks, and returns the
/// length of all of it.
///
/// # Safety
/// `size` bytes can be written at `buffer`, or `size` is 0.
unsafe fn to_fortran(text: &str, buffer: *mut u8, size: usize) -> i32 {
    if !buffer.is_null() {
        let length = text.len().min(size);
        // SAFETY: `length` is at most `size`; a fresh string does not overlap
        // the caller's buffer.
        unsafe {
            ptr::copy_nonoverlapping(text.as_ptr(), buffer, length);
            buffer.add(length).write_bytes(b' ', size - length);
        }
    }
    i32::try_from(text.len()).unwrap_or(i32::MAX)
}

fn set_format(format: String) {
    if let Some(process) = process() {
        process.sets("omp_set_affinity_format", Setting::AffinityFormat(&format));
    }
    runtime().device.set_affinity_format(format);
}

/// Sets `affinity-format-var`.
///
/// # Safety
/// `format` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_set_affinity_format(format: *const c_char) {
    // SAFETY: promised by the caller.
    let format = unsafe { from_c(format) };
    set_format(format);
}

/// Fortran's form of [`omp_set_affinity_format`].
///
/// # Safety
/// `format` is a Fortran string of that length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_set_affinity_format_(format: *const u8, length: usize) {
    // SAFETY: promised by the caller.
    let format = unsafe { from_fortran(format, length) };
    set_format(format);
}

/// Defines the routines that look at the format or use it: for gcc's programs
/// under their own names, for those of LLVM under others (see
/// `app/runtime/build/names.rs`).
macro_rules! routines {
    ($original:expr => $get:ident, $get_fortran:ident, $display:ident, $display_fortran:ident,
        $capture:ident, $capture_fortran:ident;) => {
        /// Copies `affinity-format-var` and returns its length.
        ///
        /// # Safety
        /// `size` bytes can be written at `buffer`.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get(buffer: *mut c_char, size: usize) -> usize {
            // SAFETY: promised by the caller.
            unsafe { to_c(&display::format($original), buffer, size) }
        }

        /// The same in Fortran.
        ///
        /// # Safety
        /// `buffer` is a Fortran string of that length.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get_fortran(buffer: *mut u8, size: usize) -> i32 {
            // SAFETY: promised by the caller.
            unsafe { to_fortran(&display::format($original), buffer, size) }
        }

        /// Shows the calling thread's affinity, in `affinity-format-var`'s format if
        /// `format` is null or empty.
        ///
        /// # Safety
        /// `format` is null or a C string.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $display(format: *const c_char) {
            // SAFETY: promised by the caller.
            display::show(&unsafe { from_c(format) }, $original);
        }

        /// The same in Fortran.
        ///
        /// # Safety
        /// `format` is a Fortran string of that length.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $display_fortran(format: *const u8, length: usize) {
            // SAFETY: promised by the caller.
            display::show(&unsafe { from_fortran(format, length) }, $original);
        }

        /// Copies what `omp_display_affinity` would show and returns its length.
        ///
        /// # Safety
        /// `size` bytes can be written at `buffer`; `format` is null or a C string.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $capture(
            buffer: *mut c_char,
            size: usize,
            format: *const c_char,
        ) -> usize {
            // SAFETY: promised by the caller.
            unsafe { to_c(&display::capture(&from_c(format), $original), buffer, size) }
        }

        /// The same in Fortran.
        ///
        /// # Safety
        /// `buffer` and `format` are Fortran strings of these lengths.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $capture_fortran(
            buffer: *mut u8,
            format: *const u8,
            size: usize,
            format_length: usize,
        ) -> i32 {
            // SAFETY: promised by the caller.
            unsafe {
                let text = display::capture(&from_fortran(format, format_length), $original);
                to_fortran(&text, buffer, size)
            }
        }
    };
}

routines! {
    Original::Libgomp => omp_get_affinity_format, omp_get_affinity_format_, omp_display_affinity,
        omp_display_affinity_, omp_capture_affinity, omp_capture_affinity_;
}
routines! {
    Original::Libomp => fathomp_llvm_omp_get_affinity_format,
        fathomp_llvm_omp_get_affinity_format_, fathomp_llvm_omp_display_affinity,
        fathomp_llvm_omp_display_affinity_, fathomp_llvm_omp_capture_affinity,
        fathomp_llvm_omp_capture_affinity_;
}
