//! Names of devices that mean the same in every process (OpenMP 6.0): the host has the one that
//! libgomp gives it, others there are none.

use super::interop::return_text;
use super::{INITIAL_DEVICE, INVALID_DEVICE, is_host};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

const HOST: &CStr = c"OMP_INITIAL_DEVICE";
/// `omp_initial_device`
const INITIAL: c_int = -1;
/// `omp_invalid_device` of LLVM's library.
const LLVM_INVALID: c_int = -2;

/// The host's name, or null.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_uid_from_device(device: c_int) -> *const c_char {
    if is_host(device) {
        HOST.as_ptr()
    } else {
        ptr::null()
    }
}

/// Whether that is the host's name.
///
/// # Safety
/// `name` is null or a string of C.
unsafe fn names_host(name: *const c_char) -> bool {
    // SAFETY: promised by the caller.
    !name.is_null() && unsafe { CStr::from_ptr(name) } == HOST
}

/// Number of the device of that name.
///
/// # Safety
/// `name` is null or a string of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_device_from_uid(name: *const c_char) -> c_int {
    // SAFETY: promised by the caller.
    if unsafe { names_host(name) } {
        INITIAL
    } else {
        INVALID_DEVICE
    }
}

/// The same as LLVM's library answers it.
///
/// # Safety
/// `name` is null or a string of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_llvm_omp_get_device_from_uid(name: *const c_char) -> c_int {
    // SAFETY: promised by the caller.
    if unsafe { names_host(name) } {
        INITIAL_DEVICE
    } else {
        LLVM_INVALID
    }
}

/// Fortran: `function omp_get_uid_from_device(device_num)`
///
/// # Safety
/// `text` and `length` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_uid_from_device_(
    text: *mut *const c_char,
    length: *mut usize,
    device: i32,
) {
    // SAFETY: promised by the caller.
    unsafe { return_text(is_host(device).then_some(HOST), text, length) }
}

/// The same with 8-byte integers.
///
/// # Safety
/// `text` and `length` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_uid_from_device_8_(
    text: *mut *const c_char,
    length: *mut usize,
    device: i64,
) {
    // SAFETY: promised by the caller.
    unsafe {
        omp_get_uid_from_device_(
            text,
            length,
            i32::try_from(device).unwrap_or(INVALID_DEVICE),
        )
    }
}

/// Fortran: `function omp_get_device_from_uid(uid)`
///
/// # Safety
/// `name` has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_device_from_uid_(name: *const c_void, length: usize) -> c_int {
    if name.is_null() {
        return INVALID_DEVICE;
    }
    // SAFETY: promised by the caller.
    let name = unsafe { std::slice::from_raw_parts(name.cast::<u8>(), length) };
    match name.trim_ascii_end() == HOST.to_bytes() {
        true => INITIAL,
        false => INVALID_DEVICE,
    }
}
