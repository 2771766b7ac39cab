//! Which pages there are, and where they are at home at the beginning.

use crate::PageRange;
use fathomp_types::{NodeId, PageId};

/// Where the pages of an area are at home before they have been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// Each node has one stretch of the area.
    Block,
    /// Runs of so many pages (at least 1) are dealt round-robin.
    Cyclic(u32),
    /// All at one node.
    At(NodeId),
    /// All at one node and for ever; that node's threads may write them at any
    /// time without being watched: their stacks, which the kernel writes too.
    Pinned(NodeId),
}

/// Pages of one kind. The pages of a cluster are its areas, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Area {
    /// Number of pages.
    pub pages: u32,
    /// Their homes.
    pub home: Placement,
}

/// Areas that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AreaError {
    /// There is no node.
    #[error("a cluster needs at least one node")]
    NoNode,
    /// More pages than there are page numbers.
    #[error("the shared areas have more than {} pages", u32::MAX)]
    TooManyPages,
    /// An area is at home at a node that does not exist.
    #[error("area {area} is at home at node {home}, which is not in the cluster")]
    NoSuchHome {
        /// Number of the area, from 0.
        area: usize,
        /// The node.
        home: NodeId,
    },
}

/// Where a page is at home.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) home: NodeId,
    pub(crate) pinned: bool,
}

/// All areas with their first pages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Layout {
    nodes: u16,
    areas: Vec<(u32, Area)>,
    pages: u32,
}

impl Layout {
    pub(crate) fn new(nodes: u16, areas: &[Area]) -> Result<Self, AreaError> {
        if nodes == 0 {
            return Err(AreaError::NoNode);
        }
        let mut pages = 0_u32;
        let mut placed = Vec::new();
        for (number, area) in areas.iter().enumerate() {
            if let Placement::At(home) | Placement::Pinned(home) = area.home
                && home.0 >= nodes
            {
                return Err(AreaError::NoSuchHome { area: number, home });
            }
            placed.push((pages, *area));
            pages = pages
                .checked_add(area.pages)
                .ok_or(AreaError::TooManyPages)?;
        }
        Ok(Self {
            nodes,
            areas: placed,
            pages,
        })
    }

    /// Number of pages.
    pub(crate) fn pages(&self) -> u32 {
        self.pages
    }

    /// Where a page is at home, and how many pages from it on are alike.
    pub(crate) fn stretch(&self, page: PageId) -> (Place, u32) {
        let after = self.areas.partition_point(|(first, _)| *first <= page.0);
        let Some((first, area)) = self.areas[..after].last() else {
            return (Place::default(), 1);
        };
        let nodes = u32::from(self.nodes);
        let at = page.0 - first;
        let left = area.pages.saturating_sub(at).max(1);
        let dealt = |turn: u32, stretch: u32| {
            let home = u16::try_from(turn.min(nodes - 1)).map_or(NodeId(0), NodeId);
            (home, (stretch - at % stretch).min(left))
        };
        let (home, pages) = match area.home {
            Placement::Block => {
                let stretch = area.pages.div_ceil(nodes).max(1);
                dealt(at / stretch, stretch)
            }
            Placement::Cyclic(stretch) => {
                let stretch = stretch.max(1);
                dealt(at / stretch % nodes, stretch)
            }
            Placement::At(home) | Placement::Pinned(home) => (home, left),
        };
        let pinned = matches!(area.home, Placement::Pinned(_));
        (Place { home, pinned }, pages)
    }

    /// All pages as stretches that are alike.
    pub(crate) fn stretches(&self) -> impl Iterator<Item = (Place, PageRange)> + '_ {
        let mut next = 0;
        std::iter::from_fn(move || {
            let page = (next < self.pages).then_some(PageId(next))?;
            let (place, pages) = self.stretch(page);
            next += pages;
            Some((place, PageRange::new(page, pages)?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn homes(nodes: u16, areas: &[Area]) -> Vec<u16> {
        let layout = Layout::new(nodes, areas).unwrap();
        let stretches = layout.stretches();
        stretches
            .flat_map(|(place, pages)| pages.iter().map(move |_| place.home.0))
            .collect()
    }

    #[test]
    fn every_node_gets_its_share() {
        let block = |pages| Area {
            pages,
            home: Placement::Block,
        };
        let cyclic = Area {
            pages: 8,
            home: Placement::Cyclic(2),
        };
        assert_eq!(homes(3, &[block(10)]), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]);
        assert_eq!(homes(3, &[block(0), cyclic]), [0, 0, 1, 1, 2, 2, 0, 0]);
        assert_eq!(
            homes(3, &[block(2), cyclic]),
            [0, 1, 0, 0, 1, 1, 2, 2, 0, 0]
        );
    }

    #[test]
    fn areas_that_cannot_be_are_refused() {
        let area = |pages, home| Area { pages, home };
        let at = Placement::At(NodeId(2));
        assert_eq!(Layout::new(0, &[]), Err(AreaError::NoNode));
        assert_eq!(
            Layout::new(2, &[area(1, Placement::Block), area(1, at)]),
            Err(AreaError::NoSuchHome {
                area: 1,
                home: NodeId(2)
            })
        );
        assert_eq!(
            Layout::new(
                2,
                &[area(u32::MAX, Placement::Block), area(1, Placement::Block)]
            ),
            Err(AreaError::TooManyPages)
        );
    }
}
