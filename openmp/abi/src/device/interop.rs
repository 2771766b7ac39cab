//! `omp_get_interop_*`: there are no foreign runtimes to talk to, so every
//! interoperability object is `omp_interop_none`.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// `omp_irc_empty`: the object is `omp_interop_none`.
const EMPTY: c_int = 1;

/// Number of properties an object has beyond the standard's: none.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_num_interop_properties(_interop: *const c_void) -> c_int {
    0
}

/// # Safety
/// `status` is null or points to an `int`.
unsafe fn report_empty(status: *mut c_int) {
    if !status.is_null() {
        // SAFETY: promised by the caller.
        unsafe { status.write(EMPTY) }
    }
}

/// A property that is a number.
///
/// # Safety
/// `status` is null or points to an `int`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_interop_int(
    _interop: *const c_void,
    _property: c_int,
    status: *mut c_int,
) -> isize {
    // SAFETY: promised by the caller.
    unsafe { report_empty(status) }
    0
}

/// A property that is a pointer.
///
/// # Safety
/// `status` is null or points to an `int`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_interop_ptr(
    _interop: *const c_void,
    _property: c_int,
    status: *mut c_int,
) -> *mut c_void {
    // SAFETY: promised by the caller.
    unsafe { report_empty(status) }
    ptr::null_mut()
}

/// A property that is a string.
///
/// # Safety
/// `status` is null or points to an `int`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_interop_str(
    _interop: *const c_void,
    _property: c_int,
    status: *mut c_int,
) -> *const c_char {
    // SAFETY: promised by the caller.
    unsafe { report_empty(status) }
    ptr::null()
}

/// Name of a property.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_interop_name(_interop: *const c_void, _property: c_int) -> *const c_char {
    ptr::null()
}

/// Type of a property in words.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_interop_type_desc(
    _interop: *const c_void,
    _property: c_int,
) -> *const c_char {
    ptr::null()
}

/// A status in words.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_interop_rc_desc(
    _interop: *const c_void,
    _status: c_int,
) -> *const c_char {
    c"there are no interoperability objects: the host is the only device".as_ptr()
}
