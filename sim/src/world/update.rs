//! Threads that update bytes: each by one atomic instruction, which nodes carry out in the
//! memory of the page's home where they can, and otherwise in a copy under a lock.

use super::{World, action, node_id, thread_id};
use crate::failure::Failure;
use crate::memory::Blob;
use crate::program::{Address, Step};
use fathomp_base::PageId;
use fathomp_dsm::{Access, Input, LockId, Offer, Operation, Protocol, Updates};
use rand::Rng;

/// The lock that everybody takes who cannot update a page in its home's memory.
const UPDATES: LockId = LockId(u64::MAX - 1);

/// How often a page is asked for that is not offered any more when the answer comes.
const TRIES: u8 = 2;

/// How far a thread is with an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    Begun,
    /// What its node wrote before is known.
    Told,
    /// It has the lock, and has asked so often.
    Locked(u8),
    /// It has the lock, and the page's home offers nothing.
    Refused,
    /// It has the lock, and works on a copy.
    Copy,
    /// The copy is written, and what is written is home.
    Written,
    Home,
    /// The page's home has said what it may have shown.
    Shown,
    /// It is done, perhaps with the lock.
    Done {
        locked: bool,
    },
    /// What is news is known.
    Learned,
}

impl Stage {
    /// The page's home offers nothing.
    pub(super) fn refused(self) -> Self {
        match self {
            Self::Shown => self,
            _ => Self::Refused,
        }
    }
}

impl<P: Protocol<Blob>> World<P> {
    /// A thread goes on with an update, or with one after the other until a byte has a value.
    pub(super) fn update(
        &mut self,
        node: usize,
        thread: usize,
        step: Step,
        random: &mut impl Rng,
    ) -> Result<(), Failure> {
        let Some(address) = updated(step) else {
            return Ok(());
        };
        let stage = self.nodes[node].threads[thread].stage;
        let operation = match stage {
            Stage::Begun => {
                self.nodes[node].threads[thread].stage = Stage::Told;
                match self.owes(node) {
                    true => Operation::Flush,
                    false => return self.update(node, thread, step, random),
                }
            }
            Stage::Told | Stage::Locked(_) if self.try_to_update(node, thread, step)? => {
                return self.update(node, thread, step, random);
            }
            Stage::Told => {
                self.nodes[node].threads[thread].stage = Stage::Locked(0);
                Operation::Acquire(UPDATES)
            }
            Stage::Locked(tries) if tries < TRIES || self.is_reserved(node, address.page()) => {
                let more = u8::from(!self.is_reserved(node, address.page()));
                self.nodes[node].threads[thread].stage = Stage::Locked(tries + more);
                Operation::Update(address.page())
            }
            // Others may have updated it at home since this one has the lock.
            Stage::Locked(_) | Stage::Refused => {
                self.nodes[node].threads[thread].stage = Stage::Copy;
                Operation::Flush
            }
            Stage::Copy => return self.update_copy(node, thread, step, random),
            Stage::Written => {
                self.nodes[node].threads[thread].stage = Stage::Home;
                Operation::Flush
            }
            Stage::Home => {
                self.nodes[node].threads[thread].stage = Stage::Shown;
                Operation::Update(address.page())
            }
            Stage::Shown if self.nodes[node].protocol.lacks_what_is_shown() => Operation::Flush,
            Stage::Shown => {
                self.nodes[node].threads[thread].stage = Stage::Done { locked: true };
                return self.update(node, thread, step, random);
            }
            Stage::Done { locked } => {
                // Who has the lock has it since before.
                let next = match locked {
                    true => Stage::Done { locked: false },
                    false => Stage::Learned,
                };
                self.nodes[node].threads[thread].stage = next;
                match locked {
                    true => Operation::Release(UPDATES),
                    false if self.has_news(node) => Operation::Flush,
                    false => return self.update(node, thread, step, random),
                }
            }
            Stage::Learned => {
                let state = &mut self.nodes[node].threads[thread];
                state.stage = Stage::Begun;
                let done = match step {
                    Step::Poll(_, value) => state.found == value,
                    Step::Take(_) => state.found == 0,
                    _ => true,
                };
                state.next += usize::from(done);
                self.go_on(node, thread, random);
                return Ok(());
            }
        };
        self.nodes[node].threads[thread].waiting = true;
        let thread = thread_id(thread);
        self.input(node, Input::Operation { thread, operation }, random)
    }

    /// Whether a node has to flush before an update.
    fn owes(&self, node: usize) -> bool {
        let state = &self.nodes[node];
        let told = self.nodes[0].protocol.sequenced().is_some_and(|sequencer| {
            let contained = sequencer.contains.of(node_id(node));
            state.underway.may_tell(contained)
        });
        !told || state.protocol.owes() || state.memory.may_have_been_written()
    }

