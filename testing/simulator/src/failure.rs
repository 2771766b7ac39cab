//! What can be wrong with a protocol.

use crate::program::Address;
use fathomp_driver::DriverError;
use fathomp_protocols::WireError;
use fathomp_types::{NodeId, PageId, ThreadId};

/// Why a protocol is wrong.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A read saw something else than what was last written.
    #[error(
        "thread {thread} of node {node} read {seen} at {address:?}, where {expected} was written"
    )]
    Read {
        /// The reader's node.
        node: NodeId,
        /// The reader.
        thread: ThreadId,
        /// Where.
        address: Address,
        /// What it saw.
        seen: u8,
        /// What it should have seen.
        expected: u8,
    },
    /// Something else is wrong at a node.
    #[error("node {node}: {what}")]
    Node {
        /// Where.
        node: NodeId,
        /// What.
        what: Wrong,
    },
    /// Nothing can happen any more, or it goes on for ever.
    #[error("the program does not end: waiting threads (node, thread): {0:?}")]
    Hung(Vec<(NodeId, ThreadId)>),
}

/// What is wrong at a node.
#[derive(Debug, thiserror::Error)]
pub enum Wrong {
    /// The protocol refused what correct nodes did.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The protocol asked for something that makes no sense.
    #[error("{0}")]
    Action(String),
    /// After a step something does not hold that must.
    #[error("after a step its protocol's invariant does not hold: {0}")]
    Invariant(String),
    /// A message did not survive its journey.
    #[error("a message cannot be read: {0}")]
    Wire(#[from] WireError),
    /// After a barrier a readable page is not what was written.
    #[error(
        "page {page} differs from what was written, or from others' copies, at byte {offset} after a barrier"
    )]
    Page {
        /// The page.
        page: PageId,
        /// The first byte that differs.
        offset: usize,
    },
}

impl From<String> for Wrong {
    fn from(what: String) -> Self {
        Self::Action(what)
    }
}
