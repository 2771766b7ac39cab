//! How functions in front of the runtime's are made.

use fathomp_sys::dlsym_next::{self, Next};
use fathomp_sys::process;
use std::ffi::{CStr, c_void};

/// Whether a library may be an OpenMP runtime, by its path.
pub(crate) fn is_runtime(path: &[u8]) -> bool {
    let name = dlsym_next::file_name(path);
    ["libgomp", "libomp", "libiomp"]
        .iter()
        .any(|known| name.starts_with(known.as_bytes()))
}

/// The function behind one of ours, in the global scope or in a library that only another knows.
/// The program has it, because it was linked with it; if it is weak there and nobody has it, the
/// program would not have called it without us.
#[inline]
pub(crate) fn behind(next: &Next) -> *mut c_void {
    let found = next.address();
    if found.is_null() { search(next) } else { found }
}

#[cold]
fn search(next: &Next) -> *mut c_void {
    let found = dlsym_next::in_any(next.name(), is_runtime);
    if found.is_null() {
        missing(next.name());
    }
    next.set(found);
    found
}

/// There is no function to be called.
#[cold]
fn missing(name: &CStr) -> ! {
    process::write_to_stderr(b"fathomp: no OpenMP runtime that is loaded has ");
    process::write_to_stderr(name.to_bytes());
    process::write_to_stderr(b", which the program calls: run it without --runtime\n");
    process::leave(127)
}

/// The function behind `$name`, as a function.
macro_rules! real {
    ($name:ident: $type:ty) => {{
        static NEXT: fathomp_sys::dlsym_next::Next = fathomp_sys::dlsym_next::Next::new(
            fathomp_sys::dlsym_next::c_string(concat!(stringify!($name), "\0")),
        );
        let address = $crate::front::behind(&NEXT);
        // SAFETY: the runtime's function of this name has this type.
        unsafe { fathomp_sys::dlsym_next::function::<$type>(address) }
    }};
}

/// Defines functions in front of the runtime's of the same names and types, with a body each that
/// calls the `next` one.
macro_rules! front {
    ($(
        $(#[$doc:meta])*
        fn $name:ident ($($argument:ident: $type:ty),* $(,)?) $(-> $returned:ty)?
        |$next:ident| $body:block
    )+) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As of the function behind.
        #[allow(non_snake_case, clippy::too_many_arguments, reason = "as behind")]
        #[unsafe(export_name = concat!("fathomp_foreign_recorder_front_", stringify!($name)))]
        unsafe extern "C" fn $name($($argument: $type),*) $(-> $returned)? {
            let $next = $crate::front::real!(
                $name: unsafe extern "C" fn($($type),*) $(-> $returned)?
            );
            $body
        }
    )+};
}

/// As [`front!`], for bodies that ask where they were called from.
macro_rules! front_with_call_site {
    ($(
        $(#[$doc:meta])*
        fn $name:ident ($($argument:ident: $type:ty),* $(,)?) $(-> $returned:ty)?
        |$next:ident, $call:ident| $body:block
    )+) => {$(
        #[allow(non_snake_case, reason = "as behind")]
        mod $name {
            use super::*;

            fathomp_sys::noting_call_site! {
                $(#[$doc])*
                entry, concat!("fathomp_foreign_recorder_front_", stringify!($name)), body
            }

            /// As the function behind.
            ///
            /// # Safety
            /// As of the function behind.
            #[allow(clippy::too_many_arguments, reason = "as behind")]
            unsafe extern "C" fn body($($argument: $type),*) $(-> $returned)? {
                let $call = fathomp_sys::call_site::call_site();
                let $next = $crate::front::real!(
                    $name: unsafe extern "C" fn($($type),*) $(-> $returned)?
                );
                $body
            }
        }
    )+};
}

pub(crate) use {front, front_with_call_site, real};
