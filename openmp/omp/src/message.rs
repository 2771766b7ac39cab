//! The runtime's own words, always on stderr, never in the program's way.

use std::fmt;
use std::io::Write as _;

/// Writes `fathomp: MESSAGE` as one line. A closed stderr is no error of the
/// program's (`eprintln!` would panic), so failures are ignored.
pub(crate) fn warn(message: fmt::Arguments) {
    let line = format!("fathomp: {message}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
