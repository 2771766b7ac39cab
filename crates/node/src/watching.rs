//! Why what a program accesses cannot be recorded.

use std::io;

/// Accesses cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The medium fails.
    #[error("cannot write what the program accesses: {0}: free some space or record elsewhere")]
    Write(#[source] io::Error),
    /// The system refuses.
    #[error("cannot change what the program may do to a page: {0}")]
    Permit(#[source] io::Error),
    /// More threads than nodes.
    #[error(
        "accesses can be recorded of one thread on each node, and the program has more: give as many nodes as it has threads"
    )]
    Threads,
}
