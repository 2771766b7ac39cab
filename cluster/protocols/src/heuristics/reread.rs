//! Copies that come again: which pages are fetched together, and which will be written.

use super::history::HistoryPredictor;
use super::{Access, Arrival, View};
use crate::{Interval, PageRange};
use fathomp_types::PageId;

/// How many copies are expected to be written after one was: there may be a phase that only
/// reads in between.
const WRITES: u8 = 2;

/// Pages that are fetched when a thread reads where nobody went before: a round trip
/// takes as long as sending some ten pages.
const BEGIN: u32 = 4;

/// What became of the copies of a page that is at home elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CopyHistory {
    /// A copy was here and became invalid: the page will probably be read again.
    missed: bool,
    /// How many further copies will probably be written, because others were.
    writes: u8,
    /// The epoch in which the copy here was fetched ahead of time, plus one; otherwise 0.
    ahead: u32,
    /// The last copy was fetched ahead of time, and of no use.
    unwanted: bool,
    /// The last interval that had ended when the copy arrived.
    came_in: Interval,
    /// A copy that was fetched ahead of time was written in a later interval only: had it been
    /// open to writes, it would have been compared in vain, and faulted all the same.
    written_late: bool,
}

impl CopyHistory {
    /// A copy arrives. True if it will probably be written.
    pub(super) fn arrived(&mut self, arrival: &Arrival, epoch: u32, now: Interval) -> bool {
        // A thread that writes zeros first has not touched the page.
        let first = arrival.blank && arrival.begins_to_write;
        let expected = match arrival.wanted {
            Some(Access::Write) => first,
            None if self.written_late => first,
            _ => first || self.writes > 0,
        };
        *self = Self {
            missed: false,
            // Raised again if it is written.
            writes: self.writes.saturating_sub(1),
            ahead: if arrival.wanted.is_none() {
                epoch + 1
            } else {
                0
            },
            unwanted: false,
            came_in: now,
            written_late: self.written_late,
        };
        expected
    }

    /// The copy is written.
    pub(super) fn written(&mut self, now: Interval) {
        if self.ahead > 0 {
            self.written_late = now != self.came_in;
        }
        self.writes = WRITES;
        // It was of use.
        self.ahead = 0;
    }

    /// Whether the copy here was fetched ahead of time in this epoch, and not written since.
    pub(super) fn came_ahead(&self, epoch: u32) -> bool {
        self.ahead == epoch + 1
    }

    /// The copy becomes invalid; `again` if the page will probably be wanted again.
    pub(super) fn dropped(&mut self, again: bool) {
        self.missed = again;
    }

    /// The page was written in the epoch that is over, as a barrier tells. No program without
    /// a data race reads what another node has written since the last barrier: a copy that was
    /// fetched ahead of time meanwhile was of no use.
    /// True if a copy became invalid that was of use, as far as is known.
    fn told_at_barrier(&mut self, epoch: u32) -> bool {
        if self.missed && self.came_ahead(epoch) {
            self.missed = false;
            self.unwanted = true;
        }
        self.missed
    }

    /// Whether it will probably be wanted, too, by a thread that does this with its neighbour;
    /// nothing if fetching it was of no use the last time. One phase writes here and there
    /// what another one reads from end to end.
    fn is_wanted(self, access: Access) -> Option<bool> {
        let again = self.missed && (access == Access::Read || self.writes > 0);
        (!self.unwanted).then_some(again)
    }
}

impl HistoryPredictor {
    /// A barrier tells that a page was written, and copies here are invalid by now.
    pub(super) fn was_told_at_barrier(&mut self, page: PageId, epoch: u32) {
        let history = self.pages.entry(page);
        if history.copy.told_at_barrier(epoch) {
            self.was_dropped(page, epoch);
        } else if history.copy.unwanted {
            history.refetch.unwanted();
        }
    }

    /// `page`, and what is worth fetching with it.
    pub(super) fn plan_fetch(
        &mut self,
        page: PageId,
        access: Access,
        view: &dyn View,
    ) -> PageRange {
        let table = &self.pages;
        let wanted = |next: PageId| {
            let history = view.goes_with(page, next).then(|| table.get(next))?;
            let again = history.copy.is_wanted(access);
            again.map(|again| again && !history.refetch.is_left_out())
        };
        let most = self.limits.prefetch;
        self.streams.worth_fetching(page, BEGIN, most, wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heuristics::fake::Fake;
    use crate::heuristics::{Heuristic, Limits};
    use crate::state::State;

    #[test]
    fn a_thread_that_writes_wants_what_was_written_before() {
        let view = Fake::new(16, false, State::Untouched);
        let mut habits = HistoryPredictor::new(Limits::default(), view.layout());
        for page in 0..16 {
            let history = habits.pages.entry(PageId(page));
            history.copy.missed = true;
            history.copy.writes = u8::from(page < 8);
        }
        let mut fetched = |access| habits.on_fault(PageId(1), access, &view).end();
        assert_eq!([Access::Write, Access::Read].map(&mut fetched), [8, 16]);
    }

    #[test]
    fn what_was_written_late_is_not_opened_to_writes_when_it_comes_ahead() {
        let arrival = |wanted| Arrival {
            page: PageId(0),
            wanted,
            blank: false,
            begins_to_write: false,
        };
        let mut copy = CopyHistory::default();
        let mut comes_and_is_written = |wanted, come: u32, written: u32| {
            let expected = copy.arrived(&arrival(wanted), 5, Interval(come));
            copy.written(Interval(written));
            expected
        };
        assert!(!comes_and_is_written(Some(Access::Read), 1, 1));
        // It was written in the interval in which it came, then in a later one.
        assert!(comes_and_is_written(None, 2, 2));
        assert!(comes_and_is_written(None, 3, 4));
        assert!(!comes_and_is_written(None, 5, 5));
        assert!(comes_and_is_written(None, 6, 6));
        // A thread that waits for it says more.
        assert!(comes_and_is_written(None, 7, 8));
        assert!(comes_and_is_written(Some(Access::Read), 9, 9));
    }
}
