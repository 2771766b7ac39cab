//! What a protocol asks for is done to a node.

use super::queue::{Event, Parcel};
use super::{ReplayError, Size, World};
use crate::costs::Costs;
use crate::desk::HEAD_BYTES;
use crate::memory::Nonsense;
use fathomp_base::{NodeId, ThreadId};
use fathomp_dsm::{Action, Content, Input, Protection, Protocol};
use fathomp_trace::dsm::{DsmCount, DsmCounts};

/// What a step of a protocol did, counted as nodes count it.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: DsmCounts,
    /// A thread was let go on.
    resumed: bool,
    /// Pages may be written now.
    writable: bool,
    /// Pages were twinned.
    twinned: bool,
}

impl Tally {
    pub(super) fn add(&mut self, count: DsmCount, number: u32) {
        self.counts[count] += u64::from(number);
    }

    /// The step was a fault's, of a thread with a lock or without one.
    pub(super) fn of_fault(&mut self, locked: bool) {
        if !self.resumed {
            self.add(DsmCount::FetchFaults, 1);
            self.add(DsmCount::FetchFaultsLocked, u32::from(locked));
        } else if self.writable && !self.twinned {
            self.add(DsmCount::WriteFaultsLocal, 1);
        }
    }

    pub(super) fn close(self, counts: &mut DsmCounts) {
        *counts += &self.counts;
    }
}

