//! Writes to one page after the other: after a few faults they need no more.

use super::View;
use super::direction::{Direction, Reach};
use super::history::HistoryPredictor;
use crate::PageRange;
use crate::state::State;
use fathomp_types::PageId;

/// Most pages that become writable at one fault.
const RUN_MAX: u8 = 32;

/// A page that so often became writable for nothing does so by a fault of its own.
const WASTED_MAX: u8 = 2;

/// In which runs a page was written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunHistory {
    /// How many pages became writable together with it, when it was written last.
    length: u8,
    /// How many to make writable together with it when a thread begins there to write.
    start: Reach,
    /// These were too few the last time.
    started_short: bool,
    /// How often it became writable together with others and was not written.
    wasted: u8,
}

impl RunHistory {
    /// The page is written.
    pub(super) fn written(&mut self) {
        self.wasted = 0;
    }
}

/// Pages that become writable at one fault.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// Where the thread faulted.
    from: PageId,
    way: Direction,
    /// That page and those behind it, in this direction.
    pages: PageRange,
}

impl HistoryPredictor {
    /// A thread begins to write a page. Those behind it that are like it, and that it will
    /// probably write next, are to become writable as well: twice as many as with the page
    /// before.
    pub(super) fn plan_writes(&mut self, page: PageId, view: &dyn View) -> PageRange {
        if !self.limits.expect_writes {
            return page.into();
        }
        let (way, number) = self.run_to(page, view);
        let table = &self.pages;
        let is_like = |next| view.goes_with(page, next) && table.get(next).run.wasted < WASTED_MAX;
        let pages = way.run(page, number.into(), is_like);
        for page in pages.iter() {
            self.pages.entry(page).run.length = number;
        }
        if pages.len() > 1 {
            self.runs.push(Run {
                from: page,
                way,
                pages,
            });
        }
        pages
    }

    /// It is known which of the pages that became writable were written. The next time there
    /// are as many of them.
    pub(super) fn end_runs(&mut self, view: &dyn View) {
        for Run { from, way, pages } in std::mem::take(&mut self.runs) {
            let mut ahead: Vec<_> = pages.iter().filter(|page| *page != from).collect();
            if way == Direction::Down {
                ahead.reverse();
            }
            let state = |page: PageId| view.page(page).map(|page| page.state);
            let is_written =
                |page: &PageId| matches!(state(*page), Some(State::Written | State::Dirty));
            let last = ahead.iter().rposition(is_written);
            let reached = last.map_or(0, |last| last + 1);
            for &page in &ahead[..reached] {
                if matches!(state(page), Some(State::Foreseen | State::Expected)) {
                    let run = &mut self.pages.entry(page).run;
                    run.wasted = run.wasted.saturating_add(1);
                }
            }
            if reached < ahead.len() {
                let pages = u8::try_from(reached + 1).unwrap_or(RUN_MAX);
                let run = &mut self.pages.entry(from).run;
                (run.start, run.started_short) = (Reach { way, pages }, false);
            }
        }
    }

    /// How many pages become writable with one, and which way. Where a thread goes on, those
    /// from which it came are opened together with more the next time.
    fn run_to(&mut self, page: PageId, view: &dyn View) -> (Direction, u8) {
        let (way, length) = Direction::of(|way| {
            let Some((before, glance)) = way
                .before(page)
                .and_then(|before| Some((before, view.page(before)?)))
            else {
                return 0;
            };
            match glance.state {
                State::Written | State::Foreseen | State::Dirty | State::Expected => {
                    self.pages.get(before).run.length
                }
                _ => 0,
            }
        });
        if length == 0 {
            let start = self.pages.get(page).run.start;
            return (start.way, start.pages.clamp(1, RUN_MAX));
        }
        let pages = length.saturating_mul(2).min(RUN_MAX);
        let first = way
            .back(page, length)
            .filter(|first| view.page(*first).is_some());
        let first = first.map(|first| &mut self.pages.entry(first).run);
        if let Some(first) = first.filter(|first| first.length == length) {
            // Not if it is too short every other time only.
            let again = first.start.pages == 0 || first.started_short;
            first.started_short = !again;
            if again {
                first.start = Reach { way, pages };
            }
        }
        (way, pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Access;
    use crate::heuristics::fake::Fake;
    use crate::heuristics::{Event, Heuristic, Limits};

    struct Writer(HistoryPredictor, Fake);

    impl Writer {
        fn new(pages: u32) -> Self {
            let fake = Fake::new(pages, true, State::Shared);
            Self(
                HistoryPredictor::new(Limits::default(), fake.layout()),
                fake,
            )
        }

        /// Writes pages that others have copies of, and ends the interval. What was opened
        /// ahead.
        fn write(&mut self, pages: &[u32]) -> Vec<u32> {
            let Self(habits, view) = self;
            let mut opened = Vec::new();
            for page in pages.iter().copied().map(PageId) {
                let is_open = view.page(page).unwrap().state != State::Shared;
                if !is_open {
                    let plan = habits.on_fault(page, Access::Write, view);
                    habits.note(Event::Written(page), view);
                    let ahead = plan.iter().filter(|ahead| *ahead != page);
                    for ahead in ahead {
                        view.set(ahead, State::Foreseen);
                        opened.push(ahead.0);
                    }
                    view.set(page, State::Written);
                }
            }
            for page in opened.iter().filter(|page| pages.contains(page)) {
                habits.note(Event::Written(PageId(*page)), view);
                view.set(PageId(*page), State::Written);
            }
            habits.note(Event::Compared, view);
            view.set_all(State::Shared);
            opened
        }
    }

    #[test]
    fn runs_are_as_long_from_the_beginning_as_they_were_the_last_time() {
        let mut writer = Writer::new(40);
        let up: Vec<u32> = (3..13).collect();
        let down: Vec<u32> = (20..30).rev().collect();
        // Every page faults that is not among those opened ahead.
        let faults = |pages: &[u32], opened: &[u32]| {
            let faults = pages.iter().filter(|page| !opened.contains(page));
            faults.count()
        };
        for pages in [&up, &down] {
            let rounds: Vec<_> = (0..8)
                .map(|_| faults(pages, &writer.write(pages)))
                .collect();
            assert_eq!(rounds, [4, 3, 3, 2, 2, 2, 2, 1]);
            let few = &pages[..4];
            assert_eq!(writer.write(few).len(), 9);
            assert_eq!(writer.write(few).len(), 3);
            assert_eq!(faults(pages, &writer.write(pages)), 2);
        }
    }

    #[test]
    fn what_is_opened_for_nothing_is_not_any_more_until_it_is_written() {
        let mut writer = Writer::new(4);
        for opened in [vec![2], vec![1, 3], vec![1, 3], vec![1, 2, 3]] {
            assert_eq!(writer.write(&[0, 1, 2, 3]), opened);
        }
        for _ in 0..WASTED_MAX {
            assert_eq!(writer.write(&[0, 1, 3]), [1, 2, 3]);
        }
        assert_eq!(writer.write(&[0]), [1]);
        assert_eq!(writer.write(&[2]), [0; 0]);
        assert_eq!(writer.write(&[0, 1, 2]), [2]);
    }
}
