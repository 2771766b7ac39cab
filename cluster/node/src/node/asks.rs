//! What threads of a node ask of the cluster: operations of the protocol, and
//! what goes through node 0.

use super::{Node, lock};
use crate::activity::Activity;
use crate::engine::{Engine, GRANTED, REFUSED, answer};
use crate::frame::Frame;
use crate::meeting::Outcome;
use crate::memory::{self, Released};
use crate::profile::Since;
use crate::spin_flush::{self, Second};
use crate::world;
use fathomp_access_trace::End;
use fathomp_omp::cluster::{Dealt, PartedLoop};
use fathomp_omp::interposer::{self, Called};
use fathomp_protocols::{LockId, Operation};
use fathomp_sys::cluster::deferral;
use fathomp_sys::cluster::pages::Pages;
use fathomp_trace::dsm::DsmCount;
use fathomp_transport::Wake;
use fathomp_types::{NodeId, SiteId, ThreadId};
use std::sync::atomic::Ordering;

impl Node {
    /// The pages.
    pub(crate) fn pages(&self) -> &Pages {
        &self.pages
    }

    /// Says what this node is at.
    pub(crate) fn set_activity(&self, activity: Activity) {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        self.transport.note(activity.word(turn));
    }

    /// The same; returns what it was at before.
    pub(super) fn begin_activity(&self, activity: Activity) -> Activity {
        let before = self.transport.noted(self.me()).unwrap_or_default();
        self.set_activity(activity);
        Activity::from_word(before)
    }

    pub(super) fn account(&self, since: Since, time: DsmCount, count: Option<DsmCount>) {
        let _inside = deferral::enter();
        if let Some((thread, _)) = self.slots.mine() {
            self.profile.end(thread, since, time, count);
        }
        self.go_on();
    }

    /// The same of an atomic instruction, or a part of one: each counts `once`.
    pub(super) fn account_atomic(&self, since: Since, once: bool) {
        let _inside = deferral::enter();
        if let Some((thread, _)) = self.slots.mine() {
            self.profile.end_atomic(thread, since, once);
        }
        self.go_on();
    }

    /// The calling thread comes from the application.
    pub(super) fn enter(&self) -> Since {
        self.stand_still();
        self.profile.begin()
    }

    pub(super) fn operation(&self, operation: Operation) -> u64 {
        self.activity.fetch_add(1, Ordering::Relaxed);
        self.ask(|thread| {
            let mut engine = lock(&self.engine);
            if operation == Operation::Barrier {
                // Before it is asked whether handlers run.
                self.in_barrier.store(true, Ordering::SeqCst);
            }
            let asked = engine.operation(&self.host(), thread, operation);
            self.must(asked)
        })
    }

    /// Flushes for threads of the program that do not: one may be waiting for a
    /// plain variable to change, or have changed one for which another node
    /// waits.
    pub(super) fn flush_for_others(&self) {
        fathomp_omp::cluster::tell(true);
        self.operate_unless(Operation::Flush, |_| {
            self.in_barrier.load(Ordering::Relaxed)
        });
    }

    /// Flushes, or releases, in the name of others than the calling thread. [`REFUSED`] if
    /// nothing is done because this node `stands` at a barrier.
    pub(super) fn operate_unless(
        &self,
        operation: Operation,
        stands: impl FnOnce(&mut Engine) -> bool,
    ) -> u64 {
        let mut asks = None;
        let answered = self.ask(|thread| {
            asks = Some(thread);
            let mut engine = lock(&self.engine);
            if stands(&mut engine) {
                self.must(answer(&self.host(), thread, REFUSED));
                return Wake::Polling;
            }
            let asked = engine.operation(&self.host(), thread, operation);
            self.must(asked)
        });
        if let Some(thread) = asks {
            self.profile.give_to_node(thread);
        }
        answered
    }

    /// What this thread's node wrote becomes visible, and what others flushed
    /// becomes visible here.
    pub fn flush(&self) {
        self.publishing.flushes.fetch_add(1, Ordering::Relaxed);
        self.end_interval(End::Flush);
        self.flush_with_it();
    }

    /// Flushes as part of something else.
    fn flush_with_it(&self) {
        self.flushing(|| {
            self.operation(Operation::Flush);
        });
    }

    /// Does what counts as a flush of the calling thread.
    pub(super) fn flushing(&self, flush: impl FnOnce()) {
        let _told = interposer::communicate(Called::Flush);
        let since = self.enter();
        let before = self.begin_activity(Activity::Flush);
        flush();
        self.set_activity(before);
        self.account(since, DsmCount::FlushTicks, Some(DsmCount::Flushes));
    }

    /// A thread of the program yields: it may be waiting for a plain variable to
    /// change. Flushes now and then, so that it sees it.
    pub fn yielding(&self) {
        let activity = self.activity.load(Ordering::Relaxed);
        spin_flush::flush_when_due(activity, Second::Soon, |_| {
            self.look(|| {});
            true
        });
    }

