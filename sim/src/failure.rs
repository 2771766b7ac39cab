//! What can be wrong with a protocol.

use crate::program::Address;
use fathomp_base::{NodeId, PageId, ThreadId};
use fathomp_dsm::{Violation, WireError};

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
    /// After a barrier a readable page is not what was written.
    #[error(
        "page {page} of node {node} differs from what was written, or from others' copies, at byte {offset} after a barrier"
    )]
    Page {
        /// The node.
        node: NodeId,
        /// The page.
        page: PageId,
        /// The first byte that differs.
        offset: usize,
    },
    /// The protocol refused what correct nodes did.
    #[error("node {node}: {violation}")]
    Violation {
        /// Where.
        node: NodeId,
        /// Why.
        violation: Violation,
    },
    /// A message did not survive its journey.
    #[error("node {node} cannot read a message: {error}")]
    Wire {
        /// The receiver.
        node: NodeId,
        /// Why.
        error: WireError,
    },
    /// The protocol asked for something that makes no sense.
    #[error("node {node}: {what}")]
    Action {
        /// Where.
        node: NodeId,
        /// What.
        what: String,
    },
    /// Nothing can happen any more, or it goes on for ever.
    #[error("the program does not end: waiting threads (node, thread): {0:?}")]
    Hung(Vec<(NodeId, ThreadId)>),
}
