//! Updating pages in other nodes' memory, and in this one's where others may.

use super::{Window, interval};
use crate::log::Logs;
use fathomp_base::{NodeId, PageId};
use fathomp_dsm::order::ROOT;
use fathomp_dsm::{Offer, Underway, Updates};
use fathomp_sys::cluster::pages::Pages;
use std::sync::atomic::Ordering;

/// What became of an attempt to begin an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// It has begun, at the home that is named; the byte lies at this address.
    At(NodeId, usize),
    /// Soon it can be: its home has yet to receive, or to learn of, something that must or may
    /// be part of the page.
    Incomplete,
    /// Its home does not offer it.
    Closed,
    /// It never will.
    Never,
}

impl Window {
    /// Begins to update a byte of a page in its home's memory, if that may be. Until the
    /// update [has ended](Self::end_update), its home may have to wait for it.
    pub(crate) fn begin_update(
        &self,
        updates: &Updates,
        pages: &Pages,
        page: PageId,
        offset: usize,
    ) -> Begun {
        let Updates { home, epoch, need } = updates;
        let me = usize::from(self.me.0);
        let Some(view) = self.view(*home) else {
            return Begun::Never;
        };
        let Some(updating) = view.bringing.get(me) else {
            return Begun::Never;
        };
        updating.fetch_add(1, Ordering::SeqCst);
        let offer = view.offer(page);
        let offered = !offer.admits_diffs() && view.shows(*epoch);
        let mut needed = need.iter();
        let complete = needed.all(|(writer, last)| {
            let received = view.received.get(usize::from(writer.0));
            received.is_some_and(|received| interval(received) >= *last)
        });
        let begun = match (offered, complete) {
            (false, _) => Begun::Closed,
            (true, false) => Begun::Incomplete,
            (true, true) if offer == Offer::Reserved => Begun::Incomplete,
            (true, true) => {
                let place = pages.place_in(self.backing(*home), page, offset);
                place.map_or(Begun::Never, |place| Begun::At(*home, place))
            }
        };
        if !matches!(begun, Begun::At(..)) {
            updating.fetch_sub(1, Ordering::SeqCst);
        }
        begun
    }

    /// An update at a home has ended.
    pub(crate) fn end_update(&self, home: NodeId) {
        let view = self.view(home);
        if let Some(updating) = view.and_then(|view| view.bringing.get(usize::from(self.me.0))) {
            updating.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Whether others may update a page of this node, or soon may.
    pub(crate) fn is_updated(&self, page: PageId) -> bool {
        let view = self.view(self.me);
        view.is_some_and(|view| !view.offer(page).admits_diffs())
    }

    /// Whether everybody who reads the log, or asks the sequencer, learns of all that this node
    /// has told it.
    pub(crate) fn is_told(&self, underway: &Underway) -> bool {
        let me = usize::from(self.me.0);
        let contained = self.view(ROOT).and_then(|view| view.contained.get(me));
        contained.is_some_and(|contained| underway.may_tell(interval(contained)))
    }

    /// Whether this node may lack something that others have told.
    pub(crate) fn has_news(&self, epoch: u32) -> bool {
        let logs: &Logs = &self.all.logs;
        let sequencer = self.view(ROOT);
        let has_log = sequencer.is_some_and(|view| view.logs.load(Ordering::SeqCst) != 0);
        !has_log || logs.has_news(epoch, self.me)
    }
}
