//! What a process of a program on several nodes says and how it ends if it cannot go on.

use std::io::{self, Write as _};

/// Exit code of a program whose cluster failed (`EX_SOFTWARE`).
pub(crate) const FAILED: i32 = 70;

/// Says a sentence on standard error.
pub(crate) fn say(sentence: &str) {
    let line = format!("fathomp: {sentence}\n");
    // Not `eprint!`, which panics if stderr is closed.
    let _ = io::stderr().write_all(line.as_bytes());
}