impl<P: Protocol<Size>> World<'_, P> {
    /// Tells a node's protocol something and does what it answers; the node's clock
    /// goes on meanwhile.
    pub(super) fn step(
        &mut self,
        at: NodeId,
        input: Input<P::Incoming>,
        clock_ns: &mut u64,
        tally: &mut Tally,
    ) -> Result<(), ReplayError> {
        let mut actions = std::mem::take(&mut self.actions);
        let node = &mut self.nodes[usize::from(at.0)];
        let mut stepped = Ok(());
        if node.memory.is_unwatched() && node.protocol.wants_writes(&input) {
            let wrote = Input::Wrote(node.memory.take_written());
            stepped = node.protocol.step(wrote, &mut actions);
        }
        stepped
            .and_then(|()| node.protocol.step(input, &mut actions))
            .map_err(|violation| ReplayError::Violation {
                node: at,
                violation,
            })?;
        for action in actions.drain(..) {
            self.act(at, action, clock_ns, tally)
                .map_err(|Nonsense(what)| ReplayError::Action { node: at, what })?;
        }
        self.actions = actions;
        Ok(())
    }

    fn act(
        &mut self,
        at: NodeId,
        action: Action<P::Outgoing, Size>,
        clock_ns: &mut u64,
        tally: &mut Tally,
    ) -> Result<(), Nonsense> {
        let costs = &self.setting.costs;
        let mut takes = |ns: u64, times: u32| {
            *clock_ns = clock_ns.saturating_add(ns.saturating_mul(u64::from(times)));
        };
        let memory = &mut self.nodes[usize::from(at.0)].memory;
        match action {
            Action::Protect(pages, what) => {
                tally.writable |= what == Protection::ReadWrite;
                if what == Protection::None {
                    tally.add(DsmCount::Invalidations, pages.len());
                }
                memory.protect(pages, what);
            }
            Action::Twin(page) => {
                tally.twinned = true;
                tally.add(DsmCount::WriteFaultsRemote, 1);
                takes(costs.twin_ns, 1);
                memory.twin(page);
            }
            // Costs where it is done what it saves later.
            Action::Prepare(_) => {}
            Action::Foresee(pages) => {
                takes(costs.twin_ns, pages.len());
                pages.iter().for_each(|page| memory.twin(page));
            }
            Action::Diff(pages) => {
                tally.add(DsmCount::DiffsMade, pages.len());
                let bytes = memory.diff(pages)?;
                takes(Costs::of_diffs(costs.diff_ns, pages.len(), bytes), 1);
            }
            Action::Keep(page, interval) => {
                tally.add(DsmCount::DiffsMade, 1);
                let bytes = memory.keep(page, interval)?;
                takes(Costs::of_diffs(costs.diff_ns, 1, bytes), 1);
            }
            Action::Reapply(page, interval) => {
                let bytes = memory.content_bytes(Content::Kept(page, interval));
                let bytes = bytes.unwrap_or(0);
                takes(Costs::of_diffs(costs.apply_ns, 1, bytes), 1);
            }
            Action::Forget => memory.forget(),
            Action::DropTwin(page) => memory.drop_twin(page),
            Action::LeaveOpen(pages) => tally.add(DsmCount::LeftOpen, pages),
            Action::Install(..) => tally.add(DsmCount::PagesFetched, 1),
            Action::InstallTwinned(page, _) => {
                tally.add(DsmCount::PagesFetched, 1);
                takes(costs.twin_ns, 1);
                memory.twin(page);
            }
            Action::Apply(_, bytes) => {
                tally.add(DsmCount::DiffsApplied, 1);
                takes(Costs::of_diffs(costs.apply_ns, 1, bytes), 1);
            }
            // Only where nodes take pages by themselves.
            Action::Offer(..) | Action::Log(_) => {}
            Action::Claim(_) | Action::Unclaim(_) => {}
            Action::Send(to, message) => self.send(at, to, message, *clock_ns, tally)?,
            Action::Resume(thread) | Action::Refuse(thread) => {
                tally.resumed = true;
                self.let_go_on(at, thread, *clock_ns)?;
            }
        }
        Ok(())
    }

    fn let_go_on(&mut self, at: NodeId, thread: ThreadId, clock_ns: u64) -> Result<(), Nonsense> {
        let node = &self.nodes[usize::from(at.0)];
        let thread = node.threads.start + thread.0 as usize;
        if !node.threads.contains(&thread) {
            return Err(Nonsense("a thread goes on that does not exist"));
        }
        if self.runners[thread].is_at_barrier() {
            self.opened(at, clock_ns);
        } else {
            self.resume(thread, clock_ns);
        }
        Ok(())
    }

    fn send(
        &mut self,
        from: NodeId,
        to: NodeId,
        message: P::Outgoing,
        clock_ns: u64,
        tally: &mut Tally,
    ) -> Result<(), Nonsense> {
        if to == from || to.0 >= self.setting.nodes {
            return Err(Nonsense("a message to a node that is none"));
        }
        let memory = &mut self.nodes[usize::from(from.0)].memory;
        let bytes = &mut self.bytes;
        let (mut missing, mut carries) = (false, false);
        bytes.clear();
        P::encode(&message, bytes, |content, bytes| {
            carries = true;
            match content {
                Content::Page(_) | Content::Fresh(_) => tally.add(DsmCount::PagesServed, 1),
                Content::Diff(_) => tally.add(DsmCount::DiffsSent, 1),
                Content::Left(_) | Content::Twin(_) | Content::Kept(..) => {}
            }
            match memory.content_bytes(content) {
                Some(length) => bytes.resize(bytes.len() + length as usize, 0),
                None => missing = true,
            }
        });
        if missing {
            return Err(Nonsense("content that is not there"));
        }
        let message = P::fill(message, |content| {
            let length = memory.content_bytes(content).unwrap_or(0);
            memory.sent(content);
            length
        });
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let length = length.saturating_add(HEAD_BYTES);
        let parcel = Parcel::Protocol { message, carries };
        self.post(from, to, parcel, length, clock_ns);
        Ok(())
    }

    /// Gives a message to the network. To itself a node tells at once and for
    /// nothing.
    pub(super) fn post(
        &mut self,
        from: NodeId,
        to: NodeId,
        parcel: Parcel<P::Incoming>,
        bytes: u32,
        clock_ns: u64,
    ) {
        let arrival_ns = if from == to {
            clock_ns
        } else {
            let outcome = self.nodes[usize::from(from.0)].outcome();
            outcome.messages += 1;
            outcome.counts[DsmCount::BytesSent] += u64::from(bytes);
            let [outwards, _] = &self.links[usize::from(from.0)];
            let [_, inwards] = &self.links[usize::from(to.0)];
            self.setting
                .net
                .arrival_ns(clock_ns, bytes as usize, outwards, inwards)
        };
        self.queue
            .push(arrival_ns, Event::Arrive { from, to, parcel });
    }
}
