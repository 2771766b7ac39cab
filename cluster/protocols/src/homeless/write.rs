//! Writes: twins, intervals, and what others wrote.

use super::{Actions, Homeless, State};
use crate::area::Place;
use crate::message::Request;
use crate::order::Version;
use crate::{Action, PageRange, PageSet, Protection, WriteNotice};
use fathomp_types::PageId;

/// What is to be done once it is known which pages have become invalid.
#[derive(Default)]
struct Outdated {
    /// Diffs of these have to be made.
    closed: Vec<PageId>,
    /// These are pinned here: threads do not fault at them.
    pinned: Vec<PageId>,
}

impl<B> Homeless<B> {
    /// Lets threads write a page that is valid here: from now on a twin tells what they write.
    pub(super) fn make_writable(&mut self, page: PageId, actions: &mut Actions<B>) {
        self.note_written(page);
        self.make_diff(page, actions);
        actions.push(Action::Twin(page));
        self.table.entry(page).state = State::Writable;
        self.unnamed.push(page);
        Action::protect(actions, page, Protection::ReadWrite);
    }

    /// Makes the diff of what was written since a page's twin was made, if an interval has
    /// ended since. From now on the next write is a fault.
    pub(super) fn close(&mut self, page: PageId, actions: &mut Actions<B>) {
        let entry = self.table.entry(page);
        if entry.twin.is_some() && entry.state == State::Writable {
            entry.state = State::Valid;
            Action::protect(actions, page, Protection::Read);
        }
        self.make_diff(page, actions);
    }

    /// The same of a page that is not writable.
    pub(super) fn make_diff(&mut self, page: PageId, actions: &mut Actions<B>) {
        let entry = self.table.entry(page);
        if let Some(interval) = entry.twin.take() {
            debug_assert!(self.diffs.contains(&(page, interval)), "an unknown diff");
            actions.push(Action::StoreDiff(page, (self.me, interval)));
        }
    }

    /// Forbids writes to all pages that have a twin, of which an interval has named all; diffs
    /// are made when they are needed.
    pub(super) fn forbid_writes(&mut self, actions: &mut Actions<B>) {
        for (page, _) in &self.diffs {
            let entry = self.table.entry(*page);
            if entry.state == State::Writable {
                entry.state = State::Valid;
                Action::protect(actions, *page, Protection::Read);
            }
        }
    }

    /// Ends the open interval if there is anything to be told of it. Returns the notice
    /// that others have to be told.
    pub(super) fn end_interval(&mut self, actions: &mut Actions<B>) -> Option<WriteNotice> {
        self.end(false, actions)
    }

    fn end(&mut self, late: bool, actions: &mut Actions<B>) -> Option<WriteNotice> {
        if self.unnamed.is_empty() {
            return None;
        }
        let interval = self.order.end_interval();
        let mut pages = std::mem::take(&mut self.unnamed);
        pages.sort_unstable();
        let set = PageSet::from_sorted(&pages);
        self.note(&set, (self.me, interval));
        for page in pages {
            let entry = self.table.entry(page);
            if entry.pinned && entry.owner == self.me {
                entry.served = false;
                continue;
            }
            entry.twin = Some(interval);
            self.diffs.insert((page, interval));
            if !self.config.keeps_writable() {
                // A diff must not show what is written after the interval.
                entry.state = State::Valid;
                Action::protect(actions, page, Protection::Read);
            }
        }
        let notice = WriteNotice {
            writer: self.me,
            interval,
            pages: set,
            recalls: false,
            late,
            first: false,
            knew: self.known_now(),
        };
        self.stamp(&notice, self.order.epoch);
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
        let was_written = |page: &PageId| self.table.get(*page).state == State::Writable;
        if self.unnamed.iter().any(was_written) {
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
    pub(super) fn learn(&mut self, notices: &[WriteNotice], actions: &mut Actions<B>) {
        if self.config.hands_on() {
            self.publish_before(notices, actions);
        }
        let seen = &mut self.order.seen;
        let news = notices.iter().filter(|n| seen.learn(n.writer, n.interval));
        let news: Vec<_> = news.cloned().collect();
        self.take_in(&news, self.order.epoch, actions);
    }

    /// Invalidates what was written in intervals of an epoch that were not known before.
    pub(super) fn take_in(&mut self, news: &[WriteNotice], epoch: u32, actions: &mut Actions<B>) {
        let mut outdated = Outdated::default();
        for notice in news {
            let version = (notice.writer, notice.interval);
            if self.writes_any_of(&notice.pages) {
                // Another thread writes them meanwhile. Its writes must not get lost,
                // and the others must hear of them although no release is near.
                self.publish(actions);
            }
            self.note(&notice.pages, version);
            self.stamp(notice, epoch);
            for range in notice.pages.ranges() {
                self.invalidate(*range, version, &mut outdated, actions);
            }
        }
        for page in outdated.closed {
            self.make_diff(page, actions);
        }
        for page in outdated.pinned {
            self.fetch(page, actions);
        }
        if !news.is_empty() {
            self.forget_what_is_known();
        }
    }

    fn note(&mut self, pages: &PageSet, version: Version) {
        for range in pages.ranges() {
            self.history
                .change(*range, &Vec::new(), |versions| versions.push(version));
            self.noted += u64::from(range.len());
        }
    }

    /// True if the open interval is the first that writes one of `pages`.
    pub(super) fn writes_any_of(&self, pages: &PageSet) -> bool {
        let writable = |page: &PageId| self.table.get(*page).state == State::Writable;
        let mut unnamed = self.unnamed.iter();
        unnamed.any(|page| pages.contains(*page) && writable(page))
    }

    /// Nothing that this node knows of `pages` lacks `version` unnoticed.
    fn invalidate(
        &mut self,
        pages: PageRange,
        version: Version,
        outdated: &mut Outdated,
        actions: &mut Actions<B>,
    ) {
        let me = self.me;
        let is_mine = |place: Place| place.pinned && place.home == me;
        for page in self.table.known(pages, is_mine) {
            if self.is_mine(page) {
                self.missing.entry(page).or_default().push(version);
                outdated.pinned.push(page);
            } else {
                self.invalidate_page(page, version, outdated, actions);
            }
        }
    }

    fn invalidate_page(
        &mut self,
        page: PageId,
        version: Version,
        outdated: &mut Outdated,
        actions: &mut Actions<B>,
    ) {
        let entry = *self.table.entry(page);
        let state = match entry.state {
            // Its owner's writes have no diffs: it is fetched whole the next time.
            State::Valid | State::Held | State::Writable if entry.pinned => State::Untouched,
            State::Valid | State::Held | State::Writable => State::Invalid,
            State::Untouched if entry.owner == self.me => {
                self.stop_writing_unwatched(actions);
                State::Invalid
            }
            // What is missing is found out when it has been fetched.
            State::Untouched => return,
            State::Pending => return self.outdate(page, version),
            State::Invalid => State::Invalid,
        };
        if entry.state != State::Invalid {
            self.table.entry(page).state = state;
            Action::protect(actions, page, Protection::None);
            outdated.closed.push(page);
        }
        if state == State::Invalid {
            self.missing.entry(page).or_default().push(version);
        }
    }
}
