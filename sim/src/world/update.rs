//! Threads that update bytes: each by one atomic instruction, which nodes carry out in the
//! memory of the page's home where they can, and otherwise in a copy under a lock.

use super::World;
use super::cluster::{node_id, thread_id};
use crate::blob::Blob;
use crate::failure::Failure;
use crate::program::{Address, Step};
use fathomp_dsm::{Access, LockId, Operation, Protocol};
use fathomp_shared::UpdateStart;

/// The lock of threads that cannot update a page in its home's memory.
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

impl<P: Protocol<Blob>> World<'_, P> {
    /// A thread goes on with an update, or with one after the other until a byte has a value.
    pub(super) fn update(&mut self, node: usize, thread: usize, step: Step) -> Result<(), Failure> {
        let Some(address) = updated(step) else {
            return Ok(());
        };
        let page = address.page();
        let stage = self.cluster.nodes[node].threads[thread].update;
        let (next, operation) = match stage {
            Stage::Begun => {
                let (driver, seat) = self.at(node);
                let owes = driver.owes_before_update(&seat, page) == Some(true);
                (Stage::Told, owes.then_some(Operation::Flush))
            }
            Stage::Told | Stage::Locked(_) => {
                match (self.try_to_update(node, thread, step)?, stage) {
                    (UpdateStart::Begun, _) => {
                        let locked = stage != Stage::Told;
                        (Stage::Done { locked }, None)
                    }
                    (_, Stage::Told) => (Stage::Locked(0), Some(Operation::Acquire(UPDATES))),
                    (UpdateStart::Incomplete, tried) => (tried, Some(Operation::Update(page))),
                    (_, Stage::Locked(tries)) if tries < TRIES => {
                        (Stage::Locked(tries + 1), Some(Operation::Update(page)))
                    }
                    // Others may have updated it at home since this one has the lock.
                    _ => (Stage::Copy, Some(Operation::Flush)),
                }
            }
            Stage::Refused => (Stage::Copy, Some(Operation::Flush)),
            Stage::Copy => return self.update_copy(node, thread, step),
            Stage::Written => (Stage::Home, Some(Operation::Flush)),
            Stage::Home => (Stage::Shown, Some(Operation::Update(page))),
            Stage::Shown if self.drivers[node].protocol().lacks_what_is_shown() => {
                (Stage::Shown, Some(Operation::Flush))
            }
            Stage::Shown => (Stage::Done { locked: true }, None),
            Stage::Done { locked: true } => {
                // A thread that has the lock has it since before.
                let next = Stage::Done { locked: false };
                (next, Some(Operation::Release(UPDATES)))
            }
            Stage::Done { locked: false } => {
                let (driver, seat) = self.at(node);
                let lacks = driver.lacks_news_after_update(&seat);
                (Stage::Learned, lacks.then_some(Operation::Flush))
            }
            Stage::Learned => {
                let state = &mut self.cluster.nodes[node].threads[thread];
                state.update = Stage::Begun;
                let done = match step {
                    Step::Poll(_, value) => state.found == value,
                    Step::Take(_) => state.found == 0,
                    _ => true,
                };
                state.next += usize::from(done);
                self.cluster.go_on(node, thread);
                return Ok(());
            }
        };
        self.cluster.nodes[node].threads[thread].update = next;
        match operation {
            Some(operation) => self.operation(node, thread_id(thread), operation),
            None => self.update(node, thread, step),
        }
    }

    /// Updates a byte in the memory of its page's home, if that may be.
    fn try_to_update(
        &mut self,
        node: usize,
        thread: usize,
        step: Step,
    ) -> Result<UpdateStart, Failure> {
        let (driver, seat) = self.at(node);
        let Some(address) = updated(step) else {
            return Ok(UpdateStart::Never);
        };
        let (begun, home) = driver.begin_update(&seat, address.page());
        if begun == UpdateStart::Begun {
            let there = &mut self.cluster.nodes[usize::from(home.0)].memory;
            let after = |before| after(step, before);
            let updated = there.update(address.page(), address.offset(), after);
            if let Some(window) = &self.cluster.nodes[node].window {
                window.end_update(home);
            }
            let before = updated.map_err(|what| self.wrong(node, what))?;
            self.cluster.outcome.updates[0] += 1;
            self.updated(node, thread, step, address, before)?;
        }
        Ok(begun)
    }

    /// Updates a byte in this node's copy, under the lock.
    fn update_copy(&mut self, node: usize, thread: usize, step: Step) -> Result<(), Failure> {
        let Some(address) = updated(step) else {
            return Ok(());
        };
        let page = address.page();
        let (driver, seat) = self.at(node);
        if driver.begin_update(&seat, page).0 == UpdateStart::Begun {
            let what = format!("page {page} is updated in a copy and at its home");
            return Err(self.wrong(node, what));
        }
        let state = &mut self.cluster.nodes[node];
        if !state.memory.permits(page, Access::Write) {
            return self.fault(node, thread, page, Access::Write);
        }
        let bytes = state.memory.readable(page);
        let before = bytes.map_or(0, |bytes| bytes[address.offset()]);
        let after = after(step, before);
        let written = state.memory.write(page, address.offset(), after);
        written.map_err(|what| self.wrong(node, what))?;
        self.cluster.nodes[node].threads[thread].update = Stage::Written;
        self.cluster.outcome.updates[1] += 1;
        self.updated(node, thread, step, address, before)?;
        self.update(node, thread, step)
    }

    fn wrong(&self, node: usize, what: String) -> Failure {
        Failure::Node {
            node: node_id(node),
            what: what.into(),
        }
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
        self.cluster.nodes[node].threads[thread].found = before;
        // What is polled others write meanwhile.
        if matches!(step, Step::Update(..)) {
            self.cluster.check_read(node, thread, address, before)?;
        }
        let after = after(step, before);
        if after != before {
            self.cluster.has_written(address, after);
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
