//! Which memory the nodes share, and where each part is at home.

use fathomp_protocols::{Area as ProtocolArea, Placement};
use fathomp_sys::cluster::image::Segment;
use fathomp_sys::cluster::pages::Area;
use fathomp_types::{NodeId, PAGE_BYTES};
use std::ops::{Range, RangeInclusive};

/// What is shared.
pub(crate) struct Shared {
    pub(crate) nodes: u16,
    pub(crate) areas: Vec<fathomp_protocols::Area>,
    /// Whether the program relies on ordinary loads to acquire.
    pub(crate) loads_acquire: bool,
    /// Whether it executes atomic instructions, or waits for plain variables.
    pub(crate) remembers_unseen: bool,
    /// Whether they can be carried to the homes of their pages.
    pub(crate) carries: bool,
    /// Whether its threads try to take locks, and do not wait for them.
    pub(crate) tries_locks: bool,
}

/// Where the shared heap begins. Far from everything that the kernel places by
/// itself, below or above, with or without randomisation.
const HEAP_BASE: usize = 0x2000_0000_0000;
/// Address space for the blocks that one node allocates.
const HEAP_BYTES: usize = 32 << 30;
/// By so much a heap grows at a time, as the C library's does.
const HEAP_STEP: usize = 128 << 10;
/// Where the threads' stacks begin.
const STACKS_BASE: usize = 0x3000_0000_0000;
/// Address space for the stacks of a node's threads, if they are not larger. However many nodes
/// there are: recordings with several numbers of nodes are compared.
const STACKS_BYTES: usize = 8 << 30;
/// Threads of a node at most: as many stacks as there is room for, within these.
const STACKS: RangeInclusive<usize> = 128..=8192;
/// The stack of the program's first thread, if nothing limits it.
const UNLIMITED_BYTES: usize = 16 << 30;

/// Addresses of everything that is shared.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    segments: Vec<Segment>,
    nodes: u16,
    stack_bytes: usize,
    /// Stacks of each node.
    stacks_each: usize,
    main_bytes: usize,
    /// Thread-local variables of the program's first thread.
    thread_locals: Range<usize>,
}

/// Sizes of stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackBytes {
    /// Of the program's first thread, which no variable of OpenMP changes; `None` if it
    /// may be as large as it likes.
    pub first: Option<u64>,
    /// Of each other thread.
    pub others: usize,
}

impl Layout {
    /// For so many nodes, with such stacks.
    pub(crate) fn new(segments: Vec<Segment>, nodes: u16, stacks: StackBytes) -> Self {
        // The lowest page of each catches overflows.
        let whole = |bytes: usize| bytes.next_multiple_of(PAGE_BYTES) + PAGE_BYTES;
        let stack_bytes = whole(stacks.others);
        let room = STACKS_BYTES / stack_bytes;
        let first = stacks.first.and_then(|bytes| usize::try_from(bytes).ok());
        let first = first.map_or(UNLIMITED_BYTES, |bytes| bytes.min(UNLIMITED_BYTES));
        Self {
            segments,
            nodes,
            stack_bytes,
            stacks_each: room.clamp(*STACKS.start(), *STACKS.end()),
            main_bytes: whole(first),
            thread_locals: 0..0,
        }
    }

    /// The program's first thread has its thread-local variables there, in whole pages: its
    /// stack does not contain them.
    pub(crate) fn with_thread_locals(mut self, pages: Range<usize>) -> Self {
        self.thread_locals = pages;
        self
    }

    /// All blocks of all nodes.
    pub(crate) fn heap(nodes: u16) -> Range<usize> {
        HEAP_BASE..HEAP_BASE + usize::from(nodes) * HEAP_BYTES
    }

    /// Blocks that a node allocates.
    pub(crate) fn heap_of(node: NodeId) -> Range<usize> {
        let base = HEAP_BASE + usize::from(node.0) * HEAP_BYTES;
        base..base + HEAP_BYTES
    }

    /// To where a node's heap is open if it is used up to `used`: what runs far off the end of
    /// the last block ends as on one machine.
    pub(crate) fn heap_open(heap: &Range<usize>, used: usize) -> usize {
        used.next_multiple_of(HEAP_STEP).clamp(heap.start, heap.end)
    }

