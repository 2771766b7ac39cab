//! Which nodes and threads have come to a barrier.

use crate::WriteNotice;
use fathomp_types::{NodeId, ThreadId};
use std::collections::BTreeSet;

/// A barrier that this node or one below it has reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Barrier {
    /// The thread that came for this node while others were inside operations.
    pub(super) early: Option<ThreadId>,
    /// The thread that came for this node.
    pub(super) thread: Option<ThreadId>,
    /// The interval that ended with that, which the sequencer does not know.
    pub(super) last: Option<WriteNotice>,
    pub(super) children: BTreeSet<NodeId>,
    /// What the nodes that have arrived wrote in this epoch.
    pub(super) notices: Vec<WriteNotice>,
    pub(super) full: bool,
    pub(super) open: bool,
    /// Somebody flushes in this epoch.
    pub(super) alert: bool,
}
