//! What threads waited for.

use serde::Serialize;

/// Time that threads waited at barriers, by what the last to arrive did meanwhile. The sum
/// is all that they waited there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BarrierWaitCauses {
    /// It computed.
    pub compute_ns: u64,
    /// It was in page faults.
    pub fault_ns: u64,
    /// It waited for locks, or gave them back.
    pub lock_ns: u64,
    /// It was in atomic instructions between nodes.
    pub atomic_ns: u64,
    /// It flushed.
    pub flush_ns: u64,
    /// It did something else: it waited for tasks, for its turn or for answers of node 0, or
    /// the runtime worked; and what the barriers took by themselves, for which the last
    /// thread waited, too.
    pub other_ns: u64,
}

impl BarrierWaitCauses {
    /// All of it.
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        [self.compute_ns, self.communication_ns()]
            .iter()
            .fold(self.other_ns, |sum, more| sum.saturating_add(*more))
    }

    /// The part that the last thread spent in sharing memory.
    #[must_use]
    pub fn communication_ns(&self) -> u64 {
        [self.lock_ns, self.atomic_ns, self.flush_ns]
            .iter()
            .fold(self.fault_ns, |sum, more| sum.saturating_add(*more))
    }
}
