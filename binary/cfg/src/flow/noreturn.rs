//! Functions that never return.

use crate::image::{Image, Target};

/// Of the C, C++ and Fortran libraries.
const NAMES: [&str; 38] = [
    "abort",
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "pthread_exit",
    "thrd_exit",
    "longjmp",
    "_longjmp",
    "siglongjmp",
    "__longjmp_chk",
    "err",
    "errx",
    "verr",
    "verrx",
    "__assert_fail",
    "__assert_perror_fail",
    "__assert",
    "__stack_chk_fail",
    "__fortify_fail",
    "__chk_fail",
    "_Unwind_Resume",
    "__cxa_throw",
    "__cxa_rethrow",
    "__cxa_bad_cast",
    "__cxa_bad_typeid",
    "__cxa_throw_bad_array_new_length",
    "__cxa_pure_virtual",
    "__cxa_deleted_virtual",
    "__clang_call_terminate",
    "_ZSt9terminatev",
    "_gfortran_os_error",
    "_gfortran_os_error_at",
    "_gfortran_runtime_error",
    "_gfortran_runtime_error_at",
    "rust_begin_unwind",
    "__libc_fatal",
    "__libc_start_main_impl",
];

/// Beginnings of such: `std::__throw_length_error(char const*)`, STOP of Fortran.
const BEGINNINGS: [&str; 4] = [
    "_ZSt20__throw_",
    "_gfortran_stop_",
    "_gfortran_error_stop_",
    "_gfortran_exit_",
];

/// Whether a function may return, as far as its name says.
#[must_use]
pub fn may_return(image: &Image, target: &Target) -> bool {
    let name = match target {
        Target::Import(name) => &**name,
        Target::Local(address) => {
            match image.function_from(*address).and_then(|id| image.name(id)) {
                Some(name) => name,
                None => return true,
            }
        }
        Target::Unknown => return true,
    };
    let begins = BEGINNINGS.iter().any(|begin| name.starts_with(begin));
    // `std::__throw_...`: the length of the name stands between.
    let throws = name.starts_with("_ZSt") && name.contains("__throw_");
    !(NAMES.contains(&name) || begins || throws)
}
