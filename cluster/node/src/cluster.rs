//! The node as the OpenMP runtime sees it.

use crate::memory;
use crate::node::Node;
use fathomp_omp::cluster::{Carrier, Cell, Cluster, Dealt, PartedLoop};
use fathomp_types::{NodeId, SiteId};
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

/// Says once that regions of some kind are not spread.
fn say_alone(said: &AtomicBool, which: &str) {
    if !said.swap(true, Ordering::Relaxed) {
        let line = format!(
            "fathomp: warning: a region {which} runs on node 0 alone: \
             nodes share what the program itself contains\n"
        );
        // Not `eprint!`, which panics if stderr is closed.
        let _ = io::stderr().write_all(line.as_bytes());
    }
}

impl Cluster for Node {
    fn node(&self) -> u32 {
        self.me().0.into()
    }

    fn first_process(&self) -> Option<u32> {
        self.first_process
    }

    fn nodes(&self) -> u32 {
        self.size.nodes.into()
    }

    fn threads_per_node(&self) -> u32 {
        self.size.threads
    }

    fn processors(&self) -> u32 {
        (self.size.processors / u32::from(self.size.here)).max(1)
    }

    fn reaches(&self, code: usize, stack: usize) -> bool {
        if !self.is_program_code(code) {
            static SAID: AtomicBool = AtomicBool::new(false);
            say_alone(&SAID, "whose code lies in a library");
            return false;
        }
        if !self.is_shared(stack) {
            static SAID: AtomicBool = AtomicBool::new(false);
            say_alone(&SAID, "of a thread that the program has started by itself");
            return false;
        }
        true
    }

    fn cancel(&self, region: u64) {
        Self::cancel(self, region);
    }

    fn cancelled(&self) -> u64 {
        Self::cancelled(self)
    }

    fn barrier(&self, word: u64) -> u64 {
        Self::barrier(self, word)
    }

    fn names_region(&self, function: usize, call: usize) {
        self.note_region(function, call);
    }

    fn fork(&self, order: &[u8], site: SiteId) {
        self.give_order(order, site);
    }

    fn next_order(&self) -> Option<Vec<u8>> {
        Self::next_order(self)
    }

    fn acquire(&self, lock: u64) {
        Self::acquire(self, lock);
    }

    fn try_acquire(&self, lock: u64) -> bool {
        Self::try_acquire(self, lock)
    }

    fn release(&self, lock: u64) {
        Self::release(self, lock);
    }

    fn add(&self, cell: Cell, amount: u64) -> u64 {
        Self::add(self, cell.0, amount)
    }

    fn deal(&self, cell: Cell, parted: PartedLoop, most: u64) -> Dealt {
        Self::deal(self, cell.0, parted, most)
    }

    fn put(&self, cell: Cell, value: u64) {
        Self::put(self, cell.0, value);
    }

    fn wait(&self, cell: Cell, at_least: u64) -> u64 {
        self.wait_for(cell.0, at_least)
    }

    fn wait_in(&self, region: u64, cell: Cell, at_least: u64) -> u64 {
        Self::wait_in(self, region, cell.0, at_least)
    }

    fn post(&self, cell: Cell, value: u64) {
        Self::post(self, cell.0, value);
    }

    fn wait_at(&self, node: u32, region: u64, cell: Cell, at_least: u64) -> u64 {
        Self::wait_at(self, node, region, cell.0, at_least)
    }

    fn allocate(&self, bytes: usize, align: usize) -> Option<usize> {
        let address = memory::memory()?.allocate(bytes, align)?;
        self.pages().clear(address, bytes);
        Some(address)
    }

    fn free(&self, address: usize) {
        Self::free(self, address);
    }

    fn spawn(
        &self,
        _name: String,
        _stack_bytes: usize,
        run: Box<dyn FnOnce() + Send>,
    ) -> io::Result<()> {
        self.begin(run)
    }

    fn carrier(&self) -> Option<&'static dyn Carrier> {
        Self::carrier(self)
    }

    fn fail(&self, reason: &str) -> ! {
        Self::fail(
            self,
            NodeId(u16::try_from(self.node()).unwrap_or(0)),
            reason,
        )
    }
}
