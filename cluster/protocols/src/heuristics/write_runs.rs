//! Threads that write one page after the other: pages behind the one at which a thread faults are
//! opened to writes with it.

use super::direction::Direction;
use super::history::HistoryPredictor;
use super::{Predictor, View};
use crate::PageRange;
use crate::state::State;
use fathomp_types::PageId;

/// Most pages that become writable at one fault.
const PAGES_MAX: u8 = 32;

impl HistoryPredictor {
    /// A thread begins to write a page. Those behind it that are like it, and that it will
    /// probably write next, are to become writable as well: twice as many as with the page
    /// before.
    ///
    /// A copy that this node has never written stays out: a comparison with a twin misses a
    /// thread that stores what is there already, such as zeros, and then the page moves to its
    /// writer later than by a fault, or never.
    pub(super) fn plan_writes(&mut self, page: PageId, view: &dyn View) -> PageRange {
        if !self.limits.predicts(Predictor::WriteRuns) {
            return page.into();
        }
        let (way, number) = self.run_to(page, view);
        let at_home = view.page(page).is_some_and(|glance| glance.at_home);
        let may_open = |next| {
            let goes = view.goes_with(page, next);
            goes && (at_home || self.pages.get(next).copy.was_written())
        };
        let pages = way.run(page, number.into(), may_open);
        for page in pages.iter() {
            self.pages.entry(page).run_length = number;
        }
        pages
    }

    /// How many pages become writable with one, and which way: only that one where no page beside
    /// it was opened to writes in this interval.
    fn run_to(&self, page: PageId, view: &dyn View) -> (Direction, u8) {
        let (way, length) = Direction::of(|way| {
            let before = way.before(page);
            let Some((before, glance)) = before.and_then(|page| Some((page, view.page(page)?)))
            else {
                return 0;
            };
            match glance.state {
                State::Written | State::Foreseen | State::Dirty | State::Expected => {
                    self.pages.get(before).run_length
                }
                _ => 0,
            }
        });
        (way, length.saturating_mul(2).clamp(1, PAGES_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Access;
    use crate::heuristics::fake::Fake;
    use crate::heuristics::{Event, Heuristic, Limits};

    #[test]
    fn each_fault_of_a_run_opens_twice_as_many_pages_either_way() {
        let mut view = Fake::new(100, true, State::Shared);
        let mut predictor = HistoryPredictor::new(Limits::default(), view.layout());
        let up = [(3, 3, 1), (4, 4, 2), (6, 6, 4), (10, 10, 8), (18, 18, 16)];
        let down = [(90, 90, 1), (89, 88, 2), (87, 84, 4)];
        for (page, first, pages) in up.into_iter().chain(down) {
            let plan = predictor.on_fault(PageId(page), Access::Write, &view);
            assert_eq!((plan.first().0, plan.len()), (first, pages));
            plan.iter().for_each(|page| view.set(page, State::Foreseen));
        }
    }

    #[test]
    fn copies_that_were_never_written_are_not_opened_with_others() {
        let mut view = Fake::new(8, false, State::Clean);
        let mut predictor = HistoryPredictor::new(Limits::default(), view.layout());
        let mut opened = |predictor: &mut HistoryPredictor, page| {
            let plan = predictor.on_fault(PageId(page), Access::Write, &view);
            predictor.note(Event::Written(PageId(page)), &view);
            view.set(PageId(page), State::Dirty);
            plan.len()
        };
        let firsts = [0, 1, 2, 3].map(|page| opened(&mut predictor, page));
        assert_eq!(firsts, [1; 4]);
        (0..8).for_each(|page| view.set(PageId(page), State::Clean));
        let mut opened = |page| {
            let plan = predictor.on_fault(PageId(page), Access::Write, &view);
            plan.iter().for_each(|page| view.set(page, State::Dirty));
            plan.len()
        };
        assert_eq!([0, 1, 3].map(&mut opened), [1, 2, 1]);
        // Behind the last page there is none.
        assert_eq!([6, 7].map(&mut opened), [1, 1]);
    }
}
