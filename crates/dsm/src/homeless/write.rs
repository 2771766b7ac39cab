//! Writes: twins, intervals, and what others wrote.

use super::{Actions, Homeless, State};
use crate::order::{Request, Version};
use crate::{Action, Notice, PageSet, Protection};
use fathomp_base::PageId;

impl<B: Clone> Homeless<B> {
    pub(super) fn make_writable(&mut self, page: PageId, actions: &mut Actions<B>) {
        self.make_diff(page, actions);
        self.table.entry(page).state = State::Dirty;
        self.dirty.push(page);
        actions.push(Action::Twin(page));
        Action::protect(actions, page, Protection::ReadWrite);
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
        if self.dirty.is_empty() {
            return None;
        }
        let interval = self.order.end_interval();
        let mut pages = std::mem::take(&mut self.dirty);
        pages.sort_unstable();
        pages.dedup();
        for &page in &pages {
            let version = (self.me, interval);
            self.note(page, version);
            let entry = self.table.entry(page);
            if entry.pinned && entry.owner == self.me {
                entry.served = false;
                continue;
            }
            entry.state = State::Valid;
            entry.twin = Some(interval);
            self.kept += 1;
            Action::protect(actions, page, Protection::Read);
        }
        let notice = Notice {
            writer: self.me,
            interval,
            pages: PageSet::from_sorted(&pages),
            foreseen: false,
        };
        self.own.push(notice.clone());
        Some(notice)
    }

    /// Ends the open interval outside any operation.
    pub(super) fn publish(&mut self, actions: &mut Actions<B>) {
        if let Some(notice) = self.end_interval(actions) {
            // Others learn of a node's intervals in their order.
            self.order.demanded(actions);
            self.order.exchange(Request::Publish, Some(notice), actions);
        }
    }

    /// Learns of others' intervals: pages that lack them become invalid.
    pub(super) fn learn(&mut self, notices: &[Notice], actions: &mut Actions<B>) {
        let seen = &mut self.order.seen;
        let news = notices.iter().filter(|n| seen.learn(n.writer, n.interval));
        let news: Vec<_> = news.cloned().collect();
        self.take_in(&news, actions);
    }

    /// Invalidates what was written in intervals that were not known before.
    pub(super) fn take_in(&mut self, news: &[Notice], actions: &mut Actions<B>) {
        let mut pinned = Vec::new();
        for notice in news {
            for page in notice.pages.iter() {
                self.invalidate(page, (notice.writer, notice.interval), actions);
                if self.is_mine(page) {
                    pinned.push(page);
                }
            }
        }
        // Threads do not fault at them.
        for page in pinned {
            self.fetch(page, actions);
        }
    }

    fn note(&mut self, page: PageId, version: Version) {
        self.history.entry(page).or_default().push(version);
        self.noted += 1;
    }

    fn invalidate(&mut self, page: PageId, version: Version, actions: &mut Actions<B>) {
        if self.table.get(page).state == State::Dirty {
            // Another thread writes it meanwhile. Its writes must not get lost,
            // and the others must hear of them although no release is near.
            self.publish(actions);
        }
        self.note(page, version);
        let mine = self.is_mine(page);
        let entry = *self.table.entry(page);
        if mine {
            self.missing.entry(page).or_default().push(version);
            return;
        }
        match entry.state {
            State::Valid => {
                if entry.pinned {
                    // Its owner's writes have no diffs.
                    self.make_diff(page, actions);
                    self.table.entry(page).state = State::Untouched;
                } else {
                    self.table.entry(page).state = State::Invalid;
                    self.missing.entry(page).or_default().push(version);
                }
                Action::protect(actions, page, Protection::None);
            }
            State::Invalid => self.missing.entry(page).or_default().push(version),
            State::Pending => self.outdate(page, version),
            // What is missing is found out when it has been fetched.
            State::Untouched | State::Dirty => {}
        }
    }
}