    /// Who allocated a block.
    pub(crate) fn owner_of(address: usize) -> NodeId {
        let node = (address - HEAP_BASE.min(address)) / HEAP_BYTES;
        NodeId(u16::try_from(node).unwrap_or(u16::MAX))
    }

    /// All stacks of all nodes.
    pub(crate) fn stacks(&self) -> Range<usize> {
        STACKS_BASE..self.other_stacks(NodeId(self.nodes)).start
    }

    /// A node's stack with that number, if it has so many, without the page
    /// that catches overflows. The first of node 0 is that of the program's first thread.
    pub(crate) fn stack(&self, node: NodeId, number: usize) -> Option<Range<usize>> {
        if (node, number) == (NodeId(0), 0) {
            let main = self.main_stack();
            return Some(main.start + PAGE_BYTES..main.end);
        }
        let base = self.other_stacks(node).start + number * self.stack_bytes;
        (number < self.stacks_each).then(|| base + PAGE_BYTES..base + self.stack_bytes)
    }

    /// Whether an address lies in a page that catches a stack's overflow.
    pub(crate) fn is_guard(&self, address: usize) -> bool {
        if !self.stacks().contains(&address) {
            return false;
        }
        let offset = address - STACKS_BASE;
        let within = match offset.checked_sub(self.main_bytes) {
            Some(behind) => behind % self.stack_bytes,
            None => offset,
        };
        within < PAGE_BYTES
    }

    /// Whose stack an address of the stacks belongs to.
    pub(crate) fn owner_of_stack(&self, address: usize) -> NodeId {
        let behind = address.saturating_sub(self.main_stack().end);
        let node = behind / (self.stacks_each * self.stack_bytes);
        NodeId(u16::try_from(node).unwrap_or(u16::MAX))
    }

    /// The stack of the program's first thread, in front of node 0's others.
    fn main_stack(&self) -> Range<usize> {
        STACKS_BASE..STACKS_BASE + self.main_bytes
    }

    /// A node's stacks, but for that of the program's first thread.
    fn other_stacks(&self, node: NodeId) -> Range<usize> {
        let bytes = self.stacks_each * self.stack_bytes;
        let base = self.main_stack().end + usize::from(node.0) * bytes;
        base..base + bytes
    }

    /// The areas as memory. `heap_used` is the end of what has been allocated
    /// until now.
    ///
    /// What is a node's own is an area of its own: nothing is forbidden there
    /// until others write it, and in the stacks, where the kernel writes, never.
    pub(crate) fn memory(&self, heap_used: usize) -> Vec<Area> {
        let mut areas: Vec<_> = self
            .segments
            .iter()
            .map(|segment| Area {
                range: segment.range.clone(),
                file_end: segment.file_end,
                used_end: segment.range.end,
                open_end: segment.range.end,
            })
            .collect();
        let nodes = || (0..self.nodes).map(NodeId);
        let heaps = nodes().map(Self::heap_of);
        areas.extend(heaps.map(|range| Area {
            file_end: range.start,
            used_end: heap_used.clamp(range.start, range.end),
            open_end: Self::heap_open(&range, heap_used),
            range,
        }));
        // What is pinned to a node is numbered without gaps.
        areas.push(Area {
            file_end: self.thread_locals.start,
            used_end: self.thread_locals.end,
            open_end: self.thread_locals.end,
            range: self.thread_locals.clone(),
        });
        let stacks = nodes().map(|node| self.other_stacks(node));
        let stacks = std::iter::once(self.main_stack()).chain(stacks);
        areas.extend(stacks.map(|range| Area {
            file_end: range.start,
            used_end: range.start,
            open_end: range.end,
            range,
        }));
        areas
    }

