//! Pages that are lent: their home writes them and does not notice, so nobody may keep a
//! copy for longer than it knows nothing new.
//!
//! Who borrows a page gives it back when it learns of anything, at a barrier or at any
//! other synchronisation: whatever its home has written is seen by who asks again then.
//! That costs the home nothing, neither faults nor messages.

use super::page::State;
use super::{Actions, Home};
use crate::message::Request;
use crate::prefetch::{Direction, Reach};
use crate::{Body, PageRange};
use fathomp_base::PageId;

/// Pages that are borrowed at once to be read, if they can be, at least and at most.
const BORROWED_MIN: u8 = 4;
const BORROWED_MAX: u8 = 32;

/// So many times as many as were borrowed with the page before.
const GROWTH: u8 = 4;

/// So many times as many pages are borrowed as were needed once, before it is seen whether
/// they still are: nobody notices that a page is not read.
const TIMES: u8 = 16;

/// For so many epochs a page is asked for that was borrowed in vain.
const ASKED: u32 = 32;

/// What a node knows of borrowing a page that is at home elsewhere. Epochs are counted
/// from 1, so that 0 says never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Loan {
    /// The copy here is borrowed.
    pub(super) here: bool,
    /// It came borrowed the last time, although it was asked for to be kept: it is updated.
    pub(super) updated: bool,
    /// How many were asked for together with it the last time, when a thread missed which one
    /// of them, and in which epoch.
    batch: u8,
    from: PageId,
    asked_in: u32,
    /// How many to ask for next time, because these were not enough.
    start: Reach,
    /// How often so many were asked for without being sure.
    begun: u8,
    /// When a borrowed copy was written last.
    written_in: u32,
    /// When one was given back last before a barrier.
    returned_in: u32,
    /// It is asked for in epochs before this one.
    asked_until: u32,
    /// It was asked for to be written here alone, but others wrote it too.
    contended: bool,
}

impl Loan {
    /// Whether it is as well to borrow the page in an epoch. A page that this node writes
    /// in one epoch after the other might move here, and one that is wanted again after
    /// each synchronisation could stay, but for that the home has to notice its writes.
    pub(super) fn is_worth_it(self, epoch: u32) -> bool {
        let mine = self.written_in == epoch && epoch > 0 && !self.contended;
        !mine && epoch >= self.asked_until
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
        self.here = false;
        self.batch = u8::try_from(pages).unwrap_or(u8::MAX);
        self.from = from;
        self.asked_in = epoch + 1;
    }

    /// How many pages came together with it in an epoch, if it has come then, and for which.
    fn came(self, epoch: u32) -> Option<(u8, PageId)> {
        (self.asked_in == epoch + 1).then_some((self.batch, self.from))
    }

    /// It is given back before a barrier, perhaps not for the first time.
    fn returned(&mut self, epoch: u32) {
        self.here = false;
        if std::mem::replace(&mut self.returned_in, epoch + 1) == epoch + 1 {
            self.asked_until = epoch + ASKED;
        }
    }

    /// The open interval, in which it was written, ends.
    pub(super) fn written(&mut self, epoch: u32) {
        self.written_in = self.written_in.max(epoch + 1);
    }

    /// Several nodes wrote the page in an epoch in which there was a copy here.
    pub(super) fn written_by_many(&mut self) {
        self.contended |= !self.here;
    }
}

impl<B: Clone + Body> Home<B> {
    /// Whether a page may be borrowed if its home lends it.
    pub(super) fn may_borrow(&self, page: PageId) -> bool {
        let entry = self.table.get(page);
        !self.order.comes_to_barrier() && entry.is_worth_borrowing(self.order.epoch)
    }

    /// How many pages are worth borrowing when one is missing that is to be read, and which
    /// way: the more, the longer somebody goes that way. To copy one costs less than a
    /// fault, and its home has no part in it, but whoever reads here and there has no use
    /// for it.
    pub(super) fn worth_borrowing(&mut self, page: PageId) -> (Direction, u32) {
        let epoch = self.order.epoch;
        // They may have been kept, too, if their home notices its writes.
        let came = |page| {
            let entry = self.table.get(page);
            let here = entry.home != self.me && entry.state != State::Untouched;
            entry.loan.came(epoch).filter(|_| here)
        };
        let before = |way: Direction| {
            let before = way.before(page).filter(|before| self.exists(*before));
            before.and_then(came)
        };
        let (mut way, _) = Direction::of(|way| before(way).map_or(0, |(pages, _)| pages));
        let number = match before(way) {
            Some((pages, from)) => self.borrow_more(way, from, pages),
            None => {
                let start = self.table.entry(page).loan.begin();
                way = start.way;
                start.pages
            }
        };
        (way, number.clamp(BORROWED_MIN, BORROWED_MAX).into())
    }

