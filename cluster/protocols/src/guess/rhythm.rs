//! When a page is written at its home, when others fetch it, and what follows for the time
//! after a barrier.
//!
//! A page that others have read is watched, and others keep copies of it until they learn that
//! it was written. A page that its home writes again and again costs a fault each time; so
//! after that it is not watched any more but lent. Where others cannot borrow, the home at least
//! takes the copies back at the barrier before it is about to write.

use super::direction::Direction;
use super::habits::Habits;
use super::{Afterwards, Settled, View};
use crate::Offer;
use crate::state::State;
use fathomp_types::PageId;

/// How many times a home that wrote a page after others had read it is believed to
/// do so again, before it is watched once more.
const TRUST: u8 = 32;

/// So many pages on each side of one that is lent are lent with it.
const AROUND: usize = 16;

/// How many times a page that was lent is watched after a node asked for it to keep it.
const KEPT: u8 = 64;

/// How often a page is borrowed at least before its home watches whether it still writes it.
const LOANS: u16 = 4;

/// It was worth it to watch a page that was then not written for so many epochs: nodes that
/// read it need not have borrowed it in each.
const WORTH: u32 = 8;

/// For so many epochs a page is offered to be updated, before its home writes it unnoticed
/// again.
const UPDATED: u32 = 16;

/// When a page is fetched and written at its home. Epochs are counted from 1 here, so
/// that 0 says that something is not known.
#[derive(Clone, Copy, Debug, Default)]
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
    /// It is watched after 16 loans times 4 to this power, which is -1 or more.
    probe_backoff: i8,
    /// In so many more epochs after it was written it is watched, because another node wants
    /// to keep it.
    kept: u8,
}

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
    pub(super) fn rewritten(&mut self, epoch: u32) {
        let watched_in = std::mem::take(&mut self.watched_in);
        let was_worth_it = watched_in > 0 && epoch + 1 >= watched_in + WORTH;
        self.probe_backoff = match was_worth_it {
            true => (self.probe_backoff - 1).max(-1),
            false => (self.probe_backoff + 1).min(3),
        };
        if !self.fresh {
            let after = self.since_fetch(epoch);
            // What comes now after so many epochs and now after others is not foreseen.
            let again = after == std::mem::replace(&mut self.returns_after, after);
            self.trust = if again { TRUST } else { 0 };
        }
        self.fresh = true;
    }

    /// Others write it, too: those need their copies at least as much as its home does without
    /// them.
    pub(super) fn is_contended(&mut self) {
        self.trust = 0;
    }

    /// It is borrowed. True if it is time to see whether its home still writes it.
    fn borrowed(&mut self) -> bool {
        self.loans += 1;
        let due = self.loans >= LOANS << (2 * (self.probe_backoff + 1));
        if due {
            self.loans = 0;
        }
        due
    }
}

impl Habits {
    /// A page at home here is fetched.
    pub(super) fn was_served(&mut self, page: PageId, view: &dyn View) {
        let lent = view
            .page(page)
            .is_some_and(|page| page.offer == Offer::Lent);
        let history = self.pages.entry(page);
        history.lease.shared(view.interval());
        let rhythm = &mut history.rhythm;
        rhythm.fetched(view.epoch());
        if lent {
            rhythm.kept = KEPT;
        }
        if rhythm.trust > 0 {
            self.served.push(page);
        }
    }

    /// A page at home here is borrowed.
    pub(super) fn was_lent(&mut self, page: PageId) {
        if self.pages.entry(page).rhythm.borrowed() {
            self.probed.push(page);
        }
    }

    /// Pages that others have read, or may have, and that will probably be written here next:
    /// if nobody keeps a copy, the writes need not be noticed.
    pub(super) fn take_back(&mut self, view: &dyn View) -> Vec<PageId> {
        let mut served = std::mem::take(&mut self.served);
        served.sort_unstable();
        served.dedup();
        if !self.limits.expect_writes {
            return Vec::new();
        }
        let next = view.epoch() + 1;
        let mut pages = Vec::new();
        for page in served {
            let shared = view
                .page(page)
                .is_some_and(|page| page.state == State::Shared);
            let rhythm = &mut self.pages.entry(page).rhythm;
            if !shared || rhythm.trust == 0 {
                continue;
            }
            if rhythm.since_fetch(next) < rhythm.returns_after {
                self.served.push(page);
                continue;
            }
            rhythm.trust -= 1;
            pages.push(page);
        }
        pages
    }

    /// What becomes of pages at home here after a barrier.
    pub(super) fn watch_or_lend(&mut self, barrier: &Settled, view: &dyn View) -> Afterwards {
        let mut after = Afterwards::default();
        let were_written = std::mem::take(&mut self.written_next);
        for (page, foreseen) in barrier.pages {
            self.settle(*page, *foreseen, &mut after, view);
        }
        let epoch = view.epoch();
        let is_idle = |page: &PageId| {
            let glance = view.page(*page);
            glance.is_some_and(|page| page.at_home && page.state == State::Untouched)
        };
        // They were written in the epoch that is over, unnoticed, and others want to keep
        // them afterwards.
        for page in were_written.into_iter().filter(is_idle) {
            let rhythm = &mut self.pages.entry(page).rhythm;
            rhythm.kept = rhythm.kept.saturating_sub(1);
            after.watch.push(page);
        }
        for (page, since) in barrier.updated {
            if epoch >= since + UPDATED {
                self.settle(*page, false, &mut after, view);
            }
        }
        // They were borrowed often: are they still written here?
        for page in std::mem::take(&mut self.probed).into_iter().filter(is_idle) {
            let rhythm = &mut self.pages.entry(page).rhythm;
            rhythm.trust = 0;
            rhythm.watched_in = epoch + 1;
            after.watch.push(page);
        }
        after.prepare.clone_from(&self.written_next);
        after
    }

    /// Nobody else has a copy of a page at home here: it was written in the epoch that is
    /// over, or, if that is foreseen, will be in the next.
    fn settle(&mut self, page: PageId, foreseen: bool, after: &mut Afterwards, view: &dyn View) {
        let rhythm = &mut self.pages.entry(page).rhythm;
        rhythm.fresh = true;
        match rhythm.kept.checked_sub(1) {
            None => lend_around(page, after, view),
            Some(_) if foreseen => {
                self.written_next.push(page);
                after.lend.push(page);
            }
            Some(kept) => {
                rhythm.kept = kept;
                after.watch.push(page);
            }
        }
    }
}

/// A page is to be lent, and so are those at home here around it of which nobody else has a
/// copy: others will want them as well.
fn lend_around(page: PageId, after: &mut Afterwards, view: &dyn View) {
    after.lend.push(page);
    if !view.is_direct() {
        return;
    }
    for way in [Direction::Up, Direction::Down] {
        let behind = std::iter::successors(way.behind(page), |next| way.behind(*next));
        for next in behind.take(AROUND) {
            let Some(glance) = view.page(next) else {
                break;
            };
            if !glance.at_home || glance.pinned {
                continue;
            }
            if glance.offer != Offer::Closed || glance.state != State::Untouched {
                break;
            }
            after.lend.push(next);
        }
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

    #[test]
    fn what_others_write_too_is_not_taken_back() {
        let mut rhythm = Rhythm::default();
        for epoch in [12, 15, 18] {
            rhythm.fetched(epoch - 3);
            rhythm.rewritten(epoch);
        }
        assert_eq!(rhythm.trust, TRUST);
        rhythm.is_contended();
        assert_eq!(rhythm.trust, 0);
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
