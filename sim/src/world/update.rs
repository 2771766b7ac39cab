//! Threads that update bytes.

use super::World;
use super::cluster::{node_id, thread_id};
use super::machine::Seat;
use crate::blob::Blob;
use crate::failure::Failure;
use crate::program::{Address, Step};
use crate::update::{Next, Update};
use fathomp_base::NodeId;
use fathomp_dsm::{Access, Protocol};
use rand::RngExt;

/// How often a page is asked for that is not offered any more when the answer comes.
const TRIES: u8 = 2;

/// Of so many updates of copies, about one begins with a flush.
const FLUSHES_AFTER: u32 = 8;

impl<P: Protocol<Blob>> World<'_, P> {
    /// A thread goes on with an update, or with one after the other until a byte has a value.
    pub(super) fn update(&mut self, node: usize, thread: usize, step: Step) -> Result<(), Failure> {
        let Some(address) = updated(step) else {
            return Ok(());
        };
        let page = address.page();
        let (driver, seat) = self.at(node);
        let alone = driver.owes_before_update(&seat, page).is_none();
        let flushes = alone && self.cluster.random.random_ratio(1, FLUSHES_AFTER);
        let (driver, mut seat) = self.at(node);
        let stage = seat.cluster.nodes[node].threads[thread].update;
        let at_home = |seat: &mut Seat<'_, '_>, home| seat.update(home, thread, step, address);
        let next = stage.next(driver, &mut seat, page, TRIES, flushes, at_home);
        let (stage, next) = next.map_err(|what| wrong(node, what))?;
        if next == Next::UpdatesCopy {
            let memory = &self.cluster.nodes[node].memory;
            if !memory.permits(page, Access::Write) {
                return self.fault(node, thread, page, Access::Write);
            }
            self.update_copy(node, thread, step, address)?;
        }
        self.cluster.nodes[node].threads[thread].update = stage;
        match next {
            Next::Operation(operation) => {
                return self.operation(node, thread_id(thread), operation);
            }
            Next::Ends => {
                let state = &mut self.cluster.nodes[node].threads[thread];
                let done = match step {
                    Step::Poll(_, value) => state.found == value,
                    Step::Take(_) => state.found == 0,
                    _ => true,
                };
                state.next += usize::from(done);
                self.cluster.go_on(node, thread);
                return Ok(());
            }
            Next::Updated => {
                self.cluster.outcome.updates[0] += 1;
                self.updated(node, thread, step, address)?;
            }
            Next::UpdatesCopy if stage == Update::Done => {
                // Much may happen before it is looked what the copy has shown.
                self.cluster.go_on(node, thread);
                return Ok(());
            }
            Next::GoesOn | Next::UpdatesCopy => {}
        }
        self.update(node, thread, step)
    }

    /// Updates a byte in this node's copy, under the lock.
    fn update_copy(
        &mut self,
        node: usize,
        thread: usize,
        step: Step,
        address: Address,
    ) -> Result<(), Failure> {
        let state = &mut self.cluster.nodes[node];
        let bytes = state.memory.readable(address.page());
        let before = bytes.map_or(0, |bytes| bytes[address.offset()]);
        state.threads[thread].found = before;
        let after = after(step, before);
        let written = state.memory.write(address.page(), address.offset(), after);
        written.map_err(|what| wrong(node, what))?;
        self.cluster.outcome.updates[1] += 1;
        self.updated(node, thread, step, address)
    }

    /// A byte was updated that had the value that was found.
    fn updated(
        &mut self,
        node: usize,
        thread: usize,
        step: Step,
        address: Address,
    ) -> Result<(), Failure> {
        let before = self.cluster.nodes[node].threads[thread].found;
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

impl Seat<'_, '_> {
    /// A thread updates a byte in the memory of its page's home.
    fn update(
        &mut self,
        home: NodeId,
        thread: usize,
        step: Step,
        address: Address,
    ) -> Result<(), String> {
        let there = &mut self.cluster.nodes[usize::from(home.0)].memory;
        let after = |before| after(step, before);
        let before = there.update(address.page(), address.offset(), after)?;
        self.cluster.nodes[self.node].threads[thread].found = before;
        Ok(())
    }
}

fn wrong(node: usize, what: String) -> Failure {
    Failure::Node {
        node: node_id(node),
        what: what.into(),
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
