//! What a node keeps of threads that wait for others.

use crate::cells::Asker;
use fathomp_types::NodeId;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

/// A turn that a thread of this node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) region: u64,
    pub(super) epoch: u32,
    pub(super) cell: u64,
    /// The node that has the cell.
    pub(super) at: NodeId,
}

/// Threads of other nodes that want to see what was written here.
#[derive(Debug, Default)]
pub(super) struct Publishing {
    /// Threads of other nodes, which stand still, and what they are told then.
    pub(super) askers: Mutex<Vec<(Asker, u64)>>,
    /// Whether there are any.
    pub(super) is_asked: AtomicBool,
    /// A thread flushes for them.
    pub(super) is_busy: AtomicBool,
    /// How often threads of this node have flushed because the program says so.
    pub(super) flushes: AtomicU64,
}

/// What is kept of tasks that leave their node.
#[derive(Debug, Default)]
pub(super) struct Carrying {
    /// This node has come to the next barrier, and its thread is not in it yet.
    pub(super) has_arrived: AtomicBool,
    /// Threads that attend to letters while they wait.
    pub(super) attending: AtomicU32,
}
