//! A thread goes through its intervals.
//!
//! The application time of an interval lies evenly before, between and behind its
//! accesses.

use super::act::Tally;
use super::queue::Event;
use super::regions::OUTSIDE;
use super::{ReplayError, World};
use crate::desk::Wish;
use fathomp_access_trace::End;
use fathomp_protocols::{Access, Input, LockId, Operation};
use fathomp_trace::dsm::DsmCount;
use fathomp_types::{NodeId, PageId, ThreadId};

/// What a thread stands still at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// Nothing: it runs.
    Work,
    Fault,
    Barrier,
    Lock,
    Flush,
    Cell,
}

impl At {
    fn count(self) -> Option<DsmCount> {
        match self {
            Self::Work | Self::Cell => None,
            Self::Fault => Some(DsmCount::FaultTicks),
            Self::Barrier => Some(DsmCount::BarrierTicks),
            Self::Lock => Some(DsmCount::LockTicks),
            Self::Flush => Some(DsmCount::FlushTicks),
        }
    }
}

/// A thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Runner {
    pub(super) node: NodeId,
    /// Its interval.
    pub(super) step: usize,
    /// It has begun with it.
    begun: bool,
    /// The next access: of which run, and which page of that.
    run: usize,
    page: u32,
    /// Application time of the interval that is left, accesses among which it is
    /// divided, and what has passed before the next one.
    work_ns: u64,
    accesses: u64,
    passed_ns: u64,
    at: At,
    since_ns: u64,
    /// What it asked for has been done, but something is to be done behind it.
    then_flush: bool,
    /// Locks that it holds.
    locks: u32,
    pub(super) barriers: u32,
    pub(super) exit_ns: Option<u64>,
}

impl Runner {
    pub(super) fn new(node: NodeId) -> Self {
        Self {
            node,
            step: 0,
            begun: false,
            run: 0,
            page: 0,
            work_ns: 0,
            accesses: 0,
            passed_ns: 0,
            at: At::Work,
            since_ns: 0,
            then_flush: false,
            locks: 0,
            barriers: 0,
            exit_ns: None,
        }
    }

    pub(super) fn waits_for(&self) -> &'static str {
        match self.at {
            At::Work => "for nothing",
            At::Fault => "for a page",
            At::Barrier => "at a barrier",
            At::Lock => "for a lock",
            At::Flush => "for a flush",
            At::Cell => "for a cell of node 0",
        }
    }

    /// Whether it runs; one that has ended waits.
    pub(super) fn computes(&self) -> bool {
        self.at == At::Work && self.exit_ns.is_none()
    }

    pub(super) fn is_at_barrier(&self) -> bool {
        self.at == At::Barrier
    }

    /// One more access is behind it.
    fn pass_access(&mut self) {
        // One part of the time comes behind the last access.
        let part_ns = self.work_ns / (self.accesses + 1);
        self.work_ns -= part_ns;
        self.passed_ns += part_ns;
        self.accesses = self.accesses.saturating_sub(1);
    }
}

