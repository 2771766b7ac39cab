//! What a replay counted.

use fathomp_trace::dsm::DsmCounts;

/// What happened at a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeOutcome {
    /// Counts as a recording has them; ticks are nanoseconds.
    pub counts: DsmCounts,
    /// Messages sent.
    pub messages: u64,
    /// Time in which the node handled messages.
    pub handling_ns: u64,
    /// Application time of its threads.
    pub work_ns: u64,
}

/// What a replay counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Time of the program.
    pub time_ns: u64,
    /// By node.
    pub nodes: Vec<NodeOutcome>,
    /// Events that it took.
    pub events: u64,
}

impl Outcome {
    /// The sum over all nodes.
    #[must_use]
    pub fn all(&self) -> NodeOutcome {
        let mut all = NodeOutcome::default();
        for node in &self.nodes {
            all.counts += &node.counts;
            all.messages += node.messages;
            all.handling_ns += node.handling_ns;
            all.work_ns += node.work_ns;
        }
        all
    }
}
