//! Pages that are lent: their home writes them and does not notice, so nobody may keep a
//! copy for longer than it knows nothing new.
//!
//! Who borrows a page gives it back when it learns of anything, at a barrier or at any
//! other synchronisation: whatever its home has written is seen by who asks again then.
//! That costs the home nothing, neither faults nor messages.

use super::page::State;
use super::{Actions, Home};
use crate::order::Request;
use crate::prefetch::Direction;
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
    /// How many were asked for together with it.
    pub(super) batch: u8,
    /// How many to ask for next time, because these were not enough.
    start: u8,
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

    /// How many to ask for where nothing goes before.
    fn begin(&mut self) -> u8 {
        if self.start > 0 {
            self.begun += 1;
            if self.begun == TIMES {
                (self.start, self.begun) = (0, 0);
            }
        }
        self.start
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
        let (way, before) = Direction::of(|way| {
            let before = way.before(page).filter(|before| self.exists(*before));
            let loan = before.map(|before| self.table.get(before).loan);
            loan.filter(|loan| loan.here).map_or(0, |loan| loan.batch)
        });
        if before > 0 {
            let first = match way {
                Direction::Up => page.0.saturating_sub(before.into()),
                Direction::Down => page.0.saturating_add(before.into()),
            };
            if self.exists(PageId(first)) {
                self.table.entry(PageId(first)).loan.start = before.saturating_mul(2);
            }
        }
        let number = match before {
            0 => self.table.entry(page).loan.begin(),
            _ => before.saturating_mul(GROWTH),
        };
        (way, number.clamp(BORROWED_MIN, BORROWED_MAX).into())
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
                State::Untouched | State::Shared | State::Written | State::Foreseen => {}
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

    #[test]
    fn long_runs_are_tried_short_now_and_then() {
        let mut loan = Loan {
            start: 32,
            ..Loan::default()
        };
        let runs: Vec<u8> = (0..TIMES).map(|_| loan.begin()).collect();
        assert_eq!(runs, [[32; 15].as_slice(), &[0]].concat());
        assert_eq!(loan.begin(), 0);
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
