//! Words to the user, and the end of a program that cannot go on.

use std::fmt;
use std::io::Write as _;

/// Says something on stderr.
pub fn warn(what: fmt::Arguments) {
    let line = format!("fathomp: {what}\n");
    // Not `eprint!`, which panics if stderr is closed.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Says why on stderr and leaves with exit code 1, as libgomp does where the
/// specification offers no way to report an error.
pub fn fatal(reason: fmt::Arguments) -> ! {
    warn(reason);
    std::process::exit(1)
}

/// Called by what stands for a function that this runtime does not have (`app/runtime/build/names.rs`):
/// says which the program has called, and leaves.
///
/// # Safety
/// `name` is a string of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_missing(name: *const std::ffi::c_char) -> ! {
    // SAFETY: promised by the caller.
    let name = unsafe { std::ffi::CStr::from_ptr(name) }.to_string_lossy();
    fatal(format_args!(
        "the program called {name}, which fathomp's runtime does not have: it has OpenMP's host side, and \
         neither OpenACC nor devices; run the program without fathomp"
    ))
}
