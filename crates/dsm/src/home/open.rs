//! Pages that other nodes may take by themselves, at their home.
//!
//! A page that others have read is watched, and *open*: nodes that can read the home's
//! memory take it ([`crate::Wanted`]), keep it until they learn that it was written, and
//! nobody at the home is disturbed. A page that its home writes again and again costs a
//! fault each time; so after that it is not watched any more, and *lent*
//! ([`super::lend`]). If others cannot borrow, the home at least takes the copies back
//! at the barrier before it is about to write.

use super::page::State;
use super::{Actions, Home};
use crate::prefetch::Direction;
use crate::{Action, Body, Notice, Offer, PageSet, Protection};
use fathomp_base::PageId;

/// When a page is fetched and written at its home. Epochs are counted from 1 here, so
/// that 0 says that something is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Rhythm {
    /// The epoch of the first fetch since it was last written.
    fetched_in: u32,
    /// It was written since, as far as is known.
    fresh: bool,
    /// Epochs from the first fetch to when it was written again.
    returns_after: u8,
    /// How many times the home will take copies back without having seen that it
    /// writes the page.
    trust: u8,
    /// How often it was borrowed since it was watched last.
    loans: u16,
    /// Since this epoch it is watched, because it was borrowed often.
    watched_in: u32,
    /// After how many loans it is watched: after 16 of them times 4 to this power, which is -1
    /// or more.
    rarely: i8,
    /// In so many epochs after it was written it is watched, because somebody wants to
    /// keep it.
    kept: u8,
}

/// How many times a home that wrote a page after others had read it is believed to
/// do so again, before it is watched once more.
const TRUST: u8 = 32;

/// So many pages on each side of one that is lent are lent with it.
const AROUND: usize = 16;

/// How many times a page that was lent is watched after somebody asked for it.
const KEPT: u8 = 64;

/// How often a page is borrowed at least before its home watches whether it still writes it.
const LOANS: u16 = 4;

/// It was worth it to watch a page that was then not written for so many epochs: those who
/// read it need not have borrowed it in each.
const WORTH: u32 = 8;

impl Rhythm {
    /// Epochs from the first fetch to another epoch; 0 if they are too many.
    fn since_fetch(self, epoch: u32) -> u8 {
        let epochs = (epoch + 1).saturating_sub(self.fetched_in);
        u8::try_from(epochs).unwrap_or_default()
    }

    /// It is fetched.
    fn fetched(&mut self, epoch: u32) {
        if self.fetched_in == 0 || self.fresh && self.fetched_in <= epoch {
            self.fetched_in = epoch + 1;
        }
        self.fresh = false;
    }

    /// Its home writes it although others may have copies.
    fn rewritten(&mut self, epoch: u32) {
        let watched_in = std::mem::take(&mut self.watched_in);
        let was_worth_it = watched_in > 0 && epoch + 1 >= watched_in + WORTH;
        self.rarely = match was_worth_it {
            true => (self.rarely - 1).max(-1),
            false => (self.rarely + 1).min(3),
        };
        if !self.fresh {
            let after = self.since_fetch(epoch);
            // What comes now after so many epochs and now after others is not foreseen.
            let again = after == std::mem::replace(&mut self.returns_after, after);
            self.trust = if again { TRUST } else { 0 };
        }
        self.fresh = true;
    }

    /// It is borrowed. True if it is time to see whether its home still writes it.
    fn borrowed(&mut self) -> bool {
        self.loans += 1;
        let due = self.loans >= LOANS << (2 * (self.rarely + 1));
        if due {
            self.loans = 0;
        }
        due
    }
}

impl<B: Clone + Body> Home<B> {
    /// Whether others may take pages by themselves.
    pub(super) fn is_direct(&self) -> bool {
        self.config.direct && !self.config.loads_acquire
    }

    /// A page at home here is fetched.
    pub(super) fn note_fetch(&mut self, page: PageId) {
        let epoch = self.order.epoch;
        let entry = self.table.entry(page);
        entry.rhythm.fetched(epoch);
        if entry.offer == Offer::Lent {
            entry.rhythm.kept = KEPT;
        }
        if entry.rhythm.trust > 0 {
            self.served.push(page);
        }
        self.note_wanted(page);
    }

    /// Whether nobody has fetched a page from here, of those that may move.
    pub(super) fn is_fresh(&self, page: PageId) -> bool {
        let entry = self.table.get(page);
        self.config.migrate && !entry.pinned && entry.rhythm.fetched_in == 0
    }

    /// Others have taken pages.
    pub(super) fn were_taken(&mut self, pages: &PageSet) {
        let end = self.table.layout().pages();
        for page in pages.iter().take_while(|page| page.0 < end) {
            match self.table.get(page).offer {
                Offer::Open => self.note_fetch(page),
                Offer::Lent if self.table.get(page).pinned => {}
                Offer::Lent if self.table.entry(page).rhythm.borrowed() => self.probed.push(page),
                Offer::Lent | Offer::Closed => {}
                Offer::Reserved | Offer::Twinned | Offer::Updated => {}
            }
        }
    }

    /// A page at home here, of which others may have copies, is written.
    pub(super) fn note_rewrite(&mut self, page: PageId) {
        let epoch = self.order.epoch;
        self.table.entry(page).rhythm.rewritten(epoch);
    }

    /// Others may take a page at home here: once its writes are noticed, or to give it
    /// back if they never are.
    fn open(&mut self, page: PageId) {
        if self.table.get(page).pinned {
            self.lend(page);
        } else if self.offer(page, Offer::Open) {
            self.opened.push(page);
        }
    }

