//! What kind of cluster a program runs on.

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
