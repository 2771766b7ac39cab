//! Which pages at home here other nodes may take by themselves.
//!
//! A page that is watched can be *open*: nodes that can read the home's memory take it
//! ([`crate::Fetch`]), keep it until they learn that it was written, and nobody at the home is
//! disturbed. A page that is not watched can be *lent*: they [borrow](super::borrow) it.

use super::{Actions, Home};
use crate::guess::Event;
use crate::state::State;
use crate::{Action, Body, Offer, PageRange, PageSet, Protection};
use fathomp_types::PageId;

/// Pages whose offer has changed.
pub(super) type Changes = Vec<PageId>;

impl<B: Clone + Body> Home<B> {
    /// A page at home here is fetched.
    pub(super) fn note_fetch(&mut self, page: PageId) {
        self.note(Event::Served(page));
        self.table.entry(page).served = true;
        self.leave_round(page);
    }

    /// Whether no other node has had a page from here, of those that may move.
    pub(super) fn is_fresh(&self, page: PageId) -> bool {
        let entry = self.table.get(page);
        self.config.migrate && !entry.pinned && !entry.served
    }

    /// Others have taken pages.
    pub(super) fn were_taken(&mut self, pages: &PageSet) {
        let end = self.table.layout().pages();
        for page in pages.iter().take_while(|page| page.0 < end) {
            let entry = self.table.get(page);
            match entry.offer {
                Offer::Open => self.note_fetch(page),
                Offer::Lent if !entry.pinned => self.note(Event::Lent(page)),
                Offer::Lent | Offer::Closed => {}
                Offer::Reserved | Offer::Twinned | Offer::Updated => {}
            }
        }
    }

    /// Threads' writes to a page at home here are noticed from now on, and others may keep it.
    pub(super) fn watch(&mut self, page: PageId, actions: &mut Actions<B>) {
        self.table.entry(page).state = State::Shared;
        Action::protect(actions, page, Protection::Watched);
        self.open(page);
    }

    /// Others may take a page at home here: once its writes are noticed, or to give it
    /// back if they never are.
    pub(super) fn open(&mut self, page: PageId) {
        let pinned = self.table.get(page).pinned;
        self.change_offer(page, if pinned { Offer::Lent } else { Offer::Open });
    }

    /// Others must not keep a page any more when its writes are not noticed.
    pub(super) fn lend(&mut self, page: PageId) {
        self.change_offer(page, Offer::Lent);
    }

    /// Others must not take a page any more.
    pub(super) fn close(&mut self, page: PageId) {
        self.change_offer(page, Offer::Closed);
    }

    fn change_offer(&mut self, page: PageId, offer: Offer) {
        if self.offer(page, offer) {
            self.offers.push(page);
        }
    }

    /// True if that is new.
    pub(super) fn offer(&mut self, page: PageId, offer: Offer) -> bool {
        let entry = self.table.entry(page);
        self.config.is_direct() && std::mem::replace(&mut entry.offer, offer) != offer
    }

    /// Opens pages at home here, whose writes are noticed from now on.
    pub(super) fn open_all(
        &mut self,
        pages: impl Iterator<Item = PageId>,
        actions: &mut Actions<B>,
    ) {
        pages.for_each(|page| self.open(page));
        self.tell_offers(actions.len(), actions);
    }

    /// Tells others which pages they may take. `first`: where the actions begin that
    /// change whether writes are noticed. A page is open only while they are.
    pub(super) fn tell_offers(&mut self, first: usize, actions: &mut Actions<B>) {
        let mut changed = std::mem::take(&mut self.offers);
        changed.sort_unstable();
        changed.dedup();
        let mut told: Vec<(PageRange, Offer)> = Vec::new();
        for page in changed {
            let offer = self.table.get(page).offer;
            if let Some((pages, same)) = told.last_mut()
                && *same == offer
                && pages.extend(page)
            {
                continue;
            }
            told.push((page.into(), offer));
        }
        let (opened, others): (Vec<_>, Vec<_>) = told
            .into_iter()
            .partition(|(_, offer)| *offer == Offer::Open);
        let action = |(pages, offer)| Action::Offer(pages, offer);
        actions.splice(first..first, others.into_iter().map(action));
        actions.extend(opened.into_iter().map(action));
    }
}
