//! What nodes do at node 0 beside the protocol: meet at barriers, and agree by
//! cells. The sizes are those of the messages that real nodes send.

use std::collections::BTreeMap;

/// Bytes before a protocol's message.
pub(crate) const HEAD_BYTES: u32 = 1;
/// "I have come to that barrier with this word."
pub(crate) const ARRIVED_BYTES: u32 = 17;
/// "All have come", without the order for the next region.
pub(crate) const PASSED_BYTES: u32 = 9;
/// "Add to a cell", or "tell me when a cell has a value".
pub(crate) const ASK_BYTES: u32 = 33;
/// "A cell has this value now."
pub(crate) const PUT_BYTES: u32 = 25;
/// What a thread has asked for.
pub(crate) const ANSWER_BYTES: u32 = 17;

/// What a thread wants of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Add(u64),
    Put(u64),
    AtLeast(u64),
}

#[derive(Debug, Default)]
struct Cell {
    value: u64,
    /// Threads, and what they wait for.
    waiting: Vec<(usize, u64)>,
}

/// Node 0's books.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    /// By barrier: nodes that have come.
    arrived: BTreeMap<u32, u16>,
    /// By barrier and number.
    cells: BTreeMap<(u32, u64), Cell>,
}

impl Desk {
    /// One more node has come to a barrier; whether all have.
    pub(crate) fn arrive(&mut self, epoch: u32, nodes: u16) -> bool {
        let arrived = self.arrived.entry(epoch).or_default();
        *arrived += 1;
        let all = *arrived == nodes;
        if all {
            self.arrived.remove(&epoch);
        }
        all
    }

    /// Cells before a barrier that node 0 has passed concern nobody any more.
    pub(crate) fn pass(&mut self, epoch: u32) {
        self.cells = self.cells.split_off(&(epoch, 0));
    }

    /// A thread's wish; the threads that are answered now.
    pub(crate) fn ask(&mut self, thread: usize, epoch: u32, cell: u64, wish: Wish) -> Vec<usize> {
        let cell = self.cells.entry((epoch, cell)).or_default();
        let mut answered = Vec::new();
        match wish {
            Wish::Add(amount) => {
                cell.value = cell.value.wrapping_add(amount);
                answered.push(thread);
            }
            Wish::Put(value) => cell.value = cell.value.max(value),
            Wish::AtLeast(least) => cell.waiting.push((thread, least)),
        }
        let value = cell.value;
        let served = cell.waiting.extract_if(.., |(_, least)| value >= *least);
        answered.extend(served.map(|(thread, _)| thread));
        answered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_answered_by_whoever_raises_the_cell() {
        let mut desk = Desk::default();
        assert!(desk.ask(1, 0, 7, Wish::AtLeast(2)).is_empty());
        assert_eq!(desk.ask(2, 0, 7, Wish::Add(1)), [2]);
        assert_eq!(desk.ask(3, 0, 7, Wish::Put(5)), [1]);
        desk.pass(1);
        assert!(desk.ask(1, 1, 7, Wish::AtLeast(1)).is_empty());
        assert!(!desk.arrive(4, 2));
        assert!(desk.arrive(4, 2));
    }
}
