//! Memory that the runtime lends to all members of a spread team.

use super::cells::Of;
use super::interface::Cell;
use super::nodes::{Nodes, installed};
use std::sync::{MutexGuard, PoisonError};

impl Nodes {
    /// Zeroed memory for all members of the team, until the barrier after the
    /// next one.
    fn lend(&self, bytes: usize, align: usize) -> usize {
        let address = self.cluster.allocate(bytes, align);
        let address = address.unwrap_or_else(|| self.lack_memory(bytes));
        self.lent()[0].push(address);
        address
    }

    /// The same, for the members of a construct on all nodes: bytes and
    /// alignments of several pieces. The first node to come allocates them.
    /// `cell` names the construct's cells.
    pub(crate) fn lend_to_all(
        &self,
        sizes: &[(usize, usize)],
        cell: impl Fn(Of) -> Cell,
    ) -> Vec<usize> {
        let numbered = sizes.iter().zip(0..);
        if self.cluster.add(cell(Of::Allocator), 1) != 0 {
            return numbered
                .map(|(_, number)| self.cluster.wait(cell(Of::Memory(number)), 1) as usize)
                .collect();
        }
        numbered
            .map(|(&(bytes, align), number)| {
                let address = self.lend(bytes, align);
                self.cluster.put(cell(Of::Memory(number)), address as u64);
                address
            })
            .collect()
    }

    #[cold]
    fn lack_memory(&self, bytes: usize) -> ! {
        self.fail(format_args!(
            "no memory for {bytes} bytes that the members of a team share"
        ))
    }

    /// All nodes have passed a barrier.
    pub(super) fn take_back(&self) {
        let mut lent = self.lent();
        if lent.iter().all(Vec::is_empty) {
            return;
        }
        let now = std::mem::take(&mut lent[0]);
        let old = std::mem::replace(&mut lent[1], now);
        drop(lent);
        for address in old {
            self.cluster.free(address);
        }
    }

    fn lent(&self) -> MutexGuard<'_, [Vec<usize>; 2]> {
        self.lent.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Zeroed memory that other nodes can reach, until [`free`]; none if this
/// process is no node of a cluster, where any memory will do.
#[must_use]
pub fn allocate(bytes: usize, align: usize) -> Option<usize> {
    let nodes = installed()?;
    let address = nodes.cluster.allocate(bytes, align);
    Some(address.unwrap_or_else(|| nodes.lack_memory(bytes)))
}

/// Gives back what [`allocate`] returned on this node; `false` if this process
/// is no node of a cluster.
#[must_use]
pub fn free(address: usize) -> bool {
    installed().is_some_and(|nodes| {
        nodes.cluster.free(address);
        true
    })
}
