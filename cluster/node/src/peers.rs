//! Memory of the other nodes of this machine: what all share, and each one's pages.

use fathomp_shm_window::{Memory, Sizes, Window};
use fathomp_sys::cluster::backing::Backing;
use fathomp_types::{NodeId, PageId};
use std::io;
use std::sync::Arc;

/// The memory of all nodes, made before they are forked.
#[derive(Debug)]
pub(crate) struct Memories {
    shared: Memory,
    backings: Vec<Backing>,
}

/// What a node reaches of the others' memory.
#[derive(Debug)]
pub(crate) struct Peers {
    me: NodeId,
    window: Window,
    /// Pages of the nodes before this one, and of those behind it.
    before: Vec<Backing>,
    behind: Vec<Backing>,
}

impl Memories {
    /// For so many nodes with so many pages.
    ///
    /// # Errors
    /// If there is no memory.
    pub(crate) fn new(nodes: u16, pages: u32) -> io::Result<Self> {
        let backings = (0..nodes).map(|_| Backing::new());
        Ok(Self {
            shared: Memory::shared(nodes, pages, Sizes::default())?,
            backings: backings.collect::<io::Result<_>>()?,
        })
    }

    /// Node `me`'s pages and what it reaches of the others'; None if there is no such node.
    pub(crate) fn join(mut self, me: NodeId) -> Option<(Backing, Peers)> {
        let number = usize::from(me.0);
        if number >= self.backings.len() {
            return None;
        }
        let behind = self.backings.split_off(number + 1);
        let own = self.backings.pop()?;
        let peers = Peers {
            me,
            window: Window::new(Arc::new(self.shared), me),
            before: self.backings,
            behind,
        };
        Some((own, peers))
    }
}

impl Peers {
    /// Offers, the log and the locks.
    pub(crate) fn window(&self) -> &Window {
        &self.window
    }

    /// The pages of another node.
    pub(crate) fn pages_of(&self, node: NodeId) -> Option<&Backing> {
        let (number, me) = (usize::from(node.0), usize::from(self.me.0));
        match number.checked_sub(me + 1) {
            Some(behind) => self.behind.get(behind),
            None => self.before.get(number),
        }
    }

    /// The address at which a byte of a page can be changed in the memory of its home, which
    /// may be this node.
    pub(crate) fn place_at(
        &self,
        home: NodeId,
        pages: &fathomp_sys::cluster::pages::Pages,
        (page, offset): (PageId, usize),
    ) -> io::Result<usize> {
        pages.place_in(self.pages_of(home), page, offset)
    }
}
