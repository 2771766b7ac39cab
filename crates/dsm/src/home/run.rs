//! Writes to one page after the other: after a few faults they need no more.

use super::page::State;
use super::{Actions, Home};
use crate::prefetch::{Direction, Reach};
use crate::{Action, Body, Offer, PageRange};
use fathomp_base::PageId;

/// Most pages that become writable at one fault.
const RUN: u8 = 32;

/// A page that so often became writable in vain does so by a fault of its own.
const VAIN: u8 = 2;

/// Pages that became writable with one at which a thread faulted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Run {
    /// Where it faulted.
    from: PageId,
    way: Direction,
    /// Those behind it, in this direction.
    pages: PageRange,
}

impl<B: Clone + Body> Home<B> {
    /// A thread begins to write a page: those behind it that are like it, and that it is
    /// likely to write next, are to become writable as well, twice as many as with the page
    /// before. They get twins, which tell if they were written.
    pub(super) fn foresee(
        &mut self,
        page: PageId,
        before: State,
        actions: &mut Actions<B>,
    ) -> Option<PageRange> {
        let foresees = self.config.expect_writes && !self.watches_all;
        if !foresees || self.order.is_at_barrier() {
            return None;
        }
        let (way, number) = self.run_to(page);
        self.table.entry(page).run = number;
        let is_like = |next: &PageId| self.is_like(*next, page, before);
        let behind = way.behind(page).filter(|_| number > 1);
        let next = behind.filter(is_like)?;
        let pages = way.run(next, u32::from(number) - 1, |next| is_like(&next));
        let mut twinned = false;
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
                    twinned |= self.offer(page, Offer::Twinned);
                }
            }
        }
        let from = page;
        self.runs.push(Run { from, way, pages });
        if twinned {
            actions.push(Action::Offer(pages, Offer::Twinned));
        }
        actions.push(Action::Foresee(pages));
        Some(pages)
    }

    /// It is known which of the pages that were foreseen were written. The next time there
    /// are as many of them.
    pub(super) fn end_runs(&mut self, actions: &mut Actions<B>) {
        let mut opened = Vec::new();
        for Run { from, way, pages } in std::mem::take(&mut self.runs) {
            let mut ahead: Vec<_> = pages.iter().collect();
            if way == Direction::Down {
                ahead.reverse();
            }
            let is_written = |page: &PageId| {
                matches!(self.table.get(*page).state, State::Written | State::Dirty)
            };
            let reached = ahead
                .iter()
                .rposition(is_written)
                .map_or(0, |last| last + 1);
            for (number, &page) in ahead.iter().enumerate() {
                let entry = self.table.entry(page);
                let unwritten = matches!(entry.state, State::Foreseen | State::Expected);
                entry.vain = entry
                    .vain
                    .saturating_add(u8::from(unwritten && number < reached));
                if entry.home == self.me {
                    if unwritten {
                        entry.state = State::Shared;
                    }
                    actions.push(Action::DropTwin(page));
                    if self.table.get(page).offer == Offer::Twinned {
                        opened.push(page);
                    }
                }
            }
            if reached < ahead.len() {
                let pages = u8::try_from(reached + 1).unwrap_or(RUN);
                let entry = self.table.entry(from);
                (entry.start, entry.short) = (Reach { way, pages }, false);
            }
        }
        self.open_all(opened.into_iter(), actions);
    }

    /// How many pages become writable with one, and which way. Where somebody goes on, those
    /// from which he came are opened together with more the next time.
    fn run_to(&mut self, page: PageId) -> (Direction, u8) {
        let (way, run) = Direction::of(|way| {
            let before = way.before(page).filter(|before| self.exists(*before));
            let entry = before.map(|before| self.table.get(before));
            let begun = entry.filter(|entry| match entry.state {
                State::Written | State::Foreseen | State::Dirty | State::Expected => true,
                State::Untouched | State::Shared | State::Pending | State::Clean => false,
                State::Leased => false,
            });
            begun.map_or(0, |entry| entry.run)
        });
        if run == 0 {
            let start = self.table.get(page).start;
            return (start.way, start.pages.clamp(1, RUN));
        }
        let pages = run.saturating_mul(2).min(RUN);
        let first = way.back(page, run).filter(|first| self.exists(*first));
        let first = first.map(|first| self.table.entry(first));
        if let Some(first) = first.filter(|first| first.run == run) {
            // Not if it is too short every other time only.
            let again = first.start.pages == 0 || first.short;
            first.short = !again;
            if again {
                first.start = Reach { way, pages };
            }
        }
        (way, pages)
    }

    /// Whether a page has the same home as another one and the state that that had.
    fn is_like(&self, page: PageId, other: PageId, before: State) -> bool {
        self.exists(page) && {
            let entry = self.table.get(page);
            let home = self.table.get(other).home;
            let like = entry.home == home && entry.state == before;
            // So that it can be offered again afterwards.
            let offered = before == State::Clean || !self.is_direct() || entry.offer == Offer::Open;
            like && offered && !entry.pinned && entry.vain < VAIN
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::Config;
    use crate::message::Message;
    use crate::{Access, Area, Input, PageSet, Placement, Protocol};
    use fathomp_base::{NodeId, ThreadId};

    /// Writes pages that others have copies of, and ends the interval. What was foreseen.
    fn write(home: &mut Home<u32>, pages: &[u32]) -> Vec<u32> {
        let mut actions = Vec::new();
        let pages: Vec<_> = pages.iter().copied().map(PageId).collect();
        for &page in &pages {
            if home.table.get(page).state == State::Foreseen {
                continue;
            }
            let (thread, access) = (ThreadId(0), Access::Write);
            let fault = Input::Fault {
                thread,
                page,
                access,
            };
            home.step(fault, &mut actions).unwrap();
        }
        let foreseen = home.runs.iter().flat_map(|run| run.pages.iter());
        let foreseen: Vec<_> = foreseen.collect();
        let wrote = foreseen.iter().filter(|page| pages.contains(page));
        home.step(Input::Wrote(wrote.copied().collect()), &mut actions)
            .unwrap();
        home.end_interval(&mut actions);
        foreseen.into_iter().map(|page| page.0).collect()
    }

    fn shared(pages: u32) -> Home<u32> {
        let area = Area {
            pages,
            home: Placement::At(NodeId(0)),
        };
        let config = Config::usual(2, vec![area], false, false);
        let mut home = Home::new(NodeId(0), config).unwrap();
        for page in 0..pages {
            home.table.entry(PageId(page)).state = State::Shared;
        }
        home
    }

    #[test]
    fn runs_are_as_long_from_the_beginning_as_they_were_the_last_time() {
        let mut home = shared(40);
        let up: Vec<u32> = (3..13).collect();
        let down: Vec<u32> = (20..30).rev().collect();
        // Every page faults that is not among those foreseen.
        let faults = |pages: &[u32], foreseen: &[u32]| {
            let faults = pages.iter().filter(|page| !foreseen.contains(page));
            faults.count()
        };
        for pages in [&up, &down] {
            let rounds: Vec<_> = (0..8)
                .map(|_| faults(pages, &write(&mut home, pages)))
                .collect();
            assert_eq!(rounds, [4, 3, 3, 2, 2, 2, 2, 1]);
            let few = &pages[..4];
            assert_eq!(write(&mut home, few).len(), 9);
            assert_eq!(write(&mut home, few).len(), 3);
            assert_eq!(faults(pages, &write(&mut home, pages)), 2);
        }
    }

    /// What others bring or have seen meanwhile may be changed back.
    #[test]
    fn nobody_else_has_to_do_with_what_is_foreseen() {
        let mut home = shared(4);
        home.config.direct = true;
        let all = PageRange::new(PageId(0), 4).unwrap();
        let mut actions = Vec::new();
        home.open_all(all.iter(), &mut actions);
        let offered = |home: &Home<u32>| [0, 1, 2].map(|page| home.table.get(PageId(page)).offer);
        let mut fault = |home: &mut Home<u32>, page| {
            let (thread, access, page) = (ThreadId(0), Access::Write, PageId(page));
            let fault = Input::Fault {
                thread,
                page,
                access,
            };
            home.step(fault, &mut actions).unwrap();
        };
        fault(&mut home, 0);
        fault(&mut home, 1);
        let foreseen = Action::Foresee(PageRange::new(PageId(2), 1).unwrap());
        let offer = Action::Offer(PageRange::new(PageId(2), 1).unwrap(), Offer::Twinned);
        let place = |what| actions.iter().position(|action| *action == what).unwrap();
        assert!(place(offer) < place(foreseen));
        assert_eq!(offered(&home), [Offer::Open, Offer::Open, Offer::Twinned]);
        // Somebody fetches it: then it is told.
        let (epoch, need) = (0, Vec::new());
        let message = Message::Fetch {
            epoch,
            pages: PageId(2).into(),
            need,
        };
        let from = NodeId(1);
        home.step(Input::Message { from, message }, &mut actions)
            .unwrap();
        home.step(Input::Wrote(PageSet::default()), &mut actions)
            .unwrap();
        let notice = home.end_interval(&mut actions).unwrap();
        assert_eq!(
            notice.pages.iter().collect::<Vec<_>>(),
            [0, 1, 2].map(PageId)
        );
        assert_eq!(offered(&home), [Offer::Open; 3]);
    }

    #[test]
    fn what_is_foreseen_in_vain_is_not_any_more_until_it_is_written() {
        let mut home = shared(4);
        for foreseen in [vec![2], vec![1, 3], vec![1, 3], vec![1, 2, 3]] {
            assert_eq!(write(&mut home, &[0, 1, 2, 3]), foreseen);
        }
        for _ in 0..VAIN {
            assert_eq!(write(&mut home, &[0, 1, 3]), [1, 2, 3]);
        }
        assert_eq!(write(&mut home, &[0]), [1]);
        assert_eq!(write(&mut home, &[2]), [0; 0]);
        assert_eq!(write(&mut home, &[0, 1, 2]), [2]);
    }
}