impl World<'_> {
    /// The number of a thread at its node.
    pub(super) fn id_of(&self, thread: usize) -> ThreadId {
        let first = self.nodes[usize::from(self.runners[thread].node.0)]
            .threads
            .start;
        ThreadId(u32::try_from(thread - first).unwrap_or(u32::MAX))
    }

    /// A thread stands still no more at `now_ns`, or after some of its work.
    pub(super) fn go_on(&mut self, thread: usize, now_ns: u64) -> Result<(), ReplayError> {
        let runner = &mut self.runners[thread];
        let steps = &self.accesses.threads[thread];
        let Some(step) = steps.steps.get(runner.step) else {
            return Ok(());
        };
        let number = usize::from(runner.node.0);
        let node = &mut self.nodes[number];
        let none = Vec::new();
        let runs = steps.sets.get(step.set as usize).unwrap_or(&none);
        if !runner.begun {
            runner.begun = true;
            (runner.run, runner.page) = (0, 0);
            runner.work_ns = step.work_ns;
            runner.accesses = runs.iter().map(|run| u64::from(run.pages.len())).sum();
            let reads = runs.iter().filter(|run| run.access == Access::Read);
            let least = &mut self.least;
            let comes: u64 = reads.map(|run| least.reads(thread, run.pages)).sum();
            let outcome = node.outcome();
            outcome.work_ns += step.work_ns;
            outcome.least_bytes += comes;
        }
        while let Some(run) = runs.get(runner.run) {
            let page = PageId(run.pages.first().0 + runner.page);
            if !node.memory.permits(page, run.access) {
                return self.touch(thread, page, run.access, now_ns);
            }
            node.memory.touch(page);
            if run.access == Access::Write {
                node.memory.write(page, run.diff_bytes);
            }
            runner.pass_access();
            runner.page += 1;
            if runner.page == run.pages.len() {
                (runner.run, runner.page) = (runner.run + 1, 0);
            }
        }
        runner.passed_ns += std::mem::take(&mut runner.work_ns);
        let passed_ns = std::mem::take(&mut runner.passed_ns);
        if passed_ns > 0 {
            self.queue
                .push(now_ns.saturating_add(passed_ns), Event::Run(thread));
            return Ok(());
        }
        for run in runs.iter().filter(|run| run.access == Access::Write) {
            self.least.wrote(thread, run.pages, run.diff_bytes);
        }
        self.end_interval(thread, step.end, now_ns)
    }

    /// An access that is not permitted, at least not before the work in front of it
    /// is done.
    fn touch(
        &mut self,
        thread: usize,
        page: PageId,
        access: Access,
        now_ns: u64,
    ) -> Result<(), ReplayError> {
        let runner = &mut self.runners[thread];
        let passed_ns = std::mem::take(&mut runner.passed_ns);
        if passed_ns > 0 {
            self.queue
                .push(now_ns.saturating_add(passed_ns), Event::Run(thread));
            return Ok(());
        }
        (runner.at, runner.since_ns) = (At::Fault, now_ns);
        let (node, locked) = (runner.node, runner.locks > 0);
        let mut clock_ns = now_ns.saturating_add(self.setting.costs.trap_ns);
        let fault = Input::Fault {
            thread: self.id_of(thread),
            page,
            access,
        };
        let mut tally = Tally::default();
        self.step(node, fault, &mut clock_ns, &mut tally)?;
        tally.of_fault(locked);
        tally.close(&mut self.nodes[usize::from(node.0)].outcome().counts);
        Ok(())
    }

    fn end_interval(&mut self, thread: usize, end: End, now_ns: u64) -> Result<(), ReplayError> {
        let runner = &mut self.runners[thread];
        runner.since_ns = now_ns;
        let (at, operation) = match end {
            End::Exit => {
                runner.exit_ns = Some(now_ns);
                runner.step += 1;
                if thread == 0 {
                    self.regions.enter(OUTSIDE, now_ns);
                }
                return Ok(());
            }
            End::Barrier => {
                runner.at = At::Barrier;
                runner.barriers += 1;
                return self.come_to_barrier(thread, now_ns);
            }
            End::Add(cell, amount) => return self.wish(thread, cell, Wish::Add(amount), now_ns),
            End::Await(cell, least) => {
                return self.wish(thread, cell, Wish::AtLeast(least), now_ns);
            }
            // What was written before it becomes visible with it.
            End::Put(..) | End::Flush => (At::Flush, Operation::Flush),
            End::Acquire(lock) => (At::Lock, Operation::Acquire(LockId(lock))),
            End::Release(lock) => (At::Lock, Operation::Release(LockId(lock))),
        };
        self.operate(thread, at, operation, now_ns)
    }

    pub(super) fn operate(
        &mut self,
        thread: usize,
        at: At,
        operation: Operation,
        now_ns: u64,
    ) -> Result<(), ReplayError> {
        let runner = &mut self.runners[thread];
        runner.at = at;
        let node = runner.node;
        let input = Input::Operation {
            thread: self.id_of(thread),
            operation,
        };
        let mut clock_ns = now_ns;
        let mut tally = Tally::default();
        match operation {
            Operation::Acquire(_) => tally.add(DsmCount::Locks, 1),
            Operation::Flush => {
                self.least.flushes(thread);
                tally.add(DsmCount::Flushes, 1);
            }
            Operation::Release(lock) => self.least.releases(thread, lock),
            // A barrier counts when it is left.
            Operation::Barrier | Operation::TryAcquire(_) => {}
            // Of loops that wait, which are recorded as flushes.
            Operation::ReleaseFlush | Operation::AcquireFlush => {}
            // Recordings of accesses know no such.
            Operation::Learn(_) | Operation::Change(..) => {}
        }
        self.step(node, input, &mut clock_ns, &mut tally)?;
        tally.close(&mut self.nodes[usize::from(node.0)].outcome().counts);
        Ok(())
    }

    /// A cell of node 0 is asked.
    pub(super) fn wish(
        &mut self,
        thread: usize,
        cell: u64,
        wish: Wish,
        now_ns: u64,
    ) -> Result<(), ReplayError> {
        self.runners[thread].at = At::Cell;
        // Whoever waits for a value wants to see what was written before it.
        self.runners[thread].then_flush = matches!(wish, Wish::AtLeast(_));
        self.tell_desk(thread, cell, wish, now_ns);
        Ok(())
    }

    /// What a thread stands still at is over.
    pub(super) fn resume(&mut self, thread: usize, clock_ns: u64) {
        let runner = &mut self.runners[thread];
        let at = std::mem::replace(&mut runner.at, At::Work);
        let node = &mut self.nodes[usize::from(runner.node.0)];
        if let Some(count) = at.count() {
            node.outcome().counts[count] += clock_ns.saturating_sub(runner.since_ns);
        }
        let step = self.accesses.threads[thread].steps.get(runner.step);
        let end = step.map(|step| step.end);
        if at != At::Fault {
            runner.step += 1;
            runner.begun = false;
            match end {
                Some(End::Acquire(lock)) => {
                    runner.locks += 1;
                    self.least.acquired(thread, LockId(lock));
                }
                Some(End::Release(_)) => runner.locks = runner.locks.saturating_sub(1),
                _ => {}
            }
        }
        match at {
            At::Flush => self.least.flushed(thread),
            At::Barrier => self.least.leaves(thread),
            At::Work | At::Fault | At::Lock | At::Cell => {}
        }
        if let (At::Flush, Some(End::Put(cell, value))) = (at, end) {
            self.tell_desk(thread, cell, Wish::Put(value), clock_ns);
        }
        self.queue.push(clock_ns, Event::Run(thread));
    }

    /// Node 0 has answered about a cell.
    pub(super) fn answered(&mut self, thread: usize, clock_ns: u64) -> Result<(), ReplayError> {
        if std::mem::take(&mut self.runners[thread].then_flush) {
            self.runners[thread].since_ns = clock_ns;
            return self.operate(thread, At::Flush, Operation::Flush, clock_ns);
        }
        self.resume(thread, clock_ns);
        Ok(())
    }
}
