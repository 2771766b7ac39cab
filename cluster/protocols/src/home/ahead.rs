//! Pages that are opened to writes before a thread faults at them. Each gets a twin, and
//! comparing with it ([`crate::Input::Wrote`]) tells whether it was written.

use super::{Actions, Home};
use crate::heuristics::Event;
use crate::state::State;
use crate::{Access, Action, Body, PageRange, PageSet, Protection, Violation};
use fathomp_types::PageId;

impl<B: Clone + Body> Home<B> {
    /// A thread begins to write a page, whose state is still the one before. Others like it,
    /// as planned, become writable as well; they are still to be [watched](watch_ahead).
    pub(super) fn open_ahead(&mut self, page: PageId, actions: &mut Actions<B>) -> Vec<PageRange> {
        if self.watches_all || self.order.is_at_barrier() {
            return Vec::new();
        }
        let pages = self.planned(page, Access::Write);
        let at_home = self.table.get(page).state == State::Shared;
        let sides = [
            PageRange::new(pages.first(), page.0 - pages.first().0),
            pages.split(page.0 - pages.first().0 + 1).1,
        ];
        let sides: Vec<_> = sides.into_iter().flatten().collect();
        for &pages in &sides {
            for page in pages.iter() {
                if at_home {
                    self.table.entry(page).state = State::Foreseen;
                } else {
                    self.table.entry(page).state = State::Expected;
                    self.expected += 1;
                }
            }
            if at_home {
                self.opened_ahead.push(pages);
            }
            actions.push(Action::TwinAhead(pages));
        }
        sides
    }

    /// Pages were written without a fault, and no others of those that were opened ahead.
    pub(super) fn wrote(
        &mut self,
        pages: &PageSet,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if pages.end() > u64::from(self.table.layout().pages()) {
            return Err(Violation::Runtime("a write outside the shared areas"));
        }
        for page in pages.iter() {
            match self.table.get(page).state {
                State::Shared | State::Foreseen => {
                    self.note(Event::Written(page));
                    self.table.entry(page).state = State::Written;
                    self.dirty.push(page);
                }
                State::Expected => self.copy_written(page),
                _ => {}
            }
        }
        self.close_ahead(actions);
        Ok(())
    }

    /// Pages at home here that were opened ahead are watched as before. Copies stay as they are:
    /// they may be written later.
    fn close_ahead(&mut self, actions: &mut Actions<B>) {
        for pages in std::mem::take(&mut self.opened_ahead) {
            for page in pages.iter() {
                let entry = self.table.entry(page);
                if entry.state == State::Foreseen {
                    entry.state = State::Shared;
                }
                actions.push(Action::DropTwin(page));
            }
        }
    }

    /// A copy that was not written will not be.
    pub(super) fn stop_expecting(&mut self, page: PageId, actions: &mut Actions<B>) {
        let entry = self.table.entry(page);
        if entry.state == State::Expected {
            entry.state = State::Clean;
            self.expected -= 1;
            actions.push(Action::DropTwin(page));
        }
    }
}

/// From now on it is noticed if pages are written that were opened ahead.
pub(super) fn watch_ahead<B>(pages: Vec<PageRange>, actions: &mut Actions<B>) {
    let watched = |pages| Action::Protect(pages, Protection::Watched);
    actions.extend(pages.into_iter().map(watched));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::Config;
    use crate::message::Message;
    use crate::{Area, Input, Placement, Protocol};
    use fathomp_types::{NodeId, ThreadId};

    /// What others bring or have seen meanwhile may be changed back.
    #[test]
    fn nobody_else_has_to_do_with_what_is_opened_ahead() {
        let area = Area {
            pages: 4,
            home: Placement::At(NodeId(0)),
        };
        let config = Config::usual(2, vec![area], false, false);
        let mut home = Home::<u32>::new(NodeId(0), config).unwrap();
        let all = PageRange::new(PageId(0), 4).unwrap();
        let mut actions = Vec::new();
        for page in all.iter() {
            home.table.entry(page).state = State::Shared;
        }
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
        let foreseen = Action::TwinAhead(PageId(2).into());
        assert!(actions.contains(&foreseen));
        // Another node fetches it: then it is told.
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
    }
}
