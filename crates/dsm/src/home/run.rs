//! Writes to one page after the other: after a few faults they need no more.

use super::page::State;
use super::{Actions, Home};
use crate::prefetch::Direction;
use crate::{Action, Body, Protection};
use fathomp_base::PageId;

/// Most pages that become writable at one fault.
const RUN: u8 = 32;

/// A page that so often became writable in vain does so by a fault of its own.
const VAIN: u8 = 2;

impl<B: Clone + Body> Home<B> {
    /// A thread begins to write a page: those behind it that are like it, and that it is
    /// likely to write next, become writable as well, twice as many as with the page before.
    /// They get twins, which tell if they were written.
    pub(super) fn foresee(&mut self, page: PageId, before: State, actions: &mut Actions<B>) {
        let foresees = self.config.expect_writes && !self.watches_all;
        if !foresees || self.order.is_at_barrier() {
            return;
        }
        let (way, number) = self.run_to(page);
        self.table.entry(page).run = number;
        let is_like = |next: &PageId| self.is_like(*next, page, before);
        let Some(next) = way.behind(page).filter(is_like).filter(|_| number > 1) else {
            return;
        };
        let pages = way.run(next, u32::from(number) - 1, |next| is_like(&next));
        for page in pages.iter() {
            let entry = self.table.entry(page);
            entry.run = number;
            match before {
                State::Clean => {
                    entry.state = State::Expected;
                    self.expected += 1;
                }
                _ => {
                    entry.state = State::Foreseen;
                    self.foreseen.push(page);
                }
            }
        }
        actions.push(Action::Foresee(pages));
        actions.push(Action::Protect(pages, Protection::Watched));
    }

    /// How many pages become writable with one, and which way.
    fn run_to(&self, page: PageId) -> (Direction, u8) {
        let (way, run) = Direction::of(|way| {
            let before = way.before(page).filter(|before| self.exists(*before));
            let entry = before.map(|before| self.table.get(before));
            let begun = entry.filter(|entry| match entry.state {
                State::Written | State::Foreseen | State::Dirty | State::Expected => true,
                State::Untouched | State::Shared | State::Pending | State::Clean => false,
            });
            begun.map_or(0, |entry| entry.run)
        });
        (way, run.saturating_mul(2).clamp(1, RUN))
    }

    /// Whether a page has the same home as another one and the state that that had.
    fn is_like(&self, page: PageId, other: PageId, before: State) -> bool {
        self.exists(page) && {
            let entry = self.table.get(page);
            let home = self.table.get(other).home;
            let like = entry.home == home && entry.state == before && entry.offer.admits_diffs();
            like && !entry.pinned && entry.vain < VAIN
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::Config;
    use crate::{Access, Area, Input, PageSet, Placement, Protocol};
    use fathomp_base::{NodeId, ThreadId};

    /// Writes pages that others have copies of, and ends the interval. What was foreseen.
    fn write(home: &mut Home<u32>, pages: &[u32]) -> Vec<PageId> {
        let mut actions = Vec::new();
        for page in pages {
            let (thread, page, access) = (ThreadId(0), PageId(*page), Access::Write);
            let fault = Input::Fault {
                thread,
                page,
                access,
            };
            home.step(fault, &mut actions).unwrap();
        }
        let foreseen = home.foreseen.clone();
        home.step(Input::Wrote(PageSet::default()), &mut actions)
            .unwrap();
        home.end_interval(&mut actions);
        foreseen
    }

    #[test]
    fn what_is_foreseen_in_vain_is_not_any_more_until_it_is_written() {
        let area = Area {
            pages: 8,
            home: Placement::At(NodeId(0)),
        };
        let config = Config::usual(2, vec![area], false, false);
        let mut home = Home::new(NodeId(0), config).unwrap();
        for page in 0..8 {
            home.table.entry(PageId(page)).state = State::Shared;
        }
        for _ in 0..VAIN {
            assert_eq!(write(&mut home, &[0, 1]), [PageId(2)]);
        }
        assert_eq!(write(&mut home, &[0, 1]), []);
        assert_eq!(write(&mut home, &[2]), []);
        assert_eq!(write(&mut home, &[0, 1]), [PageId(2)]);
    }
}
