//! `interop` and `omp_get_interop_*`: there are no foreign runtimes to talk to, so every
//! interoperability object is `omp_interop_none`.

use crate::entry::entries;
use crate::gomp::task::GOMP_taskwait_depend;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

entries! {
    /// `void GOMP_interop(int device, int n_init, omp_interop_t **init, const void
    /// *target_targetsync, const void *prefer_type, int n_use, omp_interop_t **use,
    /// int n_destroy, omp_interop_t **destroy, unsigned flags, void **depend)`
    ///
    /// After the dependences, objects that are initialised or destroyed are `omp_interop_none`.
    fn GOMP_interop(
        _device: c_int,
        initialised: c_int,
        init: *const *mut *mut c_void,
        _target_targetsync: *const c_void,
        _prefer_type: *const c_void,
        _used: c_int,
        _use: *const *mut *mut c_void,
        destroyed: c_int,
        destroy: *const *mut *mut c_void,
        _flags: c_uint,
        depend: *const *const c_void,
    ) {
        if !depend.is_null() {
            // SAFETY: promised by our caller.
            unsafe { GOMP_taskwait_depend::body(depend) };
        }
        for (count, objects) in [(initialised, init), (destroyed, destroy)] {
            for index in 0..usize::try_from(count).unwrap_or(0) {
                // SAFETY: promised by our caller: so many addresses of the program's objects.
                unsafe { objects.add(index).read().write(ptr::null_mut()) };
            }
        }
    }
}

/// `omp_irc_empty`: the object is `omp_interop_none`.
const EMPTY: c_int = -1;
/// `omp_irc_out_of_range`: there is no such property.
const OUT_OF_RANGE: c_int = -2;

/// Names of the properties -1, -2 and so on.
const PROPERTIES: [&CStr; 9] = [
    c"fr_id",
    c"fr_name",
    c"vendor",
    c"vendor_name",
    c"device_num",
    c"platform",
    c"device",
    c"device_context",
    c"targetsync",
];

/// The name of a property, if there is one of that number.
fn property_name(property: c_int) -> Option<&'static CStr> {
    let index = usize::try_from(property.checked_add(1)?.checked_neg()?).ok()?;
    PROPERTIES.get(index).copied()
}

/// What a status means, from `omp_irc_no_value` (1) down to `omp_irc_type_str`.
fn status_text(status: c_int) -> Option<&'static CStr> {
    match status {
        1 => Some(c"the property has no value"),
        0 => Some(c"success"),
        EMPTY => Some(c"there are no interoperability objects: the host is the only device"),
        OUT_OF_RANGE => Some(c"there is no such property"),
        -3 => Some(c"the property is a number"),
        -4 => Some(c"the property is a pointer"),
        -5 => Some(c"the property is a text"),
        _ => None,
    }
}

/// Number of properties an object has beyond the standard's: none.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_num_interop_properties(_interop: *const c_void) -> c_int {
    0
}

/// Why no property has a value.
///
/// # Safety
/// `status` is null or points to an `int`.
unsafe fn report_empty(property: c_int, status: *mut c_int) {
    let why = property_name(property).map_or(OUT_OF_RANGE, |_| EMPTY);
    if !status.is_null() {
        // SAFETY: promised by the caller.
        unsafe { status.write(why) }
    }
}

/// A property that is a number.
///
/// # Safety
/// `status` is null or points to an `int`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_interop_int(
    _interop: *const c_void,
    property: c_int,
    status: *mut c_int,
) -> isize {
    // SAFETY: promised by the caller.
    unsafe { report_empty(property, status) }
    0
}

/// A property that is a pointer.
///
/// # Safety
/// `status` is null or points to an `int`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_interop_ptr(
    _interop: *const c_void,
    property: c_int,
    status: *mut c_int,
) -> *mut c_void {
    // SAFETY: promised by the caller.
    unsafe { report_empty(property, status) }
    ptr::null_mut()
}

/// A property that is a string.
///
/// # Safety
/// `status` is null or points to an `int`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_interop_str(
    _interop: *const c_void,
    property: c_int,
    status: *mut c_int,
) -> *const c_char {
    // SAFETY: promised by the caller.
    unsafe { report_empty(property, status) }
    ptr::null()
}

/// Name of a property.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_interop_name(_interop: *const c_void, property: c_int) -> *const c_char {
    property_name(property).map_or(ptr::null(), CStr::as_ptr)
}

/// Type of a property in words.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_interop_type_desc(
    _interop: *const c_void,
    _property: c_int,
) -> *const c_char {
    ptr::null()
}

/// A text as gfortran has functions return it: its address and its length.
///
/// # Safety
/// Both can be written.
pub(super) unsafe fn return_text(
    text: Option<&'static CStr>,
    address: *mut *const c_char,
    length: *mut usize,
) {
    // SAFETY: promised by the caller.
    unsafe {
        address.write(text.map_or(ptr::null(), CStr::as_ptr));
        length.write(text.map_or(0, |text| text.to_bytes().len()));
    }
}

/// Fortran: a property that is a string.
///
/// # Safety
/// `text` and `length` can be written; `status` is null or points to an `int`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_interop_str_(
    text: *mut *const c_char,
    length: *mut usize,
    _interop: *const c_void,
    property: c_int,
    status: *mut c_int,
) {
    // SAFETY: promised by the caller.
    unsafe {
        return_text(None, text, length);
        report_empty(property, status);
    }
}

/// Fortran: name of a property.
///
/// # Safety
/// `text` and `length` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_interop_name_(
    text: *mut *const c_char,
    length: *mut usize,
    _interop: *const c_void,
    property: c_int,
) {
    // SAFETY: promised by the caller.
    unsafe { return_text(property_name(property), text, length) }
}

/// Fortran: type of a property in words.
///
/// # Safety
/// `text` and `length` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_interop_type_desc_(text: *mut *const c_char, length: *mut usize) {
    // SAFETY: promised by the caller.
    unsafe { return_text(None, text, length) }
}

/// Fortran: a status in words.
///
/// # Safety
/// `text` and `length` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn omp_get_interop_rc_desc_(
    text: *mut *const c_char,
    length: *mut usize,
    _interop: *const c_void,
    status: c_int,
) {
    // SAFETY: promised by the caller.
    unsafe { return_text(status_text(status), text, length) }
}

/// A status in words.
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_interop_rc_desc(_interop: *const c_void, status: c_int) -> *const c_char {
    status_text(status).map_or(ptr::null(), CStr::as_ptr)
}
