//! From a paging recording to what it shows: skylines, cumulative profiles, how alike
//! tasks are, what repeats, and what follows from that.
//!
//! The definitions are those of K. Y. Wang and D. C. Marinescu, *Characterization of the
//! Paging Activity of NAS Benchmark Programs on the Intel Paragon* (Purdue
//! CSD-TR-95-015, 1995), made exact where they leave a choice.
//!
//! [`Bins::read`] goes through a [`Source`] once and keeps counts per task, counter, state
//! and bin in few bytes; [`analyse`] makes an [`Analysis`] of them, plain data for all that
//! shows it. [`rates`](fn@rates) hands out the raw record, [`questions`] answer what
//! numbers alone do not.
//!
//! Two kinds of time: bins of wall time, and phases between barriers, in which programs
//! that repeat do so exactly. Sums over tasks are of integers and exact in any order. What
//! is said of periods, of tasks alike and of moments in which they meet is tried against
//! chance: circular shifts of tasks under a seed.
#![forbid(unsafe_code)]

mod analysis;
mod bins;
mod correlate;
mod facts;
mod findings;
mod fourier;
mod lanes;
mod packed;
mod peaks;
mod period;
mod phases;
mod published;
pub mod questions;
mod rates;
mod resources;
mod settings;
mod shape;
mod source;
mod spread;
#[doc(hidden)]
pub mod testing;
mod words;

pub use analysis::analyse;
pub use bins::Bins;
pub use facts::*;
pub use lanes::{Lane, Lanes, RegionSpan, Stretch};
pub use rates::rates;
pub use settings::{BINS_MAX, Selection, Settings};
pub use source::{Memory, Source};
