//! Which node is the home of which page.

use fathomp_base::{NodeId, PageId};
use std::collections::BTreeMap;

/// Where pages are at home before they have been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// Each node has one stretch of the shared range.
    Block,
    /// Stretches of so many pages (at least 1) are dealt round-robin.
    Cyclic(u32),
}

/// The home of every page, known alike at all nodes: it changes at barriers
/// only, by a rule that all nodes apply to the same notices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Homes {
    nodes: u16,
    pages: u32,
    placement: Placement,
    moved: BTreeMap<PageId, NodeId>,
}

impl Homes {
    pub(super) fn new(nodes: u16, pages: u32, placement: Placement) -> Self {
        Self {
            nodes,
            pages,
            placement,
            moved: BTreeMap::new(),
        }
    }

    pub(super) fn of(&self, page: PageId) -> NodeId {
        match self.moved.get(&page) {
            Some(home) => *home,
            None => self.first(page),
        }
    }

    pub(super) fn move_to(&mut self, page: PageId, home: NodeId) {
        if home == self.first(page) {
            self.moved.remove(&page);
        } else {
            self.moved.insert(page, home);
        }
    }

    fn first(&self, page: PageId) -> NodeId {
        let nodes = u32::from(self.nodes.max(1));
        let node = match self.placement {
            Placement::Block => page.0 / self.pages.div_ceil(nodes).max(1),
            Placement::Cyclic(stretch) => page.0 / stretch.max(1) % nodes,
        };
        // Below the number of nodes, which is a u16.
        NodeId(u16::try_from(node.min(nodes - 1)).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_gets_its_share() {
        let block = Homes::new(3, 10, Placement::Block);
        let homes: Vec<_> = (0..10).map(|p| block.of(PageId(p)).0).collect();
        assert_eq!(homes, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]);
        let cyclic = Homes::new(3, 10, Placement::Cyclic(2));
        let homes: Vec<_> = (0..10).map(|p| cyclic.of(PageId(p)).0).collect();
        assert_eq!(homes, [0, 0, 1, 1, 2, 2, 0, 0, 1, 1]);
    }

    #[test]
    fn a_page_that_moves_back_leaves_no_trace() {
        let mut homes = Homes::new(2, 4, Placement::Block);
        let fresh = homes.clone();
        homes.move_to(PageId(0), NodeId(1));
        assert_eq!(homes.of(PageId(0)), NodeId(1));
        homes.move_to(PageId(0), NodeId(0));
        assert_eq!(homes, fresh);
    }
}
