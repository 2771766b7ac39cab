//! How the functions in front are made.

use std::ffi::c_int;

/// What a function returns if there is none behind it.
pub(crate) trait Failed {
    /// What that is.
    const FAILED: Self;
}

impl Failed for c_int {
    const FAILED: Self = -1;
}

impl Failed for isize {
    const FAILED: Self = -1;
}

impl Failed for usize {
    const FAILED: Self = 0;
}

impl Failed for u32 {
    // WEOF.
    const FAILED: Self = u32::MAX;
}

impl Failed for () {
    const FAILED: Self = ();
}

impl<T> Failed for *mut T {
    const FAILED: Self = std::ptr::null_mut();
}

/// What a function returns if there is none behind it, with `errno` set.
#[cold]
pub(crate) fn missing<T: Failed>() -> T {
    // SAFETY: the thread's own `errno`.
    unsafe { *libc::__errno_location() = libc::ENOSYS };
    T::FAILED
}

/// The [`Call`](crate::engine::Call) of a name.
macro_rules! call {
    ($name:expr) => {
        $crate::engine::Call::new(call!(@text $name))
    };
    ($name:expr, $version:literal) => {
        $crate::engine::Call::of_version(call!(@text $name), call!(@text $version))
    };
    (@text $name:expr) => {
        fathomp_sys::dlsym_next::c_string(concat!($name, "\0"))
    };
}

/// The body of a function in front: calls the next one of the [`Call`](crate::engine::Call)
/// `$of`, which is `$call` to what comes before and after.
macro_rules! forward {
    (
        $of:ident, $call:ident = $by:expr, $before:expr, [$stay:ident $result:ident $after:expr]
        ($($argument:ident: $type:ty),*) $returned:ty
    ) => {{
        let $call = $by;
        type Next = unsafe extern "C" fn($($type),*) -> $returned;
        // SAFETY: the next function of this name has this type.
        let Some(next) = (unsafe { $of.next.function::<Next>() }) else {
            return $crate::front::macros::missing();
        };
        let $stay = $before;
        // SAFETY: promised by our caller.
        let $result = unsafe { next($($argument),*) };
        $after;
        $result
    }};
}

/// Defines functions that stand in front of those of the same names.
///
/// `|call| before, |stay, result| after; name | name (arguments) -> result; ..` evaluates
/// `before` before each call of the next function, and `after`, which gets its value as
/// `stay`, with what that returned. Both may use the arguments. A version of the next
/// function's symbol may be given: `name @ "GLIBC_2.3.2" (..)`.
///
/// With `io` before the first bar, what fathomp's runtime calls does not count for the program.
macro_rules! front {
    (
        io |$call:ident| $before:expr, |$stay:ident, $result:ident| $after:expr;
        $( $($name:ident)|+ ($($arguments:tt)*) -> $returned:ty; )+
    ) => {
        $( front! {
            @each_io [$call $before] [$stay $result $after]
            [$($name)+] ($($arguments)*) $returned
        } )+
    };
    (
        @each_io $entering:tt $leaving:tt [$($name:ident)+] $arguments:tt $returned:ty
    ) => {
        $( front! { @one_io $entering $leaving $name $arguments $returned } )+
    };
    (
        @one_io [$call:ident $before:expr] [$stay:ident $result:ident $after:expr]
        $name:ident ($($argument:ident: $type:ty),*) $returned:ty
    ) => {
        #[doc = concat!("As `", stringify!($name), "`.")]
        #[allow(non_snake_case, reason = "the names are those of the functions behind")]
        #[unsafe(naked)]
        #[unsafe(export_name = concat!("fathomp_paging_front_", stringify!($name)))]
        extern "C" fn $name() {
            // The return address is on top of the stack, and no argument is in the register.
            std::arch::naked_asm!(
                "mov r11, qword ptr [rsp]",
                "sub r11, qword ptr [rip + {ours}]",
                "cmp r11, qword ptr [rip + {ours} + 8]",
                "jb {by_us}",
                "jmp {by_the_program}",
                ours = sym $crate::engine::ours::OURS,
                by_us = sym body::<true>,
                by_the_program = sym body::<false>,
            );

            /// # Safety
            /// As of the function behind.
            #[allow(
                unused_variables,
                clippy::let_unit_value,
                clippy::no_effect,
                clippy::too_many_arguments,
                reason = "the arguments are those of the functions behind"
            )]
            unsafe extern "C" fn body<const OURS: bool>($($argument: $type),*) -> $returned {
                static CALL: $crate::engine::Call = call!(stringify!($name));
                forward! {
                    CALL, $call = $crate::engine::CallBy { call: &CALL, ours: OURS },
                    $before, [$stay $result $after] ($($argument: $type),*) $returned
                }
            }
        }
    };
    (
        |$call:ident| $before:expr, |$stay:ident, $result:ident| $after:expr;
        $( $($name:ident $(@ $version:literal)?)|+ ($($arguments:tt)*) -> $returned:ty; )+
    ) => {
        $( front! {
            @each [$call $before] [$stay $result $after]
            [$($name [$($version)?])+] ($($arguments)*) $returned
        } )+
    };
    (
        @each $entering:tt $leaving:tt
        [$($name:ident $version:tt)+] $arguments:tt $returned:ty
    ) => {
        $( front! { @one $entering $leaving $name $version $arguments $returned } )+
    };
    (
        @one [$call:ident $before:expr] [$stay:ident $result:ident $after:expr]
        $name:ident [$($version:literal)?] ($($argument:ident: $type:ty),*) $returned:ty
    ) => {
        #[doc = concat!("As `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As of the function behind.
        #[allow(
            non_snake_case,
            unused_variables,
            clippy::let_unit_value,
            clippy::no_effect,
            clippy::too_many_arguments,
            reason = "the names and arguments are those of the functions behind"
        )]
        #[unsafe(export_name = concat!("fathomp_paging_front_", stringify!($name)))]
        unsafe extern "C" fn $name($($argument: $type),*) -> $returned {
            static CALL: $crate::engine::Call = call!(stringify!($name) $(, $version)?);
            forward! {
                CALL, $call = &CALL,
                $before, [$stay $result $after] ($($argument: $type),*) $returned
            }
        }
    };
}
