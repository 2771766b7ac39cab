//! Writes: twins, intervals, and what others wrote.

use super::{Actions, Homeless, State};
use crate::area::Place;
use crate::order::{Request, Version};
use crate::{Action, Notice, Offer, PageRange, PageSet, Protection, Violation};
use fathomp_base::PageId;

impl<B: Clone> Homeless<B> {
    pub(super) fn make_writable(&mut self, page: PageId, actions: &mut Actions<B>) {
        self.make_diff(page, actions);
        actions.push(Action::Twin(page));
        self.make_dirty(page, actions);
    }

    /// A page with a twin is written.
    pub(super) fn make_dirty(&mut self, page: PageId, actions: &mut Actions<B>) {
        let entry = self.table.entry(page);
        entry.state = State::Dirty;
        entry.rewritten = true;
        self.dirty.push(page);
        Action::protect(actions, page, Protection::ReadWrite);
        self.offer_twin(page);
    }

    /// Makes the diff of an interval that has ended, if that was not needed
    /// before: the page or its twin is about to change.
    pub(super) fn make_diff(&mut self, page: PageId, actions: &mut Actions<B>) {
        if let Some(interval) = self.table.entry(page).twin.take() {
            actions.push(Action::Keep(page, interval));
        }
    }

    /// Ends the open interval if anything was written in it. Returns the notice
    /// that others have to be told.
    pub(super) fn end_interval(&mut self, actions: &mut Actions<B>) -> Option<Notice> {
        self.end(false, actions)
    }

    fn end(&mut self, late: bool, actions: &mut Actions<B>) -> Option<Notice> {
        if self.dirty.is_empty() {
            return None;
        }
        let interval = self.order.end_interval();
        let mut pages = std::mem::take(&mut self.dirty);
        pages.sort_unstable();
        pages.dedup();
        let set = PageSet::from_sorted(&pages);
        self.note(&set, (self.me, interval));
        for page in pages {
            let entry = self.table.entry(page);
            if entry.pinned && entry.owner == self.me {
                entry.served = false;
                continue;
            }
            self.kept += 1;
            if entry.state != State::Dirty {
                // Written before it became invalid, see `were_kept`.
                actions.push(Action::Keep(page, interval));
                continue;
            }
            entry.state = State::Valid;
            entry.twin = Some(interval);
            Action::protect(actions, page, Protection::Read);
            self.offer(page, Offer::Open);
        }
        let notice = Notice {
            writer: self.me,
            interval,
            pages: set,
            foreseen: false,
            late,
            first: false,
        };
        if self.order.is_root() && self.order.is_at_barrier() {
            // It may end before the sequencer takes this in, which is on its own way there.
            self.order.wrote_more(vec![notice.clone()]);
        }
        self.own.push(notice.clone());
        Some(notice)
    }

    /// Ends the open interval outside any operation.
    pub(super) fn publish(&mut self, actions: &mut Actions<B>) {
        self.publish_as(false, actions);
    }

    /// A barrier is over that has not told what threads which take no part in
    /// barriers wrote while their node was at it: says so, and ends their interval.
    pub(super) fn publish_late(&mut self, actions: &mut Actions<B>) {
        let (own, told) = (self.own.iter_mut(), &self.told);
        own.filter(|notice| !told.covers(notice.writer, notice.interval))
            .for_each(|notice| notice.late = true);
        let is_open = |page: &PageId| self.table.get(*page).state == State::Dirty;
        if self.dirty.iter().any(is_open) {
            self.publish_as(true, actions);
        }
    }

    fn publish_as(&mut self, late: bool, actions: &mut Actions<B>) {
        if let Some(notice) = self.end(late, actions) {
            // Others learn of a node's intervals in their order.
            self.order.demanded(actions);
            self.order.exchange(Request::Publish, Some(notice), actions);
        }
    }

    /// Learns of others' intervals: pages that lack them become invalid.
    pub(super) fn learn(
        &mut self,
        notices: &[Notice],
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let seen = &mut self.order.seen;
        let news = notices.iter().filter(|n| seen.learn(n.writer, n.interval));
        let news: Vec<_> = news.cloned().collect();
        self.take_in(&news, actions)
    }

    /// Invalidates what was written in intervals that were not known before.
    pub(super) fn take_in(
        &mut self,
        news: &[Notice],
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let mut pinned = Vec::new();
        for notice in news {
            let version = (notice.writer, notice.interval);
            if self.writes_any_of(&notice.pages) {
                // Another thread writes them meanwhile. Its writes must not get lost,
                // and the others must hear of them although no release is near.
                self.publish(actions);
            }
            self.note(&notice.pages, version);
            for range in notice.pages.ranges() {
                self.invalidate(*range, version, &mut pinned, actions)?;
            }
        }
        // Threads do not fault at them.
        for page in pinned {
            self.fetch(page, actions);
        }
        Ok(())
    }

    fn note(&mut self, pages: &PageSet, version: Version) {
        for range in pages.ranges() {
            self.history
                .change(*range, &Vec::new(), |versions| versions.push(version));
            self.noted += u64::from(range.len());
        }
    }

    /// True if the open interval writes one of `pages`.
    fn writes_any_of(&self, pages: &PageSet) -> bool {
        let dirty = |page: &PageId| self.table.get(*page).state == State::Dirty;
        self.dirty.iter().any(|p| pages.contains(*p) && dirty(p))
    }

    /// Nothing that this node knows of `pages` lacks `version` unnoticed.
    fn invalidate(
        &mut self,
        pages: PageRange,
        version: Version,
        pinned: &mut Vec<PageId>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let me = self.me;
        let is_mine = |place: Place| place.pinned && place.home == me;
        let mut left = Some(pages);
        while let Some(pages) = left
            && let Some(page) = self.table.known(pages, is_mine)
        {
            if self.is_mine(page) {
                self.missing.entry(page).or_default().push(version);
                self.offer(page, Offer::Closed);
                pinned.push(page);
            } else {
                self.invalidate_page(page, version, actions)?;
            }
            (_, left) = pages.split(page.0 - pages.first().0 + 1);
        }
        Ok(())
    }

    fn invalidate_page(
        &mut self,
        page: PageId,
        version: Version,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let entry = *self.table.entry(page);
        match entry.state {
            // Its owner's writes have no diffs.
            State::Valid if entry.pinned => self.drop_pinned(page, actions),
            State::Valid => {
                self.table.entry(page).state = State::Invalid;
                self.missing.entry(page).or_default().push(version);
                self.offer_old(page);
                Action::protect(actions, page, Protection::None);
            }
            State::Invalid => self.missing.entry(page).or_default().push(version),
            State::Pending => self.outdate(page, version),
            State::Untouched if entry.owner == self.me => self.lose(page, version, actions),
            // What is missing is found out when it has been fetched.
            State::Untouched | State::Dirty => {}
            // Told before, see `asks_for_writes` and `expects_writes`.
            State::Expected => {
                let what = "news of a page that may have been written unnoticed";
                return Err(Violation::Runtime(what));
            }
        }
        Ok(())
    }
}
