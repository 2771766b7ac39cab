//! What kind of cluster a program runs on.

use fathomp_base::NodeId;

/// How the network and the nodes behave. Times have no unit: a thread's step
/// takes 1.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// Longest time a message takes; shortest is 1. Messages between two nodes
    /// keep their order.
    pub delay_max: u64,
    /// How many times slower than the others a node may be.
    pub slowness_max: u64,
    /// Writes to watched pages are told by `Input::Wrote`, not by faults.
    pub silent_writes: bool,
    /// Whether nodes may take pages out of each other's memory, bring diffs into it, and
    /// reach a log; each time it is up to chance whether they do.
    pub direct: bool,
    /// Whether what nodes answer may be left in their memory until it is installed; the same.
    pub leaves: bool,
    /// Whether nodes may keep locks there whose threads all take part in barriers; the same.
    pub keeps_locks: bool,
    /// Intervals that a log has room for.
    pub log_max: usize,
    /// Whether to keep what happened.
    pub trace: bool,
    /// Whether to keep the pages as each barrier leaves them.
    pub images: bool,
    /// Events after which a program that has not ended is called hung.
    pub events_max: u64,
    /// A node that stops for ever, if one does.
    pub death: Option<Death>,
}

/// The end of a node. What it has sent arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Death {
    /// Who.
    pub node: NodeId,
    /// Events before.
    pub after: u64,
}
