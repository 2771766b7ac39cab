//! Whether a page is worth borrowing, and how many with it.

use super::View;
use super::direction::{Direction, Reach};
use super::habits::Habits;
use crate::state::State;
use fathomp_types::PageId;

/// Pages that are borrowed at once to be read, if they can be, at least and at most.
const BORROWED_MIN: u8 = 4;
const BORROWED_MAX: u8 = 32;

/// So many times as many as were borrowed with the page before.
const GROWTH: u8 = 4;

/// So many times as many pages are borrowed as were needed once, before it is seen whether
/// they still are: nobody notices that a page is not read.
const TIMES: u8 = 16;

/// For so many epochs a page is asked for to be kept after borrowing it was of no use.
const ASKED: u32 = 32;

/// What happened to the borrowed copies of a page that is at home elsewhere. Epochs are
/// counted from 1, so that 0 says never.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LoanHistory {
    /// It came borrowed the last time although it was asked for to be kept: it is updated.
    updated: bool,
    /// How many were asked for together with it the last time, when a thread missed which one
    /// of them, and in which epoch.
    batch: u8,
    from: PageId,
    asked_in: u32,
    /// How many to ask for next time, because these were not enough.
    start: Reach,
    /// How often so many were asked for without it being known whether they are read.
    begun: u8,
    /// When a borrowed copy was written last.
    written_in: u32,
    /// When one was given back last before a barrier.
    returned_in: u32,
    /// It is asked for to be kept in epochs before this one.
    asked_until: u32,
    /// It was asked for to be written here alone, but others wrote it too.
    contended: bool,
}

impl LoanHistory {
    /// Whether it is as well to borrow the page in an epoch. A page that this node writes
    /// in one epoch after the other might move here, and one that is wanted again after
    /// each synchronisation could stay, but for that the home has to notice its writes.
    pub(super) fn is_worth_it(self, epoch: u32) -> bool {
        let mine = self.written_in == epoch && epoch > 0 && !self.contended;
        !mine && epoch >= self.asked_until
    }

    /// Whether its last copy came borrowed because it is updated.
    pub(super) fn is_updated(self) -> bool {
        self.updated
    }

    /// How many to ask for where nothing goes before, and which way.
    fn begin(&mut self) -> Reach {
        if self.start.pages > 0 {
            self.begun += 1;
            if self.begun == TIMES {
                (self.start.pages, self.begun) = (0, 0);
            }
        }
        self.start
    }

    /// It is asked for together with so many pages altogether, as `from` is missing.
    pub(super) fn asked(&mut self, from: PageId, pages: u32, epoch: u32) {
        self.batch = u8::try_from(pages).unwrap_or(u8::MAX);
        self.from = from;
        self.asked_in = epoch + 1;
    }

    /// How many pages came together with it in an epoch, if it has come then, and for which.
    fn came(self, epoch: u32) -> Option<(u8, PageId)> {
        (self.asked_in == epoch + 1).then_some((self.batch, self.from))
    }

    /// It has come; `updated` if borrowed although it was asked for to be kept.
    pub(super) fn arrived(&mut self, updated: bool) {
        self.updated = updated;
    }

    /// It is given back before a barrier, perhaps not for the first time.
    pub(super) fn returned(&mut self, epoch: u32) {
        if std::mem::replace(&mut self.returned_in, epoch + 1) == epoch + 1 {
            self.asked_until = epoch + ASKED;
        }
    }

    /// The open interval, in which a borrowed copy was written, ends.
    pub(super) fn written(&mut self, epoch: u32) {
        self.written_in = self.written_in.max(epoch + 1);
    }

    /// Several nodes wrote the page in an epoch in which there was a copy here to be kept.
    pub(super) fn contended(&mut self) {
        self.contended = true;
    }
}

impl Habits {
    /// Whether a borrowed copy will do. Of a page whose home will never notice that it writes
    /// it, there is nothing better.
    pub(super) fn is_worth_borrowing(&self, page: PageId, view: &dyn View) -> bool {
        let pinned = view.page(page).is_some_and(|page| page.pinned);
        pinned || self.pages.get(page).loan.is_worth_it(view.epoch())
    }

