//! Threads that update bytes.

use super::World;
use super::cluster::{Cluster, node_id, thread_id};
use super::machine::Seat;
use crate::blob::Blob;
use crate::failure::Failure;
use crate::program::{Address, Step};
use crate::update::{Next, Update};
use fathomp_protocols::{Access, Change, ChangeKind, Input, Operation, Protocol};
use fathomp_types::PageId;
use rand::RngExt;

/// Of so many updates, about one begins with a flush.
const FLUSHES_AFTER: u32 = 8;

impl<P: Protocol<Blob>> World<'_, P> {
    /// A thread goes on with an update, or with one after the other until a byte has a value.
    pub(super) fn update(&mut self, node: usize, thread: usize, step: Step) -> Result<(), Failure> {
        let Some(address) = updated(step) else {
            return Ok(());
        };
        let page = address.page();
        let flushes = self.cluster.random.random_ratio(1, FLUSHES_AFTER);
        let stage = self.cluster.nodes[node].threads[thread].update;
        let (stage, next) = stage.next(self.drivers[node].protocol(), page, flushes);
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
            Next::Carries => {
                if let Step::Add(address, add) = step {
                    self.cluster.has_added(address, add);
                }
                let change = change(step, address).map_err(|what| wrong(node, what))?;
                let operation = Operation::Change(page, change);
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
            Next::UpdatesCopy if stage == Update::Done => {
                // Much may happen before it is looked what the copy has shown.
                self.cluster.go_on(node, thread);
                return Ok(());
            }
            Next::GoesOn | Next::UpdatesCopy => {}
        }
        self.update(node, thread, step)
    }

    /// Whether a thread's addition to a byte can be postponed, and chance wants that.
    pub(super) fn may_postpone(&mut self, node: usize, thread: usize, address: Address) -> bool {
        let stage = self.cluster.nodes[node].threads[thread].update;
        if stage != Update::default() || self.cluster.random.random_ratio(1, 8) {
            return false;
        }
        let (driver, _) = self.at(node);
        driver.protocol().batches_atomics(address.page())
    }

    /// A thread adds to a byte, and goes on at once.
    pub(super) fn postpone(
        &mut self,
        node: usize,
        thread: usize,
        address: Address,
        add: u8,
    ) -> Result<(), Failure> {
        self.cluster.has_added(address, add);
        self.cluster.outcome.postponed += 1;
        let step = Step::Add(address, add);
        let change = change(step, address).map_err(|what| wrong(node, what))?;
        self.input(node, Input::Postpone(address.page(), change))?;
        self.cluster.nodes[node].threads[thread].next += 1;
        self.cluster.go_on(node, thread);
        Ok(())
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
        self.cluster.outcome.updates += 1;
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
        if let Step::Add(_, add) = step {
            // Others may have added what will be done later.
            self.cluster.has_added(address, add);
            return Ok(());
        }
        let after = after(step, before);
        if after != before {
            self.cluster.has_written(address, after);
        }
        Ok(())
    }
}

impl Cluster<'_> {
    /// A thread adds to a byte, wherever that will be done.
    fn has_added(&mut self, address: Address, add: u8) {
        let before = self.truth.get(&address).copied().unwrap_or(0);
        self.has_written(address, before.wrapping_add(add));
    }
}

impl Seat<'_, '_> {
    /// Changes a byte at home here, for a thread of any node.
    pub(super) fn change_here(&mut self, page: PageId, change: &Change) -> Result<u64, Failure> {
        let node = self.node;
        let changed = self.cluster.nodes[node].memory.change(page, change);
        let before = changed.map_err(|what| wrong(node, what))?;
        let found = u8::try_from(before).map_err(|_| wrong(node, "more than a byte".into()))?;
        let address = Address::at(page.0, u32::try_from(change.offset()).unwrap_or(u32::MAX));
        let after = change.after(before) as u8;
        let added = self.cluster.added.contains(&address);
        // What is polled others write meanwhile.
        if after != found && !added && !is_taken(change) {
            self.cluster.check_read(node, 0, address, found)?;
        }
        if after != found && !added {
            self.cluster.has_written(address, after);
        }
        self.cluster.outcome.changes += 1;
        Ok(before)
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
        Step::Update(address, _) | Step::Add(address, _) => Some(address),
        Step::Poll(address, _) | Step::Take(address) => Some(address),
        _ => None,
    }
}

/// The same as a change that is carried home.
fn change(step: Step, address: Address) -> Result<Change, String> {
    let (kind, operand) = match step {
        Step::Update(_, add) | Step::Add(_, add) => (ChangeKind::Add, add),
        Step::Take(_) => (ChangeKind::Exchange, 1),
        _ => (ChangeKind::Add, 0),
    };
    let change = Change::new(address.offset(), 1, kind, operand.into());
    change.ok_or_else(|| format!("{address:?} is no byte of a page"))
}

/// Whether that is how a byte is taken.
fn is_taken(change: &Change) -> bool {
    change.after(0) == 1 && change.after(1) == 1
}

/// What it makes of a byte.
fn after(step: Step, before: u8) -> u8 {
    match step {
        Step::Update(_, add) | Step::Add(_, add) => before.wrapping_add(add),
        Step::Take(_) => 1,
        _ => before,
    }
}
