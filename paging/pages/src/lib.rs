//! What a paging recording shows, of which [`PagingFacts`] is all that is known: a section of the
//! page, text for a terminal, and files for other tools.
//!
//! Like all of a report, functions from plain data to text.
#![forbid(unsafe_code)]

mod export;
mod facts;
mod section;
mod text;

pub use export::{SKYLINE_HEADER, skyline_csv, skyline_gnuplot};
pub use facts::{Circumstances, MemoryCurve, MemoryRun, PagingFacts};
pub use section::tasks_shown;
pub use text::{SkylineOptions, gang, skyline};