    /// How many pages are worth borrowing when one is missing that is to be read, and which
    /// way: the more, the longer a thread goes that way. To copy one costs less than a
    /// fault, and its home has no part in it, but a thread that reads here and there has no
    /// use for it.
    pub(super) fn worth_borrowing(&mut self, page: PageId, view: &dyn View) -> (Direction, u32) {
        let epoch = view.epoch();
        // They may have been kept, too, if their home notices its writes.
        let before = |way: Direction| {
            let before = way.before(page)?;
            let glance = view.page(before)?;
            let is_copy = !glance.at_home && glance.state != State::Untouched;
            let came = self.pages.get(before).loan.came(epoch);
            came.filter(|_| is_copy)
        };
        let (mut way, _) = Direction::of(|way| before(way).map_or(0, |(pages, _)| pages));
        let number = match before(way) {
            Some((pages, from)) => self.borrow_more(way, from, pages),
            None => {
                let start = self.pages.entry(page).loan.begin();
                way = start.way;
                start.pages
            }
        };
        (way, number.clamp(BORROWED_MIN, BORROWED_MAX).into())
    }

    /// How many pages to borrow behind a run of so many that began at `from`. A thread may
    /// begin there again: then it is to be a bit longer from the beginning. If it was made as
    /// long as that before, not much is missing now.
    fn borrow_more(&mut self, way: Direction, from: PageId, before: u8) -> u8 {
        let start = &mut self.pages.entry(from).loan.start;
        let learned = start.pages == before && before < BORROWED_MAX;
        let pages = before.saturating_add(BORROWED_MIN).min(BORROWED_MAX);
        *start = Reach { way, pages };
        match learned {
            true => BORROWED_MIN,
            false => before.saturating_mul(GROWTH),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Access;
    use crate::guess::fake::Fake;
    use crate::guess::{Event, Guess, Limits};

    #[test]
    fn long_runs_are_tried_short_now_and_then() {
        let (way, pages) = (Direction::Down, 32);
        let mut loan = LoanHistory {
            start: Reach { way, pages },
            ..LoanHistory::default()
        };
        let runs: Vec<u8> = (0..TIMES).map(|_| loan.begin().pages).collect();
        assert_eq!(runs, [[32; 15].as_slice(), &[0]].concat());
        assert_eq!(loan.begin().pages, 0);
    }

    #[test]
    fn runs_grow_until_they_are_as_long_as_a_thread_reads_whether_pages_are_kept_or_not() {
        for (first, way) in [(3, Direction::Up), (60, Direction::Down)] {
            let mut view = Fake::new(64, false, State::Untouched);
            let mut habits = Habits::new(Limits::default(), view.layout());
            let mut faults = |epoch| {
                view.epoch = epoch;
                let mut page = PageId(first);
                let mut faults = 0;
                for _ in 0..20 {
                    if view.page(page).unwrap().state == State::Untouched {
                        faults += 1;
                        let pages = habits.on_fault(page, Access::Read, &view).pages;
                        habits.note(Event::Asked { from: page, pages }, &view);
                        pages.iter().for_each(|page| view.set(page, State::Clean));
                    }
                    page = way.behind(page).unwrap();
                }
                view.set_all(State::Untouched);
                faults
            };
            let faults: Vec<u32> = (0..6).map(&mut faults).collect();
            let seen = match way {
                Direction::Up => [2, 3, 3, 2, 1, 1],
                // The way is not known at first.
                Direction::Down => [3, 3, 3, 2, 1, 1],
            };
            assert_eq!(faults, seen, "{way:?}");
        }
    }

    #[test]
    fn what_is_written_in_each_epoch_or_wanted_again_and_again_is_asked_for() {
        let mut loan = LoanHistory::default();
        assert!((0..3).all(|epoch| loan.is_worth_it(epoch)));
        for epoch in [2, 4, 4, 5] {
            loan.written(epoch);
            assert!(loan.is_worth_it(epoch) && loan.is_worth_it(epoch + 2));
        }
        assert!(!loan.is_worth_it(6) && loan.is_worth_it(7));
        loan.contended();
        assert!(loan.is_worth_it(6));
        for epoch in [6, 7, 7] {
            assert!(loan.is_worth_it(7));
            loan.returned(epoch);
        }
        assert!(!loan.is_worth_it(7 + ASKED - 1) && loan.is_worth_it(7 + ASKED));
    }
}
