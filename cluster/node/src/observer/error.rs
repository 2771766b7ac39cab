//! Why what a program accesses cannot be recorded.

use fathomp_access_trace::Accesses;
use std::io;

/// Accesses cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The medium fails.
    #[error("cannot write what the program accesses: {0}: free some space or record elsewhere")]
    Write(#[source] io::Error),
    /// More memory than lines can be numbered.
    #[error(
        "lines are recorded of at most {max} bytes of shared memory, and {nodes} nodes share more: record on fewer nodes, or leave --lines out",
        max = u64::from(u32::MAX) * u64::from(Accesses::LINE_BYTES)
    )]
    Lines {
        /// Nodes there are.
        nodes: u16,
    },
    /// The system refuses.
    #[error("cannot change what the program may do to a page: {0}")]
    Permit(#[source] io::Error),
    /// More threads than nodes.
    #[error(
        "accesses can be recorded of one thread on each node, and the program has more: give as many nodes as it has threads"
    )]
    Threads,
}
