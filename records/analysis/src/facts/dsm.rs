//! What sharing memory between nodes cost: of a thread, a region, a phase.

use fathomp_trace::dsm::{DsmCount, DsmCounts};
use fathomp_types::{Clock, Ticks};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// How many things are counted.
const FIELDS: usize = DsmCount::COUNT;

/// Counts and times of sharing memory between nodes.
///
/// A thread's own are those that its faults, locks, flushes and barriers caused.
/// What a node did for others (`diffs_applied`, `pages_served`, `bytes_sent`) is
/// with whichever of its threads went on next, so only sums over a node's
/// threads mean something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Dsm {
    /// Write faults at pages whose home is the thread's node (Nwl).
    pub write_faults_local: u64,
    /// Write faults at copies of other nodes' pages (Nwr): each makes a twin.
    pub write_faults_remote: u64,
    /// Faults that waited for a page's content (Nf).
    pub fetch_faults: u64,
    /// Of these, those of threads whose node held a lock.
    pub fetch_faults_locked: u64,
    /// Of these, those of variables for which the thread waited.
    pub fetch_faults_looking: u64,
    /// Pages that came in for all fetch faults, those fetched in advance included.
    pub pages_fetched: u64,
    /// Diffs made (of pages that other nodes are home of).
    pub diffs_made: u64,
    /// Diffs sent (Ndt).
    pub diffs_sent: u64,
    /// Runs of changed bytes in these; 0 in older recordings.
    pub diff_runs: u64,
    /// Copies that stayed open to writes at a release, since they are leased: diffs that were
    /// not made, at most; 0 in older recordings.
    pub left_open: u64,
    /// Copies that became invalid because write notices named them.
    pub invalidations: u64,
    /// Locks of the cluster asked for, atomics between nodes included.
    pub locks: u64,
    /// Flushes.
    pub flushes: u64,
    /// Of these, those that only looked whether a plain variable had changed.
    pub looks: u64,
    /// Barriers of the nodes.
    pub barriers: u64,
    /// Other nodes' diffs written into pages at home here.
    pub diffs_applied: u64,
    /// Pages sent to other nodes.
    pub pages_served: u64,
    /// Bytes given to the transport.
    pub bytes_sent: u64,
    /// Time in faults.
    pub fault_ns: u64,
    /// Time getting and giving back locks.
    pub lock_ns: u64,
    /// Time in flushes.
    pub flush_ns: u64,
    /// Time in barriers of the nodes.
    pub barrier_ns: u64,
    /// Time waiting for plain variables to change, by looks and in between.
    pub look_ns: u64,
    /// Of this, time in flushes and faults, which is also there.
    pub look_shared_ns: u64,
    /// Questions to node 0 about `single` blocks, and loops that are dealt while they run.
    pub asks: u64,
    /// Time waiting for their answers.
    pub ask_ns: u64,
    /// Of the locks, those that are atomic instructions; 0 in older recordings.
    pub atomics: u64,
    /// Of the time for locks, that for atomic instructions, which is communication; 0 in older
    /// recordings.
    pub atomic_ns: u64,
}

impl Dsm {
    /// What was counted by that clock.
    #[must_use]
    pub fn new(counts: &DsmCounts, clock: &Clock) -> Self {
        let ns = |count: DsmCount| clock.span(Ticks(counts[count])).0;
        Self {
            write_faults_local: counts[DsmCount::WriteFaultsLocal],
            write_faults_remote: counts[DsmCount::WriteFaultsRemote],
            fetch_faults: counts[DsmCount::FetchFaults],
            fetch_faults_locked: counts[DsmCount::FetchFaultsLocked],
            fetch_faults_looking: counts[DsmCount::FetchFaultsLooking],
            pages_fetched: counts[DsmCount::PagesFetched],
            diffs_made: counts[DsmCount::DiffsMade],
            diffs_sent: counts[DsmCount::DiffsSent],
            diff_runs: counts[DsmCount::DiffRuns],
            left_open: counts[DsmCount::LeftOpen],
            invalidations: counts[DsmCount::Invalidations],
            locks: counts[DsmCount::Locks],
            flushes: counts[DsmCount::Flushes],
            looks: counts[DsmCount::Looks],
            barriers: counts[DsmCount::Barriers],
            diffs_applied: counts[DsmCount::DiffsApplied],
            pages_served: counts[DsmCount::PagesServed],
            bytes_sent: counts[DsmCount::BytesSent],
            fault_ns: ns(DsmCount::FaultTicks),
            lock_ns: ns(DsmCount::LockTicks),
            flush_ns: ns(DsmCount::FlushTicks),
            barrier_ns: ns(DsmCount::BarrierTicks),
            look_ns: ns(DsmCount::LookTicks),
            look_shared_ns: ns(DsmCount::LookSharedTicks),
            asks: counts[DsmCount::Asks],
            ask_ns: ns(DsmCount::AskTicks),
            atomics: counts[DsmCount::Atomics],
            atomic_ns: ns(DsmCount::AtomicTicks),
        }
    }

