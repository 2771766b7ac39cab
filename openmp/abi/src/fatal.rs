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
