//! OpenMP programs to study: the catalogue, their sources inside this crate,
//! how they are built, what memory they need, and how their results are
//! checked.
//!
//! There is no list of programs here: what lies under `workloads/` is the
//! catalogue ([`catalogue`] says by which rules).
#![forbid(unsafe_code)]

mod answer;
mod catalogue;
mod check;
mod memory;
mod size;
mod trial;

pub use answer::{Answer, AnswerError};
pub use catalogue::{Suite, UnknownWorkload, Variant, Workload, catalogue, find};
pub use check::{CHECKSUM_TOLERANCE, Wrong, check};
pub use memory::{Memory, MemoryError, available, binary_size};
pub use size::{Class, UnknownClass};
pub use trial::{Runtime, Trial, TrialError};
