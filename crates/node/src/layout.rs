//! Which memory the nodes share, and where each part is at home.

use fathomp_base::{NodeId, PAGE_BYTES};
use fathomp_dsm::{Area as ProtocolArea, Placement};
use fathomp_sys::cluster::image::Segment;
use fathomp_sys::cluster::pages::Area;
use std::ops::Range;

/// Where the shared heap begins. Far from everything that the kernel places by
/// itself, below or above, with or without randomisation.
const HEAP_BASE: usize = 0x2000_0000_0000;
/// Address space for the blocks that one node allocates.
const HEAP_BYTES: usize = 32 << 30;
/// Where the threads' stacks begin.
const STACKS_BASE: usize = 0x3000_0000_0000;
/// Threads of a node at most.
const STACKS: usize = 128;
/// Nodes at most, so that pages are numbered by 32 bits.
pub(crate) const NODES_MAX: u16 = 256;

/// Addresses of everything that is shared.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    segments: Vec<Segment>,
    nodes: u16,
    stack_bytes: usize,
}

impl Layout {
    /// For so many nodes, with stacks of so many bytes.
    pub(crate) fn new(segments: Vec<Segment>, nodes: u16, stack_bytes: usize) -> Self {
        Self {
            segments,
            nodes,
            // The lowest page of each catches overflows.
            stack_bytes: stack_bytes.next_multiple_of(PAGE_BYTES) + PAGE_BYTES,
        }
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

    /// Who allocated a block.
    pub(crate) fn owner_of(address: usize) -> NodeId {
        let node = (address - HEAP_BASE.min(address)) / HEAP_BYTES;
        NodeId(u16::try_from(node).unwrap_or(u16::MAX))
    }

    /// All stacks of all nodes.
    pub(crate) fn stacks(&self) -> Range<usize> {
        let bytes = usize::from(self.nodes) * STACKS * self.stack_bytes;
        STACKS_BASE..STACKS_BASE + bytes
    }

    /// A node's stack with that number, if it has so many, without the page
    /// that catches overflows.
    pub(crate) fn stack(&self, node: NodeId, number: usize) -> Option<Range<usize>> {
        let index = usize::from(node.0) * STACKS + number;
        let base = STACKS_BASE + index * self.stack_bytes;
        (number < STACKS).then(|| base + PAGE_BYTES..base + self.stack_bytes)
    }

    /// Whether an address lies in a page that catches a stack's overflow.
    pub(crate) fn is_guard(&self, address: usize) -> bool {
        self.stacks().contains(&address) && (address - STACKS_BASE) % self.stack_bytes < PAGE_BYTES
    }

    /// A node's stacks.
    fn stacks_of(&self, node: NodeId) -> Range<usize> {
        let bytes = STACKS * self.stack_bytes;
        let base = STACKS_BASE + usize::from(node.0) * bytes;
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
            })
            .collect();
        let nodes = || (0..self.nodes).map(NodeId);
        let heaps = nodes().map(Self::heap_of);
        areas.extend(heaps.map(|range| Area {
            file_end: range.start,
            used_end: heap_used.clamp(range.start, range.end),
            range,
        }));
        let stacks = nodes().map(|node| self.stacks_of(node));
        areas.extend(stacks.map(|range| Area {
            file_end: range.start,
            used_end: range.start,
            range,
        }));
        areas
    }

    /// Number of all pages.
    pub(crate) fn pages(&self) -> u32 {
        self.homes().iter().map(|area| area.pages).sum()
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
        let stacks = nodes().map(|node| ProtocolArea {
            pages: pages(STACKS * self.stack_bytes),
            home: Placement::Pinned(node),
        });
        segments.chain(heap).chain(stacks).collect()
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
        let layout = Layout::new(vec![segment], 3, 1 << 20);
        let homes: u64 = layout.homes().iter().map(|a| u64::from(a.pages)).sum();
        let areas = layout.memory(HEAP_BASE);
        let memory: usize = areas.iter().map(|a| a.range.len()).sum();
        assert_eq!(memory as u64, homes * PAGE_BYTES as u64);
        assert_eq!(areas.len(), layout.homes().len());
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
        let layout = Layout::new(Vec::new(), 2, 1 << 20);
        let stack = layout.stack(NodeId(1), 3).unwrap();
        assert!(layout.is_guard(stack.start - 1));
        assert!(!layout.is_guard(stack.start));
        assert!(layout.is_guard(stack.end));
        assert_eq!(layout.stack(NodeId(1), STACKS), None);
    }
}
