//! What recording of paging costs a program, where the program is built without paging.

use crate::args::Record;
use crate::console::Console;
use crate::failure::Failure;
use crate::paging;
use crate::program::Program;
use fathomp_runtime::Unpacked;

/// Nobody can ask for it.
pub(super) fn measure_intrusion(
    _plan: &Record,
    _paging: Option<&paging::Plan>,
    _subject: (&Program, &Unpacked),
    _console: Console,
) -> Result<Option<u8>, Failure> {
    Ok(None)
}
