//! What kind of cluster a program runs on.

use fathomp_shm_window::Sizes;
use fathomp_types::NodeId;

/// How the network and the nodes behave. Times have no unit: a thread's step
/// takes 1.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// Longest time a message takes; shortest is 1. Messages between two nodes
    /// keep their order.
    pub delay_max: u64,
    /// How many times slower than the others a node may be.
    pub slowness_max: u64,
    /// Memory that the nodes share, of these sizes, if they share some. Each time it is up
    /// to chance whether they use it or send a message.
    pub shared: Option<Sizes>,
    /// Whether what nodes answer may be left in their memory until it is installed; the same.
    pub leaves: bool,
    /// Whether nodes may keep locks whose threads all take part in barriers; the same.
    pub keeps_locks: bool,
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
    /// The node.
    pub node: NodeId,
    /// Events before.
    pub after: u64,
}

/// Sizes of shared memory in which small programs find room for everything: no log ever
/// closes. [`Sizes::small`] are such that one often does.
#[must_use]
pub fn roomy() -> Sizes {
    Sizes {
        notes: 64,
        log_slots: 1 << 10,
        log_ring: 1 << 11,
        log_entry_max: 64,
        lock_places: 64,
        ..Sizes::small()
    }
}
