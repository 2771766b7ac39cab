//! `dlclose`, in front of the C library's: when a module is unloaded, what a
//! recording knows of its addresses is not true any more.
//!
//! The function has a name of its own here; the library is linked so that it
//! answers to the C library's (`app/runtime/build/link.rs`).

use fathomp_sys::modules;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The C library's function, once it has been looked for.
static NEXT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// As `dlclose`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_dlclose(handle: *mut c_void) -> c_int {
    let mut next = NEXT.load(Ordering::Relaxed);
    if next.is_null() {
        // SAFETY: the name is a C string.
        next = unsafe { libc::dlsym(libc::RTLD_NEXT, c"dlclose".as_ptr()) };
        NEXT.store(next, Ordering::Relaxed);
    }
    if next.is_null() {
        // As the C library says that it failed.
        return -1;
    }
    // SAFETY: the C library's function of this name has this type; the handle is
    // our caller's promise.
    let result = unsafe {
        let next =
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void) -> c_int>(next);
        next(handle)
    };
    modules::unloading();
    result
}
