//! What pages have to be when a node leaves a barrier.

use super::cluster::{Cluster, node_id, thread_id};
use crate::failure::{Failure, Wrong};
use crate::program::{Address, Program, Step};
use fathomp_protocols::PageBytes;
use fathomp_types::{PAGE_BYTES, PageId};
use std::collections::{BTreeMap, BTreeSet};

impl Cluster<'_> {
    /// A thread has written a byte.
    pub(super) fn has_written(&mut self, address: Address, value: u8) {
        self.truth.insert(address, value);
        self.since.entry(address).or_default().insert(value);
    }

    /// What a thread has seen must be what was last written.
    pub(super) fn check_read(
        &self,
        node: usize,
        thread: usize,
        address: Address,
        seen: u8,
    ) -> Result<(), Failure> {
        let expected = self.truth.get(&address).copied().unwrap_or(0);
        if seen == expected {
            return Ok(());
        }
        Err(Failure::Read {
            node: node_id(node),
            thread: thread_id(thread),
            address,
            seen,
            expected,
        })
    }

    /// What a node can read when it leaves a barrier must be what was written before.
    pub(super) fn check_pages(&mut self, node: usize) -> Result<(), Wrong> {
        let Some(truth) = self.at_barrier.get(self.nodes[node].left) else {
            return Err(Wrong::Action("it leaves a barrier too early".into()));
        };
        for (address, expected) in truth {
            let page = address.page();
            let content = self.nodes[node].memory.readable(page);
            let content = content.filter(|_| !self.unsettled.contains(address));
            let is_right = |byte| byte == *expected || is_newer(&self.since, *address, byte);
            if content.is_some_and(|bytes| !is_right(bytes[address.offset()])) {
                return Err(Wrong::Page {
                    page,
                    offset: address.offset(),
                });
            }
        }
        if self.network.images {
            self.keep_images(node)?;
        }
        Ok(())
    }

    /// Keeps the pages that a node can read, which others have to have alike.
    fn keep_images(&mut self, node: usize) -> Result<(), Wrong> {
        let left = self.nodes[node].left;
        if self.outcome.images.len() <= left {
            self.outcome.images.push(BTreeMap::new());
        }
        let images = &mut self.outcome.images[left];
        for (page, bytes) in self.nodes[node].memory.all_readable() {
            let bytes = as_of_barrier(&self.since, &self.at_barrier[left], page, bytes);
            let image = images.entry(page).or_insert_with(|| bytes.clone());
            if let Some(offset) = (0..bytes.len()).find(|at| image[*at] != bytes[*at]) {
                return Err(Wrong::Page { page, offset });
            }
        }
        Ok(())
    }
}

/// Whether somebody who has left the barrier has written that. A node that is about to
/// leave may have learned of it, and then pulls it into pages that its threads write
/// unwatched: these must not read it yet.
fn is_newer(since: &BTreeMap<Address, BTreeSet<u8>>, address: Address, byte: u8) -> bool {
    since
        .get(&address)
        .is_some_and(|bytes| bytes.contains(&byte))
}

/// A page as it was when everybody was at the barrier.
fn as_of_barrier(
    since: &BTreeMap<Address, BTreeSet<u8>>,
    truth: &BTreeMap<Address, u8>,
    page: PageId,
    bytes: &PageBytes,
) -> Box<PageBytes> {
    let mut then = Box::new(*bytes);
    let first = Address(page.0 * PAGE_BYTES as u32);
    let end = Address(first.0 + PAGE_BYTES as u32);
    for (address, newer) in since.range(first..end) {
        let byte = &mut then[address.offset()];
        if newer.contains(byte) {
            *byte = truth.get(address).copied().unwrap_or(0);
        }
    }
    then
}

/// What may change while others look at it after a barrier.
pub(super) fn unsettled(program: &Program) -> BTreeSet<Address> {
    let threads = program.threads.iter().flatten();
    let others = threads.filter(|steps| !steps.contains(&Step::Barrier));
    let written = others.flatten().filter_map(|step| match step {
        Step::Write(address, _) | Step::Update(address, _) | Step::Take(address) => Some(*address),
        _ => None,
    });
    // Homes hold sums that no thread has seen.
    written.chain(added(program)).collect()
}

/// Bytes to which threads add that never look at what was there.
pub(super) fn added(program: &Program) -> BTreeSet<Address> {
    let steps = program.threads.iter().flatten().flatten();
    let added = steps.filter_map(|step| match step {
        Step::Add(address, _) => Some(*address),
        _ => None,
    });
    added.collect()
}
