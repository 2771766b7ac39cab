//! What sharing memory between nodes costs a thread: the counts of the
//! SIGSEGV-driven performance models (Cai, Rendell, Strazdins, Wong:
//! "Performance Models for Cluster-Enabled OpenMP Implementations", ACSAC
//! 2008), others that go with them, and times.

use fathomp_types::Ticks;
use std::ops::{AddAssign, Index, IndexMut};

/// One thing that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DsmCount {
    /// Write faults at a page whose home is this node: noticed, nothing copied.
    WriteFaultsLocal = 0,
    /// Write faults at a copy of another node's page: it is twinned.
    WriteFaultsRemote = 1,
    /// Faults at a page whose content was not here: the thread waited for it.
    FetchFaults = 2,
    /// Pages that came in for those faults, those fetched in advance included.
    PagesFetched = 3,
    /// Diffs made of pages whose home is elsewhere.
    DiffsMade = 4,
    /// Diffs sent to where they are wanted.
    DiffsSent = 5,
    /// Copies that became invalid because others' write notices named them.
    Invalidations = 6,
    /// Locks of the cluster taken (or tried), atomics between nodes included.
    Locks = 7,
    /// Flushes.
    Flushes = 8,
    /// Barriers of the nodes.
    Barriers = 9,
    /// For other nodes: diffs of theirs written into pages whose home is here.
    DiffsApplied = 10,
    /// For other nodes: pages sent to them.
    PagesServed = 11,
    /// Bytes this node gave to the transport.
    BytesSent = 12,
    /// Ticks spent in faults.
    FaultTicks = 13,
    /// Ticks spent getting locks.
    LockTicks = 14,
    /// Ticks spent in flushes.
    FlushTicks = 15,
    /// Ticks spent in barriers of the nodes.
    BarrierTicks = 16,
    /// Of the fetch faults, those of a thread whose node held a lock of the cluster:
    /// all that ask for that lock wait for them.
    FetchFaultsLocked = 17,
    /// Of the flushes, those that only look whether a plain variable has changed for which
    /// the thread waits.
    Looks = 18,
    /// Of the fetch faults, those that follow such a flush: of the variable's page.
    FetchFaultsLooking = 19,
    /// Ticks spent waiting for plain variables, from the first such flush on.
    LookTicks = 20,
    /// Of these, those in flushes and faults.
    LookSharedTicks = 21,
    /// Questions to node 0 that nothing of the protocol answers: who a `single` block falls to,
    /// and what of a loop that is dealt while it runs.
    Asks = 22,
    /// Ticks spent waiting for their answers.
    AskTicks = 23,
    /// Runs of changed bytes in the diffs sent: their homes write one after the other.
    DiffRuns = 24,
    /// Copies that stayed open to writes when an interval ended, since they are leased: each
    /// is a diff less, if it was written in that interval.
    LeftOpen = 25,
    /// Of the locks, those that are atomic instructions of the program.
    Atomics = 26,
    /// Of the ticks spent getting locks, those spent in atomic instructions, faults left out.
    AtomicTicks = 27,
}

impl DsmCount {
    /// How many there are.
    pub const COUNT: usize = 28;

    /// All, in order of their numbers.
    pub const ALL: [Self; Self::COUNT] = [
        Self::WriteFaultsLocal,
        Self::WriteFaultsRemote,
        Self::FetchFaults,
        Self::PagesFetched,
        Self::DiffsMade,
        Self::DiffsSent,
        Self::Invalidations,
        Self::Locks,
        Self::Flushes,
        Self::Barriers,
        Self::DiffsApplied,
        Self::PagesServed,
        Self::BytesSent,
        Self::FaultTicks,
        Self::LockTicks,
        Self::FlushTicks,
        Self::BarrierTicks,
        Self::FetchFaultsLocked,
        Self::Looks,
        Self::FetchFaultsLooking,
        Self::LookTicks,
        Self::LookSharedTicks,
        Self::Asks,
        Self::AskTicks,
        Self::DiffRuns,
        Self::LeftOpen,
        Self::Atomics,
        Self::AtomicTicks,
    ];
}

/// One value per [`DsmCount`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DsmCounts(pub [u64; DsmCount::COUNT]);

impl DsmCounts {
    /// Nothing was counted.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0 == [0; DsmCount::COUNT]
    }

    /// What is not zero, one bit each.
    #[must_use]
    pub fn mask(&self) -> u64 {
        let bits = self.0.iter().zip(0..);
        bits.fold(0, |mask, (count, bit)| mask | u64::from(*count != 0) << bit)
    }

    /// Time that a thread communicates in no other state: faults and atomic instructions; and
    /// how many these were.
    #[must_use]
    pub fn communication(&self) -> (Ticks, u64) {
        let number = [
            DsmCount::WriteFaultsLocal,
            DsmCount::WriteFaultsRemote,
            DsmCount::FetchFaults,
            DsmCount::Atomics,
        ];
        let number = number.iter().map(|count| self[*count]).sum::<u64>();
        let ticks = self[DsmCount::FaultTicks].saturating_add(self[DsmCount::AtomicTicks]);
        (Ticks(ticks), number)
    }

    /// Time spent in faults.
    #[must_use]
    pub fn fault_time(&self) -> Ticks {
        Ticks(self[DsmCount::FaultTicks])
    }
}

impl Index<DsmCount> for DsmCounts {
    type Output = u64;
    fn index(&self, count: DsmCount) -> &u64 {
        &self.0[count as usize]
    }
}

impl IndexMut<DsmCount> for DsmCounts {
    fn index_mut(&mut self, count: DsmCount) -> &mut u64 {
        &mut self.0[count as usize]
    }
}

impl AddAssign<&Self> for DsmCounts {
    fn add_assign(&mut self, more: &Self) {
        for (sum, more) in self.0.iter_mut().zip(more.0) {
            *sum = sum.saturating_add(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_order_agree() {
        for (number, count) in DsmCount::ALL.into_iter().enumerate() {
            assert_eq!(count as usize, number);
        }
    }

    #[test]
    fn a_mask_names_what_was_counted() {
        let mut counts = DsmCounts::default();
        assert!(counts.is_zero());
        counts[DsmCount::FetchFaults] = 3;
        counts += &counts.clone();
        assert_eq!((counts.mask(), counts.0[2]), (4, 6));
    }
}
