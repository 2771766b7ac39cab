//! Code for devices, which programs announce when they start: it is of no use
//! to us.

use std::ffi::c_void;

/// `void GOMP_offload_register(const void *, int, const void *)`
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_offload_register(_host: *const c_void, _kind: i32, _data: *const c_void) {}

/// `void GOMP_offload_register_ver(unsigned, const void *, int, const void *)`
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_offload_register_ver(
    _version: u32,
    _host: *const c_void,
    _kind: i32,
    _data: *const c_void,
) {
}

/// `void GOMP_offload_unregister(const void *, int, const void *)`
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_offload_unregister(_host: *const c_void, _kind: i32, _data: *const c_void) {}

/// `void GOMP_offload_unregister_ver(unsigned, const void *, int, const void *)`
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_offload_unregister_ver(
    _version: u32,
    _host: *const c_void,
    _kind: i32,
    _data: *const c_void,
) {
}

/// `void *GOMP_target_map_indirect_ptr(void *ptr)`: where a function lies on the device that this
/// is called on.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_target_map_indirect_ptr(function: *mut c_void) -> *mut c_void {
    function
}
