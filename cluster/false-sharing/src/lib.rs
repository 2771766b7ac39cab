//! Which cache lines the threads of a program share, from what nodes with one
//! thread each wrote and read between barriers
//! ([decision 0061](../../../docs/decisions/0061-sharing-from-diffs.md)).
//!
//! * [`log`]: what a node notes, as a file.
//! * [`gather`](fn@gather): the nodes' notes, phase by phase, to what happened to
//!   each line.
//! * [`find`]: lines and their names to [`Findings`](fathomp_shared_lines::Findings), ranked, with what mends them.
//!
//! Pure: what the program's file says comes in through traits.
#![forbid(unsafe_code)]

mod find;
mod gather;
mod lines;
pub mod log;
mod mend;

pub use find::{Names, Prices, Situation, Spot, find};
pub use gather::{Gathered, Layout, gather};
pub use lines::{LineFacts, ReadFacts};

/// Bytes of a cache line.
pub const LINE_BYTES: u64 = 64;
