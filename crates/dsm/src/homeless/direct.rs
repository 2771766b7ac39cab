//! Pages that nodes take out of each other's memory by themselves.
//!
//! Nobody has to be asked for a whole page, if it is known what it contains: what is missing
//! then is put in as it would be anyway. So in place of diffs a node takes the page of
//! one of their writers, and puts its own diffs that the writer does not know into that.
//! Of a page that its owner writes unwatched, what was taken is left beside it: the owner
//! watches the page from its next step on, and compares it with that before. Pinned
//! pages, which are never watched, are *borrowed*: whoever does gives them back when it learns of
//! anything.

use super::message::Message;
use super::{Actions, Homeless, State};
use crate::{Action, Content, Offer, PageRange, PageSet, Protection, Wanted};
use fathomp_base::PageId;
use std::collections::BTreeMap;

/// What others may do with pages after a step, if that changes in it.
pub(super) type Offers = BTreeMap<PageId, Offer>;

impl<B: Clone> Homeless<B> {
    /// Whether nodes may take pages by themselves. Whoever does is not told what must be
    /// known before it is looked at.
    pub(super) fn is_direct(&self) -> bool {
        self.config.direct && !self.config.loads_acquire
    }

    /// True if no thread has come to a barrier, and all have left the last one.
    pub(super) fn is_between_barriers(&self) -> bool {
        !self.order.comes_to_barrier() && self.leaving.is_none()
    }

    /// Lets others take a page after this step, or forbids it.
    pub(super) fn offer(&mut self, page: PageId, offer: Offer) {
        let entry = self.table.get(page);
        if self.is_direct() && (!entry.pinned || entry.owner == self.me) {
            self.offers.insert(page, offer);
        }
    }

    /// Something of a page is missing from now on. Others may take it as what it was, if what
    /// that is has been said: not if its last interval ended in this step.
    pub(super) fn offer_old(&mut self, page: PageId) {
        let is_new = self.offers.contains_key(&page);
        let before = self.table.get(page).offer;
        let is_said = matches!(before, None | Some(Offer::Open | Offer::Lent));
        let offer = if is_said && !is_new {
            Offer::Old
        } else {
            Offer::Closed
        };
        self.offer(page, offer);
    }

    /// Lets others take the twin of a page that is being written, if somebody has asked for such a
    /// page before: it has to be copied for that.
    pub(super) fn offer_twin(&mut self, page: PageId) {
        let wanted = self.table.get(page).wanted;
        self.offer(page, if wanted { Offer::Twin } else { Offer::Closed });
    }

    /// Somebody asks for a page that he could perhaps have taken.
    pub(super) fn note_asked(&mut self, page: PageId) {
        let entry = self.table.entry(page);
        entry.wanted |= matches!(entry.state, State::Dirty | State::Expected);
    }

    /// Tells others which pages they may take after a step, and before what it does, whose
    /// actions begin at `first`, that they may not take them meanwhile.
    pub(super) fn tell_offers(&mut self, first: usize, actions: &mut Actions<B>) {
        let mut closed = Vec::new();
        let offers = [Offer::Open, Offer::Lent, Offer::Old, Offer::Twin];
        let mut offered = offers.map(|offer| (offer, Vec::new()));
        for (page, offer) in std::mem::take(&mut self.offers) {
            let at_first = self.table.layout().stretch(page).0.home == self.me;
            let at_first = if at_first { Offer::Lent } else { Offer::Closed };
            let before = self.table.entry(page).offer.replace(offer);
            if before.unwrap_or(at_first) != Offer::Closed {
                closed.push(page);
            }
            let of_this = offered.iter_mut().find(|(each, _)| *each == offer);
            of_this.into_iter().for_each(|(_, pages)| pages.push(page));
        }
        let tell = |pages: &[PageId], offer| {
            let ranges = PageSet::from_sorted(pages);
            let ranges = ranges.ranges().iter();
            let told = ranges.map(|range| Action::Offer(*range, offer));
            told.collect::<Vec<_>>()
        };
        actions.splice(first..first, tell(&closed, Offer::Closed));
        for (offer, pages) in &offered {
            actions.extend(tell(pages, *offer));
        }
    }

