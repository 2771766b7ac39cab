//! A page's rhythm at its home, and what follows from it.
//!
//! A page is written in some epochs, then fetched in some, then written again. While
//! it is written, nobody else has a copy and its home need not notice. When it is
//! about to be fetched, the home watches it and *opens* it: other nodes that can read
//! the home's memory take it by themselves ([`crate::Wanted`]), and nobody at the home
//! is disturbed. When it is about to be written, the home takes the copies back.

use super::page::State;
use super::{Actions, Home};
use crate::{Action, Notice, PageSet, Protection};
use fathomp_base::PageId;

/// What is known of a page at its home.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Rhythm {
    /// Epochs in which it was written since it was last fetched.
    written: u8,
    /// The same when it was fetched: then it will be fetched again. 0 if that is not
    /// known.
    opens_after: u8,
    /// The epoch of the first fetch since it was written, plus one.
    fetched_in: u32,
    /// Epochs from that one to the one in which it was written again.
    returns_after: u8,
    /// How many times the home will take copies back without having seen that it
    /// writes the page.
    trust: u8,
}

/// How many times a home that wrote a page after others had read it is believed to
/// do so again, before it is watched once more.
const TRUST: u8 = 8;

impl Rhythm {
    /// Epochs from the first fetch to another epoch.
    fn since_fetch(self, epoch: u32) -> u8 {
        let epochs = (epoch + 1).saturating_sub(self.fetched_in);
        u8::try_from(epochs).unwrap_or(u8::MAX)
    }

    /// It was fetched in an epoch; `alone`: nobody had a copy.
    fn fetched(&mut self, epoch: u32, alone: bool) {
        if self.written > 0 || self.fetched_in == 0 {
            self.opens_after = self.written;
            self.written = 0;
            self.fetched_in = epoch + 1;
        } else if alone {
            // Its copies had been taken back too early.
            self.returns_after = self.since_fetch(epoch);
        }
    }

    /// Its home writes it although others may have copies.
    fn surprised(&mut self, epoch: u32) {
        self.trust = TRUST;
        if self.written == 0 {
            self.returns_after = self.since_fetch(epoch);
        } else {
            // It was opened too early: nobody has come for it.
            let later = self.written.checked_mul(2);
            self.opens_after = later.and_then(|n| n.checked_add(1)).unwrap_or(0);
        }
    }

    /// An epoch in which it was written is over. Whether it is about to be fetched.
    fn is_due(&mut self) -> bool {
        self.written = self.written.saturating_add(1);
        self.opens_after > 0 && self.written >= self.opens_after
    }
}

impl<B: Clone> Home<B> {
    /// Whether others may take pages by themselves.
    pub(super) fn is_direct(&self) -> bool {
        self.config.direct
    }

    /// A page at home here is fetched.
    pub(super) fn note_fetch(&mut self, page: PageId) {
        let epoch = self.order.epoch;
        let entry = self.table.entry(page);
        entry.rhythm.fetched(epoch, entry.state == State::Untouched);
        if entry.rhythm.trust > 0 {
            self.served.push(page);
        }
    }

    /// Others have taken pages.
    pub(super) fn were_taken(&mut self, pages: &PageSet) {
        for page in pages.iter() {
            let exists = page.0 < self.table.layout().pages();
            if exists && self.table.get(page).open {
                self.note_fetch(page);
            }
        }
    }

    /// A page at home here, of which others may have copies, is written.
    pub(super) fn note_rewrite(&mut self, page: PageId) {
        let epoch = self.order.epoch;
        self.table.entry(page).rhythm.surprised(epoch);
    }

    /// Others may take a page at home here once its writes are noticed.
    pub(super) fn open(&mut self, page: PageId) {
        let direct = self.is_direct();
        let entry = self.table.entry(page);
        if direct && !entry.pinned && !std::mem::replace(&mut entry.open, true) {
            self.opened.push(page);
        }
    }

    /// Others must not take a page any more when its writes are not noticed.
    fn close(&mut self, page: PageId) {
        if std::mem::take(&mut self.table.entry(page).open) {
            self.closed.push(page);
        }
    }

    /// Tells others which pages they may take. `first`: where the actions begin that
    /// change whether writes are noticed.
    pub(super) fn tell_opened(&mut self, first: usize, actions: &mut Actions<B>) {
        let ranges = |pages: &mut Vec<PageId>| {
            let ranges = PageSet::from_sorted(pages);
            pages.clear();
            ranges
        };
        let closed = ranges(&mut self.closed);
        let closed = closed.ranges().iter().copied().map(Action::Close);
        actions.splice(first..first, closed);
        let opened = ranges(&mut self.opened);
        actions.extend(opened.ranges().iter().copied().map(Action::Open));
    }

    /// The home of a page moves to another node.
    pub(super) fn leave_home(&mut self, page: PageId) {
        self.close(page);
        self.table.entry(page).rhythm.written = 0;
    }

    /// An epoch is over, and nobody else has a copy of a page at home here. It was
    /// written in it, unless it was taken back.
    pub(super) fn settle_page(&mut self, page: PageId, written: bool, actions: &mut Actions<B>) {
        let direct = self.is_direct();
        let entry = self.table.entry(page);
        if written && entry.rhythm.is_due() && direct {
            entry.state = State::Shared;
            Action::protect(actions, page, Protection::Watched);
            self.open(page);
        } else {
            entry.state = State::Untouched;
            self.close(page);
            Action::protect(actions, page, self.alone());
        }
    }

    /// Pages that others have read and that are likely to be written here next:
    /// if nobody keeps a copy, the writes need not be noticed.
    pub(super) fn take_back(&mut self) -> Option<Notice> {
        let mut served = std::mem::take(&mut self.served);
        served.sort_unstable();
        served.dedup();
        if !self.config.expect_writes {
            return None;
        }
        let next = self.order.epoch + 1;
        let mut pages = Vec::new();
        for page in served {
            let entry = self.table.entry(page);
            let rhythm = &mut entry.rhythm;
            if entry.state != State::Shared || rhythm.trust == 0 {
                continue;
            }
            if rhythm.since_fetch(next) < rhythm.returns_after {
                self.served.push(page);
                continue;
            }
            rhythm.trust -= 1;
            pages.push(page);
        }
        (!pages.is_empty()).then(|| Notice {
            writer: self.me,
            interval: self.order.interval,
            pages: PageSet::from_sorted(&pages),
            foreseen: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_opens_when_it_was_fetched_the_last_time() {
        let mut rhythm = Rhythm::default();
        // Written in two epochs, then fetched, again and again.
        assert!(!rhythm.is_due() && !rhythm.is_due());
        rhythm.fetched(2, true);
        assert!(!rhythm.is_due() && rhythm.is_due());
        rhythm.fetched(5, false);
        assert!(!rhythm.is_due() && rhythm.is_due());
        // Nobody comes, and it is written once more.
        rhythm.surprised(8);
        assert!((3..5).all(|_| !rhythm.is_due()));
        assert!(rhythm.is_due());
    }

    #[test]
    fn copies_are_taken_back_when_it_was_written_the_last_time() {
        let mut rhythm = Rhythm::default();
        assert!(!rhythm.is_due());
        rhythm.fetched(10, true);
        rhythm.fetched(12, false);
        rhythm.surprised(13);
        assert_eq!((rhythm.returns_after, rhythm.trust), (3, TRUST));
        // Taken back too early.
        rhythm.returns_after = 1;
        rhythm.fetched(12, true);
        assert_eq!(rhythm.returns_after, 2);
    }
}
