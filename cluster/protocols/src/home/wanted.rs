//! Pages that are fetched as a barrier ends, before a thread misses them. They are asked for
//! little by little: what a thread does miss must not have to wait behind all of them.

use super::{Actions, Home};
use crate::state::State;
use crate::{Body, PageRange};
use fathomp_types::PageId;
use std::collections::VecDeque;

/// Most pages that are on their way to a node when it asks for more that nobody misses yet.
const UNDERWAY_MAX: usize = 64;

/// Most pages in a message: the first can be read while others are on their way.
const AT_ONCE: usize = 16;

impl<B: Clone + Body> Home<B> {
    /// A barrier is over: these are wanted, as far as they are not here.
    pub(super) fn fetch_ahead(&mut self, mut pages: Vec<PageId>, actions: &mut Actions<B>) {
        pages.retain(|page| self.exists(*page));
        pages.sort_unstable();
        pages.dedup();
        self.wanted = VecDeque::from(pages);
        self.ask_ahead(actions);
    }

    /// Asks for more of what is wanted, if few pages are on their way. What has not been asked
    /// for when a node comes to the next barrier is not wanted any more.
    pub(super) fn ask_ahead(&mut self, actions: &mut Actions<B>) {
        if self.order.comes_to_barrier() {
            self.wanted.clear();
        }
        while !self.wanted.is_empty() && self.pending.len() < UNDERWAY_MAX {
            if let Some(run) = self.next_wanted() {
                self.fetch(run, actions);
            }
        }
    }

    /// The first of those that are wanted and not here, with those behind it that can be asked
    /// for together.
    fn next_wanted(&mut self) -> Option<PageRange> {
        let table = &self.table;
        let (me, home_of) = (self.me, |page: PageId| table.get(page).home);
        let postponed = &self.postponed;
        let is_missing = |page: PageId| {
            let entry = table.get(page);
            let is_elsewhere = entry.home != me && !entry.pinned;
            // What was changed here and not sent would be missing in it.
            entry.state == State::Untouched && is_elsewhere && !postponed.has_collected_of(page)
        };
        let first = self.wanted.pop_front().filter(|page| is_missing(*page))?;
        let behind = self.wanted.iter().zip(1..AT_ONCE);
        let together = behind.take_while(|(page, number)| {
            usize::try_from(page.0 - first.0) == Ok(*number)
                && home_of(**page) == home_of(first)
                && is_missing(**page)
        });
        let more = together.count();
        self.wanted.drain(..more);
        PageRange::new(first, u32::try_from(more + 1).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::Config;
    use crate::message::Message;
    use crate::{Action, Area, Change, ChangeKind, Input, Operation};
    use crate::{PageCopy, Placement, Protocol};
    use fathomp_types::{NodeId, ThreadId};

    fn node() -> Home<u32> {
        let area = Area {
            pages: 400,
            home: Placement::At(NodeId(0)),
        };
        let mut config = Config::usual(2, vec![area], false, false);
        config.carries = true;
        Home::new(NodeId(1), config).unwrap()
    }

    /// Pages come, and what is asked for then.
    fn arrive(
        home: &mut Home<u32>,
        pages: PageRange,
        actions: &mut Actions<u32>,
    ) -> Vec<PageRange> {
        let copy = |_| PageCopy {
            versions: Vec::new(),
            after: Vec::new(),
            content: 0,
        };
        let message = Message::Pages {
            epoch: 0,
            first: pages.first(),
            copies: pages.iter().map(copy).collect(),
        };
        let from = NodeId(0);
        home.step(Input::Message { from, message }, actions)
            .unwrap();
        asked(actions)
    }

    /// What is asked for.
    fn asked(actions: &mut Actions<u32>) -> Vec<PageRange> {
        let ranges = actions.drain(..).filter_map(|action| match action {
            Action::Send(_, Message::Fetch { pages, .. }) => Some(pages),
            _ => None,
        });
        ranges.collect()
    }

    #[test]
    fn what_is_wanted_is_asked_for_little_by_little() {
        let (mut home, mut actions) = (node(), Vec::new());
        // Every second page is one by itself, and those from 100 on follow each other.
        let wanted = (0..50).map(|page| 2 * page).chain(100..300).chain([9999]);
        home.fetch_ahead(wanted.map(PageId).collect(), &mut actions);
        let mut underway: VecDeque<_> = asked(&mut actions).into();
        let mut all = Vec::new();
        while let Some(pages) = underway.pop_front() {
            assert!(home.pending.len() < UNDERWAY_MAX + AT_ONCE);
            all.extend(pages.iter());
            underway.extend(arrive(&mut home, pages, &mut actions));
        }
        let expected = (0..50).map(|page| 2 * page).chain(100..300).map(PageId);
        assert_eq!(all, expected.collect::<Vec<_>>());
    }

    /// It would come without what was changed.
    #[test]
    fn a_page_of_which_changes_wait_to_be_sent_is_not_asked_for() {
        let (mut home, mut actions) = (node(), Vec::new());
        home.fetch_ahead((0..200).map(PageId).collect(), &mut actions);
        let changed = PageId(150);
        let change = Change::new(0, 8, ChangeKind::Add, 1).unwrap();
        home.step(Input::Postpone(changed, change), &mut actions)
            .unwrap();
        let mut underway: VecDeque<_> = asked(&mut actions).into();
        let mut all = Vec::new();
        while let Some(pages) = underway.pop_front() {
            all.extend(pages.iter());
            underway.extend(arrive(&mut home, pages, &mut actions));
        }
        let expected = (0..200).map(PageId).filter(|page| *page != changed);
        assert_eq!(all, expected.collect::<Vec<_>>());
    }

    #[test]
    fn at_the_next_barrier_nothing_is_wanted_any_more() {
        let (mut home, mut actions) = (node(), Vec::new());
        home.fetch_ahead((0..200).map(PageId).collect(), &mut actions);
        let (thread, operation) = (ThreadId(0), Operation::Barrier);
        home.step(Input::Operation { thread, operation }, &mut actions)
            .unwrap();
        home.ask_ahead(&mut actions);
        assert!(home.wanted.is_empty());
    }
}