    /// Whether a node has to flush after it.
    pub(super) fn has_news(&self, node: usize) -> bool {
        let state = &self.nodes[node];
        let sequencer = self.nodes[0].protocol.sequenced();
        let room = self.network.log_max;
        let epoch = state.protocol.committed().map(|there| there.epoch);
        state.protocol.borrows()
            || state.protocol.awaits_diffs()
            || sequencer.zip(epoch).is_none_or(|(sequencer, epoch)| {
                self.shared.has_news(node_id(node), epoch, sequencer, room)
            })
    }

    /// Whether a page's home lets others update it.
    fn is_updatable(&self, node: usize, page: PageId) -> bool {
        let updates = self.nodes[node].protocol.updates(page);
        updates.is_some_and(|updates| self.offers(&updates, page, Offer::Updated))
    }

    /// Whether it does or soon will.
    fn is_reserved(&self, node: usize, page: PageId) -> bool {
        let updates = self.nodes[node].protocol.updates(page);
        updates.is_some_and(|updates| {
            let offers = |offer| self.offers(&updates, page, offer);
            offers(Offer::Updated) || offers(Offer::Reserved)
        })
    }

    fn offers(&self, updates: &Updates, page: PageId, offer: Offer) -> bool {
        let home = usize::from(updates.home.0);
        let Some(there) = self.nodes.get(home).filter(|_| !self.is_dead(home)) else {
            return false;
        };
        let epoch = there.protocol.committed().map(|there| there.epoch);
        epoch == Some(updates.epoch) && there.offers.get(&page) == Some(&offer)
    }

    /// Updates a byte in the memory of its page's home, if that may be.
    fn try_to_update(&mut self, node: usize, thread: usize, step: Step) -> Result<bool, Failure> {
        let Some(address) = updated(step) else {
            return Ok(false);
        };
        let page = address.page();
        let Some(updates) = self.nodes[node].protocol.updates(page) else {
            return Ok(false);
        };
        if !self.offers(&updates, page, Offer::Updated) {
            return Ok(false);
        }
        let home = usize::from(updates.home.0);
        let there = &mut self.nodes[home];
        let Some(committed) = there.protocol.committed() else {
            return Ok(false);
        };
        let mut received = committed.received.clone();
        for (writer, interval) in &there.brought {
            received.learn(*writer, *interval);
        }
        let mut need = updates.need.iter();
        if !need.all(|(writer, interval)| received.covers(*writer, *interval)) {
            return Ok(false);
        }
        let after = |before| after(step, before);
        let updated = there.memory.update(page, address.offset(), after);
        let before = updated.map_err(|what| action(home, what))?;
        let state = &mut self.nodes[node].threads[thread];
        let locked = matches!(state.stage, Stage::Locked(_));
        self.outcome.updates[0] += 1;
        state.stage = Stage::Done { locked };
        self.updated(node, thread, step, address, before)?;
        Ok(true)
    }

    /// Updates a byte in this node's copy, under the lock.
    fn update_copy(
        &mut self,
        node: usize,
        thread: usize,
        step: Step,
        random: &mut impl Rng,
    ) -> Result<(), Failure> {
        let Some(address) = updated(step) else {
            return Ok(());
        };
        let page = address.page();
        if self.is_updatable(node, page) {
            let what = format!("page {page} is updated in a copy and at its home");
            return Err(action(node, what));
        }
        let state = &mut self.nodes[node];
        if !state.memory.permits(page, Access::Write) {
            state.threads[thread].waiting = true;
            self.outcome.faults += 1;
            let fault = Input::Fault {
                thread: thread_id(thread),
                page,
                access: Access::Write,
            };
            return self.input(node, fault, random);
        }
        let bytes = state.memory.readable(page);
        let before = bytes.map_or(0, |bytes| bytes[address.offset()]);
        let written = state
            .memory
            .write(page, address.offset(), after(step, before));
        written.map_err(|what| action(node, what))?;
        state.threads[thread].stage = Stage::Written;
        self.outcome.updates[1] += 1;
        self.updated(node, thread, step, address, before)?;
        self.update(node, thread, step, random)
    }

    /// A byte was updated that had the value `before`.
    fn updated(
        &mut self,
        node: usize,
        thread: usize,
        step: Step,
        address: Address,
        before: u8,
    ) -> Result<(), Failure> {
        self.nodes[node].threads[thread].found = before;
        let expected = self.truth.get(&address).copied().unwrap_or(0);
        // What is polled others write meanwhile.
        if before != expected && matches!(step, Step::Update(..)) {
            return Err(Failure::Read {
                node: node_id(node),
                thread: thread_id(thread),
                address,
                seen: before,
                expected,
            });
        }
        let after = after(step, before);
        if after != before {
            self.truth.insert(address, after);
            self.since.entry(address).or_default().insert(after);
        }
        Ok(())
    }
}

/// The byte that a step updates, if it does.
fn updated(step: Step) -> Option<Address> {
    match step {
        Step::Update(address, _) | Step::Poll(address, _) | Step::Take(address) => Some(address),
        _ => None,
    }
}

/// What it makes of a byte.
fn after(step: Step, before: u8) -> u8 {
    match step {
        Step::Update(_, add) => before.wrapping_add(add),
        Step::Take(_) => 1,
        _ => before,
    }
}
