//! Named words at node 0, by which nodes agree on who does what between two
//! barriers.

use fathomp_omp::cluster::{Dealt, Left, PartedLoop};
use fathomp_types::{NodeId, ThreadId};
use std::collections::HashMap;

/// Who is to be told something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asker {
    pub(crate) node: NodeId,
    pub(crate) thread: ThreadId,
}

#[derive(Debug, Default)]
struct Cell {
    value: u64,
    waiting: Vec<(Asker, u64)>,
}

/// All cells. A cell that nobody has named before is 0.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    epoch: u32,
    /// Of this epoch, and of the next for nodes that are ahead.
    cells: HashMap<(u32, u64), Cell>,
    /// Loops that are dealt by parts, by the cells that are theirs.
    loops: HashMap<(u32, u64), Left>,
}

impl Cells {
    /// Node 0 has passed a barrier, so nobody uses the cells before it.
    pub(crate) fn pass_barrier(&mut self) {
        self.epoch += 1;
        let epoch = self.epoch;
        self.cells.retain(|(of, _), _| *of >= epoch);
        self.loops.retain(|(of, _), _| *of >= epoch);
    }

    /// Units of a loop for a node, see [`Left::deal`].
    pub(crate) fn deal(
        &mut self,
        epoch: u32,
        cell: u64,
        parted: PartedLoop,
        (node, most): (NodeId, u64),
    ) -> Dealt {
        let found = self.loops.entry((epoch, cell));
        let left = found.or_insert_with(|| Left::of(parted));
        left.deal(node.0.into(), most)
    }

    /// Adds to a cell; what was in it before, and who has waited for what is in
    /// it now.
    pub(crate) fn add(&mut self, epoch: u32, cell: u64, amount: u64) -> (u64, Vec<(Asker, u64)>) {
        let found = self.cells.entry((epoch, cell)).or_default();
        let before = found.value;
        found.value = before.wrapping_add(amount);
        (before, found.served())
    }

    /// Raises a cell to a value; who has waited for that. A late word about an epoch that has
    /// ended concerns nobody.
    pub(crate) fn put(&mut self, epoch: u32, cell: u64, value: u64) -> Vec<(Asker, u64)> {
        if epoch < self.epoch {
            return Vec::new();
        }
        let found = self.cells.entry((epoch, cell)).or_default();
        found.value = found.value.max(value);
        found.served()
    }

    /// The cell's value if it is at least so much; otherwise `asker` waits.
    pub(crate) fn wait(
        &mut self,
        epoch: u32,
        cell: u64,
        at_least: u64,
        asker: Asker,
    ) -> Option<u64> {
        let found = self.cells.entry((epoch, cell)).or_default();
        if found.value >= at_least {
            return Some(found.value);
        }
        found.waiting.push((asker, at_least));
        None
    }
}

impl Cell {
    fn served(&mut self) -> Vec<(Asker, u64)> {
        let value = self.value;
        let served = self.waiting.extract_if(.., |(_, least)| value >= *least);
        served.map(|(asker, _)| (asker, value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: Asker = Asker {
        node: NodeId(1),
        thread: ThreadId(2),
    };

    #[test]
    fn waiting_ends_when_the_value_is_there() {
        let mut cells = Cells::default();
        assert_eq!(cells.add(0, 7, 2), (0, vec![]));
        assert_eq!(cells.wait(0, 7, 2, ME), Some(2));
        assert_eq!(cells.wait(0, 7, 3, ME), None);
        assert_eq!(cells.put(0, 7, 5), [(ME, 5)]);
    }

    #[test]
    fn a_barrier_forgets_cells_but_not_those_of_nodes_ahead() {
        let mut cells = Cells::default();
        cells.add(0, 7, 2);
        cells.add(1, 7, 3);
        cells.pass_barrier();
        assert_eq!(cells.put(0, 7, 9), []);
        assert_eq!(cells.add(1, 7, 1).0, 3);
    }
}