    /// A flush of a thread that waits, before which something is done.
    pub(super) fn look(&self, before: impl FnOnce()) {
        self.end_interval(End::Flush);
        let _told = interposer::communicate(Called::Flush);
        let since = self.enter();
        before();
        self.operation(Operation::Flush);
        let _inside = deferral::enter();
        if let Some((thread, _)) = self.slots.mine() {
            self.profile.end_look(thread, since);
        }
        self.go_on();
    }

    pub(crate) fn acquire(&self, lock: u64) {
        self.end_interval(End::Acquire(lock));
        let _told = interposer::communicate(Called::NodeLock);
        let since = self.enter();
        self.set_activity(Activity::AwaitLock);
        self.operation(Operation::Acquire(LockId(lock)));
        self.set_activity(Activity::HoldLock);
        self.account_lock(lock, since, true);
    }

    pub(crate) fn try_acquire(&self, lock: u64) -> bool {
        self.end_interval(End::Acquire(lock));
        let _told = interposer::communicate(Called::NodeLock);
        let since = self.enter();
        let granted = self.operation(Operation::TryAcquire(LockId(lock))) == GRANTED;
        if granted {
            self.set_activity(Activity::HoldLock);
        } else {
            // It costs what a question to node 0 costs.
            self.amend_interval(End::Add(lock, 0));
        }
        self.account(since, DsmCount::LockTicks, Some(DsmCount::Locks));
        granted
    }

    pub(crate) fn release(&self, lock: u64) {
        self.end_interval(End::Release(lock));
        let _told = interposer::communicate(Called::NodeLock);
        let since = self.enter();
        self.operation(Operation::Release(LockId(lock)));
        self.set_activity(Activity::Compute);
        self.account_lock(lock, since, false);
    }

    /// A lock was taken, which counts `once`, or given back.
    fn account_lock(&self, lock: u64, since: Since, once: bool) {
        match lock == super::atomics::ATOMIC {
            true => self.account_atomic(since, once),
            false => {
                let count = once.then_some(DsmCount::Locks);
                self.account(since, DsmCount::LockTicks, count);
            }
        }
    }

    pub(crate) fn barrier(&self, word: u64) -> u64 {
        world::flush();
        self.end_interval(End::Barrier);
        let _told = interposer::communicate(Called::NodeBarrier);
        let since = self.enter();
        let _inside = deferral::enter();
        let before = self.begin_activity(Activity::Barrier);
        let epoch = self.epoch.load(Ordering::Relaxed);
        if !self.carrying.has_arrived.swap(false, Ordering::Relaxed) {
            self.send_or_handle(NodeId(0), Frame::Arrived { epoch, word });
        }
        if self.strangers.load(Ordering::Relaxed) {
            // Another node's thread may need what a thread here does under a lock, or
            // writes and flushes, to come to the barrier; where one has begun they
            // stand still. So it begins here when all have come.
            self.transport.end_step();
            self.await_outcome();
        }
        self.operation(Operation::Barrier);
        let outcome = loop {
            self.await_outcome();
            // A step that began while no thread could run here may put off watching pages
            // until it has answered: it ends before this thread writes them.
            let _engine = lock(&self.engine);
            let mut outcomes = lock(&self.outcomes);
            if let Some(outcome) = outcomes.take() {
                self.in_barrier.store(false, Ordering::Relaxed);
                break outcome;
            }
        };
        self.epoch.store(epoch.wrapping_add(1), Ordering::Relaxed);
        lock(&self.cells).pass_barrier();
        if self.me() == NodeId(0) {
            self.note_meeting();
        }
        self.return_blocks();
        self.note_phase();
        *lock(&self.order) = outcome.order;
        self.set_activity(before);
        self.account(since, DsmCount::BarrierTicks, Some(DsmCount::Barriers));
        outcome.word
    }

    /// Waits until all nodes have come to the barrier that this one comes to.
    fn await_outcome(&self) {
        let place = self.place();
        place.slot.begin();
        let known = |_: &_| lock(&self.outcomes).is_known();
        self.wait_here(Wake::Polling, place.slot, known);
        place.slot.go_on();
    }

    /// The program is about to start a thread by itself.
    pub fn expect_strangers(&self) {
        self.strangers.store(true, Ordering::Relaxed);
    }

    /// A node has come to a barrier. Tells everybody if it was the last.
    pub(super) fn arrived(&self, from: NodeId, epoch: u32, word: u64) {
        self.hear_of_arrival(from, epoch, word);
        let outcome = lock(&self.meetings).arrive(epoch, word, self.size.nodes);
        let Some(outcome) = outcome else { return };
        let order = outcome.order.as_deref().unwrap_or_default();
        for node in self.others() {
            let word = outcome.word;
            self.send(node, Frame::Passed { word, order });
        }
        self.tell_outcome(outcome);
    }

