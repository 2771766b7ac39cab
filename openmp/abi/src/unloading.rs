//! `dlclose`, in front of the C library's: when a module is unloaded, what a
//! recording knows of its addresses is not true any more.
//!
//! The function has a name of its own here; the library is linked so that it
//! answers to the C library's (`app/runtime/build/link.rs`).

use fathomp_sys::dlsym_next::Next;
use fathomp_sys::modules;
use std::ffi::{c_int, c_void};

/// As `dlclose`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_dlclose(handle: *mut c_void) -> c_int {
    type Dlclose = unsafe extern "C" fn(*mut c_void) -> c_int;
    static NEXT: Next = Next::new(c"dlclose");
    // SAFETY: the C library's function of this name has this type.
    let Some(next) = (unsafe { NEXT.function::<Dlclose>() }) else {
        // As the C library says that it failed.
        return -1;
    };
    // SAFETY: the handle is our caller's promise.
    let result = unsafe { next(handle) };
    modules::unloading();
    result
}