    /// What a message asks for, if pages can be taken instead.
    pub(super) fn wants<'a>(&'a self, message: &'a Message<Content>) -> Option<Wanted<'a>> {
        let (epoch, pages, unless_said) = match message {
            Message::PagesWanted { epoch, pages } => (*epoch, *pages, Offer::Lent),
            Message::DiffsWanted { epoch, page, .. } => {
                let pending = self.pending.get(page)?;
                (!pending.based).then_some((*epoch, (*page).into(), Offer::Closed))?
            }
            _ => return None,
        };
        let whole = unless_said == Offer::Lent;
        let pinned = self.table.get(pages.first()).pinned;
        let may_be_lent = whole && self.is_between_barriers();
        let takes = self.is_direct() && (whole || !pinned);
        takes.then_some(Wanted {
            epoch,
            pages,
            need: &[],
            most: Some(&self.order.seen),
            borrows: may_be_lent && pinned,
            keeps: may_be_lent && !pinned,
            unless_said,
        })
    }

    /// The content of pages that comes next is borrowed.
    pub(super) fn borrow(&mut self, pages: PageRange) {
        for page in pages.iter() {
            if let Some(pending) = self.pending.get_mut(&page) {
                pending.borrowed = true;
                // Perhaps this node has learned something since it was copied.
                pending.returned = pending.outdated;
                self.borrowed.push(page);
            }
        }
    }

    /// This node learns of something: their owners may have written what is borrowed before
    /// that.
    pub(super) fn give_back(&mut self, actions: &mut Actions<B>) {
        for pending in self.pending.values_mut() {
            pending.outdated = true;
        }
        let mut borrowed = std::mem::take(&mut self.borrowed);
        borrowed.sort_unstable();
        borrowed.dedup();
        for page in borrowed {
            match self.pending.get_mut(&page) {
                Some(pending) => pending.returned = pending.borrowed,
                None => self.drop_pinned(page, actions),
            }
        }
    }

    /// Gives a borrowed page back, which may have been written here as well.
    pub(super) fn drop_pinned(&mut self, page: PageId, actions: &mut Actions<B>) {
        if self.table.get(page).state == State::Dirty {
            self.publish(actions);
        }
        if self.table.get(page).state == State::Valid {
            self.make_diff(page, actions);
            self.table.entry(page).state = State::Untouched;
            Action::protect(actions, page, Protection::None);
        }
    }

    /// Others keep copies of pages that I have written unwatched, some of them since.
    pub(super) fn were_kept(
        &mut self,
        pages: &PageSet,
        changed: &PageSet,
        actions: &mut Actions<B>,
    ) {
        let end = self.table.layout().pages();
        for page in pages.iter().take_while(|page| page.0 < end) {
            let changed = changed.contains(page);
            let entry = self.table.entry(page);
            match entry.state {
                State::Untouched if entry.owner != self.me => {}
                State::Untouched | State::Valid => {
                    entry.state = State::Valid;
                    if changed {
                        entry.state = State::Dirty;
                        self.dirty.push(page);
                    }
                    Action::protect(actions, page, Protection::Read);
                    self.offer(page, Offer::Open);
                }
                // I have learned at the same time that it was written elsewhere.
                State::Invalid | State::Pending if changed => {
                    self.dirty.push(page);
                    // What it is now has not been said.
                    self.offer(page, Offer::Closed);
                }
                _ => {}
            }
        }
        if !changed.is_empty() {
            // At once: if it went on, what several have taken could not be told by one diff.
            self.publish(actions);
        }
    }

    /// Pages were not taken as others were that were asked for together. What nobody
    /// waits for need not come.
    pub(super) fn were_left(&mut self, pages: PageRange, actions: &mut Actions<B>) {
        for page in pages.iter() {
            self.fetch_whole_again(page, actions);
        }
    }

    /// What has come of a page is of no use: asks its owner, if anybody waits for it.
    pub(super) fn fetch_whole_again(&mut self, page: PageId, actions: &mut Actions<B>) {
        let Some(pending) = self.pending.get_mut(&page) else {
            return;
        };
        self.missing.remove(&page);
        if pending.begin_again() {
            self.ask_owner(page.into(), actions);
        } else {
            self.pending.remove(&page);
            self.table.entry(page).state = State::Untouched;
        }
    }
}