    /// The thread that waits at the barrier goes on, whoever calls.
    pub(super) fn tell_outcome(&self, outcome: Outcome) {
        lock(&self.outcomes).tell(outcome);
        self.transport.rouse();
    }

    pub(crate) fn add(&self, cell: u64, amount: u64) -> u64 {
        self.end_interval(End::Add(cell, amount));
        self.ask_for_share(|thread, epoch| Frame::Add {
            thread,
            epoch,
            cell,
            amount,
        })
    }

    /// Asks node 0 what of some work falls to this thread.
    fn ask_for_share(&self, frame: impl FnOnce(ThreadId, u32) -> Frame<'static>) -> u64 {
        let _told = interposer::communicate(Called::Question);
        let since = self.profile.begin();
        let answer = self.ask_root(frame);
        self.account(since, DsmCount::AskTicks, Some(DsmCount::Asks));
        answer
    }

    /// Asks node 0 about something of this epoch.
    fn ask_root(&self, frame: impl FnOnce(ThreadId, u32) -> Frame<'static>) -> u64 {
        let epoch = self.epoch.load(Ordering::Relaxed);
        let before = self.begin_activity(Activity::AwaitCell);
        let answer = self.ask(|thread| self.send_or_handle(NodeId(0), frame(thread, epoch)));
        self.set_activity(before);
        answer
    }

    pub(crate) fn deal(&self, cell: u64, parted: PartedLoop, most: u64) -> Dealt {
        self.end_interval(End::Add(cell, most));
        let dealt = self.ask_for_share(|thread, epoch| Frame::Deal {
            thread,
            epoch,
            cell,
            parted,
            most,
        });
        Dealt::from_word(dealt)
    }

    pub(crate) fn put(&self, cell: u64, value: u64) {
        self.end_interval(End::Put(cell, value));
        self.flush_with_it();
        let _inside = deferral::enter();
        let epoch = self.epoch.load(Ordering::Relaxed);
        self.send_or_handle(NodeId(0), Frame::Put { epoch, cell, value });
    }

    pub(crate) fn wait_for(&self, cell: u64, at_least: u64) -> u64 {
        self.end_interval(End::Await(cell, at_least));
        let _told = interposer::communicate(Called::Question);
        let value = self.ask_root(|thread, epoch| Frame::Await {
            thread,
            epoch,
            cell,
            at_least,
        });
        self.flush_with_it();
        value
    }

    pub(crate) fn cancel(&self, region: u64) {
        let _inside = deferral::enter();
        for node in self.others() {
            self.send(node, Frame::Cancel { region });
        }
        self.heed_cancel(region);
    }

    pub(crate) fn cancelled(&self) -> u64 {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Whether an address is one of the memory that nodes share.
    #[must_use]
    pub fn is_shared(&self, address: usize) -> bool {
        self.pages().page_of(address).is_some()
    }

    /// Whether all nodes had that code from the start.
    pub(crate) fn is_program_code(&self, address: usize) -> bool {
        self.text.iter().any(|range| range.contains(&address))
    }

    pub(crate) fn give_order(&self, order: &[u8], site: SiteId) {
        let _inside = deferral::enter();
        lock(&self.meetings).give_order(world::pack(order), site);
    }

    pub(crate) fn next_order(&self) -> Option<Vec<u8>> {
        let packed = lock(&self.order).take()?;
        let Some((order, changes)) = world::unpack(packed) else {
            self.fail(NodeId(0), "it has sent an order that nobody can read");
        };
        world::repeat(&changes);
        Some(order)
    }

    /// Gives a block of the shared heap back, wherever it was allocated.
    pub(crate) fn free(&self, address: usize) {
        let Some(memory) = memory::memory() else {
            return;
        };
        let _inside = deferral::enter();
        if let Released::Elsewhere(owner) = memory.release(address)
            && owner.0 < self.size.nodes
        {
            // What was written here into the block is on its way until the next
            // barrier, and must not arrive in what the owner makes of it.
            lock(&self.freed).push((owner, address as u64));
        }
    }

    /// Tells owners of blocks that were given back before the last barrier.
    fn return_blocks(&self) {
        for (owner, address) in std::mem::take(&mut *lock(&self.freed)) {
            self.send(owner, Frame::Free { address });
        }
    }

    /// Size of a block of the shared heap, 0 if there is none.
    pub(crate) fn size_of(&self, address: usize) -> usize {
        let owner = match memory::memory().map(|memory| memory.size_of(address)) {
            Some(Ok(size)) => return size.unwrap_or(0),
            Some(Err(owner)) if owner.0 < self.size.nodes => owner,
            _ => return 0,
        };
        let address = address as u64;
        let size = self.ask(|thread| self.send(owner, Frame::SizeOf { thread, address }));
        usize::try_from(size).unwrap_or(0)
    }
}
