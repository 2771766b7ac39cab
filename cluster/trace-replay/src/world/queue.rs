//! What will happen, by time; at the same time, in the order in which it was
//! decided.

use crate::desk::Wish;
use crate::memory::Size;
use fathomp_protocols::message::Message;
use fathomp_types::NodeId;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A message between nodes.
#[derive(Debug)]
pub(super) enum Parcel {
    /// Of the protocol; whether it carries pages or diffs.
    Protocol {
        message: Message<Size>,
        carries: bool,
    },
    /// To node 0: I have come to that barrier.
    Arrived(u32),
    /// From node 0: all have.
    Passed,
    /// To node 0: about a cell.
    Wish {
        thread: usize,
        epoch: u32,
        cell: u64,
        wish: Wish,
    },
    /// From node 0: what a thread has asked for.
    Answer(usize),
}

#[derive(Debug)]
pub(super) enum Event {
    /// A thread goes on.
    Run(usize),
    /// A message arrives.
    Arrive {
        from: NodeId,
        to: NodeId,
        parcel: Parcel,
    },
    /// A node has handled a message.
    Free(NodeId),
}

#[derive(Debug)]
struct Entry {
    at_ns: u64,
    number: u64,
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The earliest is the greatest.
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at_ns, other.number).cmp(&(self.at_ns, self.number))
    }
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    heap: BinaryHeap<Entry>,
    pushed: u64,
}

impl Queue {
    pub(super) fn push(&mut self, at_ns: u64, event: Event) {
        let number = self.pushed;
        self.pushed += 1;
        self.heap.push(Entry {
            at_ns,
            number,
            event,
        });
    }

    pub(super) fn pop(&mut self) -> Option<(u64, Event)> {
        self.heap.pop().map(|entry| (entry.at_ns, entry.event))
    }

    /// Events so far.
    pub(super) fn pushed(&self) -> u64 {
        self.pushed
    }
}