    /// The same areas as the protocol sees them.
    pub(crate) fn homes(&self) -> Vec<ProtocolArea> {
        let pages = |bytes: usize| u32::try_from(bytes / PAGE_BYTES).unwrap_or(u32::MAX);
        let nodes = || (0..self.nodes).map(NodeId);
        // The program's serial part initialises its variables at node 0; they
        // move to whoever writes them.
        let segments = self.segments.iter().map(|segment| ProtocolArea {
            pages: pages(segment.range.len()),
            home: Placement::At(NodeId(0)),
        });
        let heap = nodes().map(|node| ProtocolArea {
            pages: pages(HEAP_BYTES),
            home: Placement::At(node),
        });
        let pinned = |stacks: Range<usize>, node| ProtocolArea {
            pages: pages(stacks.len()),
            home: Placement::Pinned(node),
        };
        let main = pinned(self.main_stack(), NodeId(0));
        let stacks = nodes().map(|node| pinned(self.other_stacks(node), node));
        let locals = pinned(self.thread_locals.clone(), NodeId(0));
        let areas = segments.chain(heap).chain([locals, main]);
        areas.chain(stacks).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_views_have_the_same_pages() {
        let segment = Segment {
            range: 0x5000..0x9000,
            file_end: 0x6000,
        };
        let layout = Layout::new(vec![segment], 3, MIB).with_thread_locals(0xa000..0xc000);
        let homes = layout.homes();
        let pages = homes.iter().map(|area| area.pages as usize * PAGE_BYTES);
        let areas = layout.memory(HEAP_BASE + 1);
        let open = |node| {
            let heap = areas
                .iter()
                .find(|area| area.range == Layout::heap_of(node));
            heap.map(|area| area.open_end - area.range.start)
        };
        assert_eq!(open(NodeId(0)), Some(HEAP_STEP));
        assert_eq!(open(NodeId(1)), Some(0));
        assert!(pages.eq(areas.iter().map(|area| area.range.len())));
        // What is pinned to a node is numbered without gaps.
        let of_first = |area: &ProtocolArea| area.home == Placement::Pinned(NodeId(0));
        let pinned: Vec<_> = homes.iter().map(of_first).collect();
        assert_eq!(pinned.chunk_by(|a, b| a == b).count(), 3);
    }

    #[test]
    fn blocks_belong_to_who_allocated_them() {
        for node in [0, 1, 200] {
            let range = Layout::heap_of(NodeId(node));
            assert_eq!(Layout::owner_of(range.start), NodeId(node));
            assert_eq!(Layout::owner_of(range.end - 1), NodeId(node));
        }
    }

    #[test]
    fn a_stack_ends_in_a_guard() {
        let layout = Layout::new(Vec::new(), 2, MIB);
        for (node, number) in [(NodeId(1), 0), (NodeId(1), 3), (NodeId(0), 0)] {
            let stack = layout.stack(node, number).unwrap();
            assert!(layout.is_guard(stack.start - 1));
            assert_eq!(layout.owner_of_stack(stack.start - 1), node);
            assert!(!layout.is_guard(stack.start));
            assert!(!layout.is_guard(stack.end - 1));
        }
        let last = layout.stack(NodeId(1), 3).unwrap();
        assert!(layout.is_guard(last.end));
        assert_eq!(layout.stack(NodeId(1), *STACKS.end()), None);
    }

    #[test]
    fn the_first_stack_is_as_large_as_the_system_lets_it() {
        let bytes = |first| {
            let layout = Layout::new(Vec::new(), 2, StackBytes { first, ..MIB });
            let (first, other) = (layout.stack(NodeId(0), 0), layout.stack(NodeId(0), 1));
            assert_eq!(other.unwrap().len(), 1 << 20);
            assert!(first.clone().unwrap().end <= layout.stacks().end);
            first.unwrap().len()
        };
        assert_eq!(bytes(Some(64 << 20)), 64 << 20);
        assert_eq!(bytes(Some(u64::MAX - 1)), UNLIMITED_BYTES);
        assert_eq!(bytes(None), UNLIMITED_BYTES);
    }

    #[test]
    fn as_many_nodes_as_there_can_be_have_pages_with_numbers() {
        let layout = Layout::new(
            Vec::new(),
            fathomp_launch::NODES_MAX,
            StackBytes {
                first: None,
                others: 8 << 20,
            },
        );
        let pages: u64 = layout.homes().iter().map(|a| u64::from(a.pages)).sum();
        assert!(u32::try_from(pages).is_ok(), "{pages}");
    }

    const MIB: StackBytes = StackBytes {
        first: Some(1 << 20),
        others: 1 << 20,
    };
}
