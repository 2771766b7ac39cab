//! Copies of pages at home elsewhere: which of them will be written, and which were fetched ahead
//! of time for nothing.

use super::history::HistoryPredictor;
use super::{Access, Arrival, Predictor, View};
use crate::{Interval, PageRange};
use fathomp_types::PageId;

/// How many copies are expected to be written after one was: a phase that only reads may lie in
/// between.
const COPIES_EXPECTED: u8 = 2;

/// What became of the copies of a page that is at home elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CopyHistory {
    /// A copy was here and became invalid, and none has come since.
    dropped: bool,
    /// How many further copies will probably be written, because others were.
    writes: u8,
    /// The epoch in which the copy here was fetched ahead of time, plus one; otherwise 0.
    ahead: u32,
    /// The last copy was fetched ahead of time, and nobody read it.
    unwanted: bool,
    /// The last interval that had ended when the copy arrived.
    came_in: Interval,
    /// A copy that was fetched ahead of time was written in a later interval only: had it been
    /// open to writes, it would have been compared in vain, and faulted all the same.
    written_late: bool,
    /// A copy of it was written here, now or before.
    was_written: bool,
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
            dropped: false,
            // Raised again if it is written.
            writes: self.writes.saturating_sub(1),
            ahead: match arrival.wanted {
                Some(_) => 0,
                None => epoch + 1,
            },
            unwanted: false,
            came_in: now,
            written_late: self.written_late,
            was_written: self.was_written,
        };
        expected
    }

    /// The copy is written.
    pub(super) fn written(&mut self, now: Interval) {
        if self.ahead > 0 {
            self.written_late = now != self.came_in;
        }
        self.writes = COPIES_EXPECTED;
        self.was_written = true;
        // It was of use.
        self.ahead = 0;
    }

    /// Whether this node has written the page while it was at home elsewhere.
    pub(super) fn was_written(self) -> bool {
        self.was_written
    }

    /// Whether the copy here was fetched ahead of time in this epoch, and not written since.
    pub(super) fn came_ahead(&self, epoch: u32) -> bool {
        self.ahead == epoch + 1
    }

    /// The copy becomes invalid; `by_write` unless only an exclusive lease takes it away.
    pub(super) fn dropped(&mut self, by_write: bool) {
        self.dropped = by_write;
    }

    /// A barrier tells that the page was written in the epoch that is over. A program without a
    /// data race does not read what another node has written since the last barrier: a copy that
    /// was fetched ahead of time in that epoch was of no use.
    /// Returns whether the copy that became invalid was of use, as far as is known; none if no copy
    /// did.
    fn told_at_barrier(&mut self, epoch: u32) -> Option<bool> {
        if !self.dropped {
            return None;
        }
        if self.came_ahead(epoch) {
            self.dropped = false;
            self.unwanted = true;
        }
        Some(self.dropped)
    }

    /// Whether fetching it ahead of time was of no use the last time. One phase writes here and
    /// there what another one reads from end to end.
    pub(super) fn is_unwanted(self) -> bool {
        self.unwanted
    }
}

impl HistoryPredictor {
    /// A barrier tells that a page was written, and copies here are invalid by now.
    pub(super) fn was_told_at_barrier(&mut self, page: PageId, epoch: u32) {
        let history = self.pages.entry(page);
        let Some(was_of_use) = history.copy.told_at_barrier(epoch) else {
            return;
        };
        if !was_of_use {
            history.refetch.unwanted();
        }
        self.was_dropped(page, epoch);
    }

    /// `page`, and what is worth fetching with it.
    pub(super) fn plan_fetch(&mut self, page: PageId, view: &dyn View) -> PageRange {
        if !self.limits.predicts(Predictor::ReadStreams) {
            return page.into();
        }
        let table = &self.pages;
        let may_come = |next| view.goes_with(page, next) && !table.get(next).copy.is_unwanted();
        let pages_max = self.limits.prefetch_pages_max;
        self.streams.worth_fetching(page, pages_max, may_come)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heuristics::fake::Fake;
    use crate::heuristics::{Heuristic, Limits};
    use crate::state::State;

    #[test]
    fn a_copy_that_came_ahead_for_nothing_does_not_come_with_its_neighbour() {
        let mut view = Fake::new(16, false, State::Untouched);
        let mut predictor = HistoryPredictor::new(Limits::default(), view.layout());
        let ahead = Arrival {
            page: PageId(3),
            wanted: None,
            blank: false,
            begins_to_write: false,
        };
        let fetched = |predictor: &mut HistoryPredictor, view: &Fake, page| {
            predictor.on_fault(PageId(page), Access::Read, view).end()
        };
        assert_eq!(fetched(&mut predictor, &view, 1), 5);
        predictor.on_arrival(&ahead, &view);
        predictor.pages.entry(PageId(3)).copy.dropped(true);
        predictor.was_told_at_barrier(PageId(3), view.epoch);
        view.epoch += 1;
        assert_eq!(fetched(&mut predictor, &view, 1), 3);
        // Until a thread wants it.
        let wanted = Some(Access::Read);
        predictor.on_arrival(&Arrival { wanted, ..ahead }, &view);
        assert_eq!(fetched(&mut predictor, &view, 1), 5);
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
