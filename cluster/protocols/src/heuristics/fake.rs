//! Pages for tests of predictors, in place of a protocol.

use super::{Glance, View};
use crate::area::Layout;
use crate::state::State;
use crate::{Area, Interval, Placement};
use fathomp_types::{NodeId, PageId};

/// Pages that are all at one node's home, seen from there or from elsewhere.
pub(super) struct Fake {
    pub(super) epoch: u32,
    pub(super) pages: Vec<Glance>,
}

impl Fake {
    /// So many pages in a state.
    pub(super) fn new(pages: u32, at_home: bool, state: State) -> Self {
        let glance = Glance {
            state,
            at_home,
            pinned: false,
        };
        Self {
            epoch: 0,
            pages: vec![glance; pages as usize],
        }
    }

    pub(super) fn layout(&self) -> Layout {
        let area = Area {
            pages: self.pages.len() as u32,
            home: Placement::At(NodeId(0)),
        };
        Layout::new(2, &[area]).unwrap()
    }

    pub(super) fn set(&mut self, page: PageId, state: State) {
        self.pages[page.0 as usize].state = state;
    }
}

impl View for Fake {
    fn epoch(&self) -> u32 {
        self.epoch
    }

    fn interval(&self) -> Interval {
        Interval(self.epoch)
    }

    fn page(&self, page: PageId) -> Option<Glance> {
        self.pages.get(page.0 as usize).copied()
    }

    fn goes_with(&self, page: PageId, next: PageId) -> bool {
        let state = |page| self.page(page).map(|page| page.state);
        state(next).is_some() && state(next) == state(page)
    }
}
