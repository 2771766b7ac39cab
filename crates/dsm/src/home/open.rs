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

/// When a page is fetched and written at its home. Epochs are counted from 1 here, so
/// that 0 says that something is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Rhythm {
    /// The epoch of the first fetch since it was last written.
    fetched_in: u32,
    /// It was written since, as far as is known.
    fresh: bool,
    /// Epochs between first fetches: the last ones, and those before.
    gaps: [u8; 2],
    /// They take turns: the page is fetched in two phases of a program's round.
    alternates: bool,
    /// Epochs from the first fetch to when it was written again.
    returns_after: u8,
    /// How many times the home will take copies back without having seen that it
    /// writes the page.
    trust: u8,
    /// The epoch in which it is to be opened.
    due: u32,
    /// The last time it was opened nobody came for it.
    in_vain: bool,
}

/// How many times a home that wrote a page after others had read it is believed to
/// do so again, before it is watched once more.
const TRUST: u8 = 32;

impl Rhythm {
    /// Epochs from the first fetch to another epoch; 0 if they are too many.
    fn since_fetch(self, epoch: u32) -> u8 {
        let epochs = (epoch + 1).saturating_sub(self.fetched_in);
        u8::try_from(epochs).unwrap_or_default()
    }

    /// The same from when it was opened, if it has not been fetched since.
    fn since_opened(mut self, epoch: u32) -> u8 {
        if self.fresh {
            self.fetched_in = self.due + 1;
        }
        self.since_fetch(epoch)
    }

    /// It is fetched.
    fn fetched(&mut self, epoch: u32) {
        if self.fetched_in == 0 || self.fresh && self.fetched_in <= epoch {
            self.begin_round(epoch);
        }
        self.fresh = false;
        self.in_vain = false;
    }

    fn begin_round(&mut self, epoch: u32) {
        if self.fetched_in > 0 {
            let gap = self.since_fetch(epoch);
            let [last, before] = self.gaps;
            self.alternates = gap == before && gap != last;
            self.gaps = [gap, last];
        }
        self.fetched_in = epoch + 1;
    }

    /// Its home writes it although others may have copies.
    fn rewritten(&mut self, epoch: u32) {
        self.trust = TRUST;
        if self.fresh && self.fetched_in <= epoch {
            // It was opened, and nobody has come for it. Perhaps in the next round.
            self.begin_round(self.due);
            if std::mem::replace(&mut self.in_vain, true) {
                self.gaps = [0, 0];
            }
        } else {
            self.returns_after = self.since_fetch(epoch);
        }
        self.fresh = true;
    }

    /// The epoch in which it is likely to be fetched next, if that is known and not
    /// before `epoch`.
    fn next_fetch(self, epoch: u32) -> Option<u32> {
        let gap = self.gaps[usize::from(self.alternates)];
        let next = self.fetched_in.checked_add(gap.into())?.checked_sub(1)?;
        (gap > 0 && next >= epoch).then_some(next)
    }
}

impl<B: Clone> Home<B> {
    /// Whether others may take pages by themselves.
    pub(super) fn is_direct(&self) -> bool {
        self.config.direct && !self.config.loads_acquire
    }

    /// A page at home here is fetched.
    pub(super) fn note_fetch(&mut self, page: PageId) {
        let epoch = self.order.epoch;
        let entry = self.table.entry(page);
        entry.rhythm.fetched(epoch);
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
        self.table.entry(page).rhythm.rewritten(epoch);
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
            // What was written comes first, then what is due.
            pages.sort_unstable();
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

    /// The home of a page has moved to another node.
    pub(super) fn leave_home(&mut self, page: PageId) {
        self.close(page);
        self.table.entry(page).rhythm.due = 0;
    }

    /// An epoch is over, and nobody else has a copy of a page at home here: it was
    /// written in it, or will be in the next.
    pub(super) fn settle_page(&mut self, page: PageId, actions: &mut Actions<B>) {
        let direct = self.is_direct();
        let next = self.order.epoch + 1;
        let entry = self.table.entry(page);
        if entry.state == State::Dirty {
            actions.push(Action::DropTwin(page));
        }
        if entry.open && entry.rhythm.fresh && entry.rhythm.fetched_in <= entry.rhythm.due {
            // Taken back, and nobody has come for it.
            entry.rhythm.begin_round(entry.rhythm.due);
        }
        entry.rhythm.fresh = true;
        let due = entry.rhythm.next_fetch(next).filter(|_| direct);
        entry.rhythm.due = due.unwrap_or_default();
        if due == Some(next) {
            self.watch_and_open(page, actions);
            return;
        }
        entry.state = State::Untouched;
        if let Some(due) = due {
            self.due.entry(due).or_default().push(page);
        }
        self.close(page);
        Action::protect(actions, page, self.alone());
    }

    fn watch_and_open(&mut self, page: PageId, actions: &mut Actions<B>) {
        let entry = self.table.entry(page);
        entry.state = State::Shared;
        if entry.rhythm.trust > 0 {
            self.served.push(page);
        }
        Action::protect(actions, page, Protection::Watched);
        self.open(page);
    }

    /// Opens what is likely to be fetched in the epoch that begins.
    pub(super) fn open_due(&mut self, actions: &mut Actions<B>) {
        let next = self.order.epoch + 1;
        let mut due = self.due.remove(&next).unwrap_or_default();
        due.retain(|page| {
            let entry = self.table.get(*page);
            let here = entry.home == self.me && entry.state == State::Untouched;
            here && entry.rhythm.due == next
        });
        due.sort_unstable();
        for page in due {
            self.watch_and_open(page, actions);
        }
    }

    /// Pages that others have read, or may have, and that are likely to be written here
    /// next: if nobody keeps a copy, the writes need not be noticed.
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
            if rhythm.since_opened(next) < rhythm.returns_after {
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
            late: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_fetch_comes_as_the_last_ones_did() {
        let mut rhythm = Rhythm::default();
        rhythm.fetched(0);
        assert_eq!(rhythm.next_fetch(1), None);
        rhythm.fresh = true;
        rhythm.fetched(5);
        rhythm.fresh = true;
        assert_eq!(rhythm.next_fetch(6), Some(10));
        assert_eq!(rhythm.next_fetch(11), None);
        // Two phases: 5 and 2 epochs apart.
        for (epoch, next) in [(7, 9), (12, 14), (14, 19), (19, 21)] {
            rhythm.fetched(epoch);
            rhythm.fresh = true;
            assert_eq!(rhythm.next_fetch(epoch + 1), Some(next));
        }
        // Nobody comes, and it is written again; and so in the next round.
        rhythm.due = 21;
        rhythm.rewritten(21);
        assert_eq!(rhythm.next_fetch(22), Some(26));
        rhythm.due = 26;
        rhythm.rewritten(26);
        assert_eq!(rhythm.next_fetch(27), None);
    }

    #[test]
    fn copies_are_taken_back_when_it_was_written_the_last_time() {
        let mut rhythm = Rhythm::default();
        rhythm.fetched(10);
        rhythm.fetched(12);
        rhythm.rewritten(13);
        assert_eq!((rhythm.returns_after, rhythm.trust), (3, TRUST));
        // Fetched again in the same epoch: the same round.
        rhythm.fetched(13);
        assert_eq!(rhythm.fetched_in, 14);
    }
}
