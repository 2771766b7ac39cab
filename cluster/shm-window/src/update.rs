//! Updating pages in other nodes' memory, and in this one's where others may.

use crate::primitive::Ordering;
use crate::view::{begin_writing, end_writing, interval};
use crate::window::Window;
use fathomp_protocols::order::ROOT;
use fathomp_protocols::{Offer, Underway, Updates};
use fathomp_types::{NodeId, PageId};

/// What became of an attempt to begin an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateStart {
    /// It has begun, at the page's home.
    Begun,
    /// Soon it can: its home has yet to receive, or to learn of, something that must or may
    /// be part of the page.
    Incomplete,
    /// Its home does not offer it.
    NotOffered,
    /// There is no such home.
    Never,
}

impl Window {
    /// Begins to update a page in its home's memory, if that may be. Until the update
    /// [has ended](Self::end_update), its home may have to wait for it.
    #[must_use]
    pub fn begin_update(&self, updates: &Updates, page: PageId) -> UpdateStart {
        let Some(view) = self.memory.view(updates.home) else {
            return UpdateStart::Never;
        };
        let Some(writing) = view.writing.get(usize::from(self.me.0)) else {
            return UpdateStart::Never;
        };
        begin_writing(writing);
        let offer = view.offers.of(page);
        let offered = !offer.admits_diffs() && view.shows(updates.epoch);
        let start = match offered {
            false => UpdateStart::NotOffered,
            true if offer != Offer::Updated => UpdateStart::Incomplete,
            true if !view.has_received(&updates.need) => UpdateStart::Incomplete,
            true => return UpdateStart::Begun,
        };
        end_writing(writing);
        start
    }

    /// An update at a home has ended.
    pub fn end_update(&self, home: NodeId) {
        let view = self.memory.view(home);
        if let Some(writing) = view.and_then(|view| view.writing.get(usize::from(self.me.0))) {
            end_writing(writing);
        }
    }

    /// Whether others may update a page of this node, or soon may.
    #[must_use]
    pub fn is_updated(&self, page: PageId) -> bool {
        self.mine()
            .is_some_and(|view| !view.offers.of(page).admits_diffs())
    }

    /// Whether everybody who reads the log, or asks the sequencer, learns of all that this node
    /// has told it.
    #[must_use]
    pub fn is_told(&self, underway: &Underway) -> bool {
        let view = self.memory.view(ROOT);
        let contained = view.and_then(|view| view.contained.get(usize::from(self.me.0)));
        contained.is_some_and(|contained| underway.may_tell(interval(contained)))
    }

    /// Whether this node may lack something that others have told.
    #[must_use]
    pub fn has_news(&self, epoch: u32) -> bool {
        let sequencer = self.memory.view(ROOT);
        let has_log = sequencer.is_some_and(|view| view.logs.load(Ordering::Relaxed) != 0);
        let log = self.memory.log(epoch);
        !has_log || log.is_none_or(|log| log.has_news(self.me))
    }
}