    /// How many pages to borrow behind a run of so many that began at `from`. Somebody may begin
    /// there again: then it is to be a bit longer from the beginning. If it was made as long as
    /// that before, not much is missing now.
    fn borrow_more(&mut self, way: Direction, from: PageId, before: u8) -> u8 {
        let start = &mut self.table.entry(from).loan.start;
        let learned = start.pages == before && before < BORROWED_MAX;
        let pages = before.saturating_add(BORROWED_MIN).min(BORROWED_MAX);
        *start = Reach { way, pages };
        match learned {
            true => BORROWED_MIN,
            false => before.saturating_mul(GROWTH),
        }
    }

    /// The content of pages that comes next is borrowed.
    pub(super) fn borrow(&mut self, pages: PageRange) {
        let epoch = self.order.epoch;
        for page in pages.iter() {
            if self.pending.contains_key(&page) {
                let entry = self.table.entry(page);
                entry.loan.updated = !entry.is_worth_borrowing(epoch);
                entry.loan.here = true;
                self.borrowed.push(page);
            }
        }
    }

    /// This node learns of something.
    pub(super) fn give_back(&mut self, actions: &mut Actions<B>) {
        // What is written at a barrier may not be told there (see `has_to_wait`).
        let tells = self.order.is_root() || !self.order.is_at_barrier();
        let epoch = self.order.epoch;
        for page in self.take_borrowed() {
            match self.table.get(page).state {
                State::Dirty if !tells => {
                    self.borrowed.push(page);
                    continue;
                }
                State::Dirty => {
                    let notice = self.end_interval(actions);
                    self.order.exchange(Request::Publish, notice, actions);
                    self.drop_copy(page, actions);
                }
                State::Clean | State::Expected => self.drop_copy(page, actions),
                State::Pending => self.give_back_unseen(page, actions),
                State::Untouched | State::Shared | State::Written => {}
                State::Foreseen | State::Leased => {}
            }
            self.table.entry(page).loan.returned(epoch);
        }
    }

    /// A barrier is over.
    pub(super) fn give_all_back(&mut self, actions: &mut Actions<B>) {
        for page in self.take_borrowed() {
            if self.table.get(page).state != State::Untouched {
                self.drop_copy(page, actions);
            }
        }
    }

    fn take_borrowed(&mut self) -> Vec<PageId> {
        let mut borrowed = std::mem::take(&mut self.borrowed);
        borrowed.retain(|page| self.table.get(*page).loan.here);
        borrowed.sort_unstable();
        borrowed.dedup();
        borrowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::Config;
    use crate::{Area, Placement};
    use fathomp_base::NodeId;

    #[test]
    fn long_runs_are_tried_short_now_and_then() {
        let (way, pages) = (Direction::Down, 32);
        let mut loan = Loan {
            start: Reach { way, pages },
            ..Loan::default()
        };
        let runs: Vec<u8> = (0..TIMES).map(|_| loan.begin().pages).collect();
        assert_eq!(runs, [[32; 15].as_slice(), &[0]].concat());
        assert_eq!(loan.begin().pages, 0);
    }

    #[test]
    fn runs_grow_until_they_are_as_long_as_somebody_reads_whether_pages_are_kept_or_not() {
        let area = Area {
            pages: 64,
            home: Placement::At(NodeId(0)),
        };
        for (first, way) in [(3, Direction::Up), (60, Direction::Down)] {
            let mut config = Config::usual(2, vec![area], false, false);
            config.direct = true;
            let mut home = Home::<u32>::new(NodeId(1), config).unwrap();
            let mut faults = |epoch| {
                home.order.epoch = epoch;
                let mut here = Vec::new();
                let mut page = PageId(first);
                let mut faults = 0;
                for _ in 0..20 {
                    if !here.contains(&page) {
                        faults += 1;
                        let from = page;
                        let (way, number) = home.worth_borrowing(page);
                        for page in way.run(page, number, |_| true).iter() {
                            here.push(page);
                            let entry = home.table.entry(page);
                            entry.state = State::Clean;
                            entry.loan.asked(from, number, epoch);
                        }
                    }
                    page = way.behind(page).unwrap();
                }
                here.iter()
                    .for_each(|page| home.table.entry(*page).state = State::Untouched);
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
        let mut loan = Loan::default();
        assert!((0..3).all(|epoch| loan.is_worth_it(epoch)));
        for epoch in [2, 4, 4, 5] {
            loan.written(epoch);
            assert!(loan.is_worth_it(epoch) && loan.is_worth_it(epoch + 2));
        }
        assert!(!loan.is_worth_it(6) && loan.is_worth_it(7));
        loan.written_by_many();
        assert!(loan.is_worth_it(6));
        for epoch in [6, 7, 7] {
            assert!(loan.is_worth_it(7));
            loan.returned(epoch);
        }
        assert!(!loan.is_worth_it(7 + ASKED - 1) && loan.is_worth_it(7 + ASKED));
    }
}