    /// These without `part` of them.
    #[must_use]
    pub fn less(&self, part: &Self) -> Self {
        let mut rest = *self;
        for (rest, part) in rest.fields_mut().into_iter().zip(part.fields()) {
            *rest = rest.saturating_sub(part);
        }
        rest
    }

    fn fields(mut self) -> [u64; FIELDS] {
        self.fields_mut().map(|field| *field)
    }

    fn fields_mut(&mut self) -> [&mut u64; FIELDS] {
        [
            &mut self.write_faults_local,
            &mut self.write_faults_remote,
            &mut self.fetch_faults,
            &mut self.fetch_faults_locked,
            &mut self.fetch_faults_looking,
            &mut self.pages_fetched,
            &mut self.diffs_made,
            &mut self.diffs_sent,
            &mut self.diff_runs,
            &mut self.left_open,
            &mut self.invalidations,
            &mut self.locks,
            &mut self.flushes,
            &mut self.looks,
            &mut self.barriers,
            &mut self.diffs_applied,
            &mut self.pages_served,
            &mut self.bytes_sent,
            &mut self.fault_ns,
            &mut self.lock_ns,
            &mut self.flush_ns,
            &mut self.barrier_ns,
            &mut self.look_ns,
            &mut self.look_shared_ns,
            &mut self.asks,
            &mut self.ask_ns,
            &mut self.atomics,
            &mut self.atomic_ns,
        ]
    }

    /// Faults of all kinds.
    #[must_use]
    pub fn faults(&self) -> u64 {
        [self.write_faults_local, self.write_faults_remote]
            .iter()
            .fold(self.fetch_faults, |sum, more| sum.saturating_add(*more))
    }

    /// Time in faults, locks, flushes and barriers of the nodes.
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        [self.lock_ns, self.flush_ns, self.barrier_ns]
            .iter()
            .fold(self.fault_ns, |sum, more| sum.saturating_add(*more))
    }
}

impl AddAssign<&Self> for Dsm {
    fn add_assign(&mut self, more: &Self) {
        for (sum, more) in self.fields_mut().into_iter().zip(more.fields()) {
            *sum = sum.saturating_add(more);
        }
    }
}

/// A region's [`Dsm`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RegionDsm {
    /// Sum over all threads.
    pub all: Dsm,
    /// Along the critical path: of each execution, the thread whose faults and
    /// diffs weigh most, the longer in faults of equal ones; summed over
    /// executions. Of executions recorded as sums, the thread with the most in
    /// sum. Of the serial part, the program's first thread.
    pub critical: Dsm,
    /// Sum over the threads of each node, by node.
    pub nodes: BTreeMap<u16, Dsm>,
    /// From barrier to barrier, in the order of time: each of the region's threads. Only of
    /// executions that were recorded one by one, with all details.
    #[serde(skip)]
    pub phases: Vec<Vec<PhaseShare>>,
}

/// A thread's part in a phase: from one barrier of the nodes, or the begin of the region, to
/// the end of the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseShare {
    /// Time that was neither in faults nor in locks, flushes and barriers of the nodes, nor
    /// waiting for node 0's answers.
    pub own_ns: u64,
    /// What was counted, the barrier at its end included.
    pub dsm: Dsm,
    /// It is the last of its execution: what comes next begins at node 0.
    pub last: bool,
}
