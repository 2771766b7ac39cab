//! A rank as it was recorded.

use crate::facts::Analysis;
use fathomp_trace::model::Recording;

/// A rank's recording.
#[derive(Clone, Copy, Debug)]
pub struct OneRank<'a> {
    /// Its number in `MPI_COMM_WORLD`.
    pub number: u32,
    /// What was recorded.
    pub recording: &'a Recording,
    /// What that says.
    pub analysis: &'a Analysis,
}
