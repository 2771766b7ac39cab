//! Tables for a terminal: aligned, no wider than asked for, and free of
//! control characters whatever a binary calls its functions.

mod advice;
mod comparison;
mod dsm;
mod evaluation;
mod executions;
mod mpi;
mod prediction;
mod ranks;
mod regions;
pub(crate) mod scan;
mod sdp;
mod sharing;
mod spark;
pub mod splits;
mod validation;

pub use crate::units::{bytes, duration, percent, short_count};
pub use advice::advice;
pub use comparison::comparison;
pub use evaluation::evaluation;
pub use executions::executions;
pub use fathomp_tables::{Grid, WIDTH_MIN, columns, fit, readable, wrapped};
pub(crate) use mpi::at_least;
pub use prediction::prediction;
pub use ranks::ranks;
pub use regions::{RegionOptions, regions};
pub use scan::{ScanOptions, scan, title as scan_title};
pub use sdp::sdp;
pub use sharing::sharing;
pub use spark::{Glyphs, sparkline};
pub use validation::validation;

/// `text` on one line, with what could command a terminal replaced.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|letter| if hidden(letter) { '\u{fffd}' } else { letter })
        .collect()
}

/// Control characters, and marks that reorder or hide what follows them.
fn hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_command_the_terminal() {
        assert_eq!(
            printable("a\u{1b}[31mb\nc\u{202e}d"),
            "a\u{fffd}[31mb\u{fffd}c\u{fffd}d"
        );
    }
}
