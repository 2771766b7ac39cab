//! What nodes do at once. The bytes of a page are one word.

mod locks;
mod log;
mod pages;
mod updates;

use crate::memory::Memory;
pub(crate) use crate::primitive::{AtomicU64, Ordering, ROUNDS, explore, thread};
use crate::sizes::Sizes;
use crate::window::Window;
use fathomp_protocols::{Admits, Committed, Interval, Notice, PageRange, Seen, Sequenced};
use fathomp_types::{NodeId, PageId};
use std::sync::Arc;

/// Nodes and one home's pages.
struct Cluster {
    nodes: Vec<Window>,
    bytes: [AtomicU64; 2],
    /// What threads tell each other by other means.
    flags: [AtomicU64; 2],
}

/// As small as it can be: each word is one more that loom follows.
fn sizes() -> Sizes {
    Sizes {
        notes: 1,
        log_slots: 4,
        log_ring: 12,
        log_entry_max: 3,
        lock_places: 1,
        ..Sizes::small()
    }
}

impl Cluster {
    fn new(nodes: u16, sizes: Sizes) -> Arc<Self> {
        let memory = Arc::new(Memory::in_process(nodes, 2, sizes));
        let window = |node| Window::new(Arc::clone(&memory), NodeId(node));
        let cluster = Self {
            nodes: (0..nodes).map(window).collect(),
            bytes: std::array::from_fn(|_| AtomicU64::new(0)),
            flags: std::array::from_fn(|_| AtomicU64::new(0)),
        };
        cluster
            .nodes
            .iter()
            .for_each(|node| cluster.show(node, 1, &[], Admits::All));
        cluster.sequence(&[]);
        Arc::new(cluster)
    }

    /// A node shows an epoch, and who brings diffs in it.
    fn show(&self, node: &Window, epoch: u32, received: &[(u16, u32)], admits: Admits) {
        let received = seen(received);
        let committed = Committed {
            epoch,
            received: &received,
            begun: &received,
            known: &received,
            admits,
        };
        node.show(committed);
        node.admit(committed, || true);
    }

    /// The sequencer, which is node 0, shows what it knows.
    fn sequence(&self, contains: &[(u16, u32)]) {
        let sequenced = Sequenced {
            epoch: 1,
            contains: &seen(contains),
            asks: false,
        };
        self.nodes[0].show_sequenced(sequenced);
    }

    fn read(&self, page: usize) -> u64 {
        self.bytes[page].load(Ordering::Relaxed)
    }

    fn write(&self, page: usize, value: u64) {
        self.bytes[page].store(value, Ordering::Relaxed);
    }

    /// Adds as a thread does that is alone: two that do at once lose something.
    fn add_alone(&self, page: usize, amount: u64) {
        self.write(page, self.read(page) + amount);
    }
}

fn seen(last: &[(u16, u32)]) -> Seen {
    let mut seen = Seen::nothing(3);
    for (node, last) in last {
        seen.learn(NodeId(*node), Interval(*last));
    }
    seen
}

fn pages(first: u32, pages: u32) -> PageRange {
    PageRange::new(PageId(first), pages).unwrap()
}

/// A notice whose pages follow from the rest: one word in the log.
fn notice(writer: u16, interval: u32) -> Notice {
    Notice {
        writer: NodeId(writer),
        interval: Interval(interval),
        pages: [PageId(100 * u32::from(writer) + interval)]
            .into_iter()
            .collect(),
        foreseen: false,
        late: false,
        first: false,
        knew: Vec::new(),
    }
}
