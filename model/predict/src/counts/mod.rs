//! Counts of page faults: out of files of counts, and out of recordings made on nodes.

mod counted;
mod csv;
mod recordings;
mod write;

pub use counted::{Counted, Program, Row, Run, Scope};
pub use csv::{CountsError, ReadCountsError};
pub use recordings::RecordingsError;