    /// Others must not keep a page any more when its writes are not noticed.
    pub(super) fn lend(&mut self, page: PageId) {
        if self.offer(page, Offer::Lent) {
            self.lent.push(page);
        }
    }

    /// The same for a page and those at home here around it of which nobody else has a
    /// copy: others will want them as well.
    fn lend_around(&mut self, page: PageId) {
        self.lend(page);
        if !self.is_direct() {
            return;
        }
        for way in [Direction::Up, Direction::Down] {
            let behind = std::iter::successors(way.behind(page), |next| way.behind(*next));
            for next in behind.take(AROUND) {
                if !self.exists(next) {
                    break;
                }
                let entry = self.table.get(next);
                if entry.home != self.me || entry.pinned {
                    continue;
                }
                if entry.offer != Offer::Closed || entry.state != State::Untouched {
                    break;
                }
                self.lend(next);
            }
        }
    }

    /// Others must not take a page any more.
    pub(super) fn close(&mut self, page: PageId) {
        if self.offer(page, Offer::Closed) {
            self.closed.push(page);
        }
    }

    /// True if that is new.
    pub(super) fn offer(&mut self, page: PageId, offer: Offer) -> bool {
        self.is_direct() && std::mem::replace(&mut self.table.entry(page).offer, offer) != offer
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
    /// change whether writes are noticed.
    pub(super) fn tell_offers(&mut self, first: usize, actions: &mut Actions<B>) {
        let tell = |pages: &mut Vec<PageId>, offer| {
            // What was written comes first, then what is watched to see if it will be.
            pages.sort_unstable();
            let ranges = PageSet::from_sorted(pages);
            pages.clear();
            let ranges = ranges.ranges().iter();
            ranges
                .map(|range| Action::Offer(*range, offer))
                .collect::<Vec<_>>()
        };
        let closed = tell(&mut self.closed, Offer::Closed);
        let lent = tell(&mut self.lent, Offer::Lent);
        actions.splice(first..first, closed.into_iter().chain(lent));
        actions.extend(tell(&mut self.opened, Offer::Open));
    }

    /// An epoch is over, and nobody else has a copy of a page at home here: it was
    /// written in it, or, if that is foreseen, will be in the next.
    pub(super) fn settle_page(&mut self, page: PageId, foreseen: bool, actions: &mut Actions<B>) {
        let entry = self.table.entry(page);
        if entry.state == State::Dirty {
            actions.push(Action::DropTwin(page));
        }
        entry.rhythm.fresh = true;
        entry.state = State::Untouched;
        match entry.rhythm.kept.checked_sub(1) {
            None => {
                self.lend_around(page);
                Action::protect(actions, page, self.alone());
            }
            Some(_) if foreseen => {
                self.written_next.push(page);
                self.lend(page);
                Action::protect(actions, page, self.alone());
            }
            Some(kept) => {
                entry.rhythm.kept = kept;
                self.watch(page, actions);
            }
        }
    }

    /// Pages were to be written in the epoch that is over, unnoticed, and somebody wants to
    /// keep them afterwards.
    pub(super) fn watch_again(&mut self, pages: Vec<PageId>, actions: &mut Actions<B>) {
        for page in pages {
            let entry = self.table.entry(page);
            if entry.home == self.me && entry.state == State::Untouched {
                entry.rhythm.kept = entry.rhythm.kept.saturating_sub(1);
                self.watch(page, actions);
            }
        }
    }

    /// Watches pages that were borrowed often, to see whether they are still written
    /// here.
    pub(super) fn probe(&mut self, actions: &mut Actions<B>) {
        let mut probed = std::mem::take(&mut self.probed);
        probed.sort_unstable();
        let epoch = self.order.epoch;
        for page in probed {
            let entry = self.table.entry(page);
            if entry.home == self.me && entry.state == State::Untouched {
                entry.rhythm.trust = 0;
                entry.rhythm.watched_in = epoch + 1;
                self.watch(page, actions);
            }
        }
    }

    pub(super) fn watch(&mut self, page: PageId, actions: &mut Actions<B>) {
        let entry = self.table.entry(page);
        entry.state = State::Shared;
        Action::protect(actions, page, Protection::Watched);
        self.open(page);
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
            late: false,
            first: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_taken_back_when_it_was_written_the_last_time() {
        let mut rhythm = Rhythm::default();
        rhythm.fetched(10);
        rhythm.fetched(12);
        rhythm.rewritten(13);
        assert_eq!((rhythm.returns_after, rhythm.trust), (3, 0));
        // Fetched again in the same epoch: the same round.
        rhythm.fetched(13);
        assert_eq!(rhythm.fetched_in, 14);
        for (written, trust) in [(16, TRUST), (18, 0), (20, TRUST)] {
            rhythm.rewritten(written);
            assert_eq!(rhythm.trust, trust);
            rhythm.fetched(written);
        }
    }

    /// After how many loans a page is watched, five times in turn, if its home writes it so
    /// many epochs later.
    fn loans(rhythm: &mut Rhythm, epochs: u32) -> Vec<u32> {
        let mut loans = || {
            let due = (1..).find(|_| rhythm.borrowed());
            rhythm.watched_in = 100;
            rhythm.rewritten(99 + epochs);
            due
        };
        (0..5).filter_map(|_| loans()).collect()
    }

    #[test]
    fn what_is_written_each_time_is_watched_ever_more_rarely() {
        let mut rhythm = Rhythm::default();
        assert_eq!(loans(&mut rhythm, WORTH - 1), [16, 64, 256, 1024, 1024]);
        assert_eq!(loans(&mut rhythm, WORTH), [1024, 256, 64, 16, 4]);
        assert_eq!(loans(&mut rhythm, WORTH), [4; 5]);
    }
}
