//! Pages that are borrowed: their home writes them and does not notice, so a node keeps a
//! copy only until it learns of anything, at a barrier or at any other synchronisation. A node
//! that asks again then sees whatever the home has written. That costs the home nothing,
//! neither faults nor messages.

use super::{Actions, Home};
use crate::guess::{Event, Why};
use crate::message::Request;
use crate::state::State;
use crate::{Body, PageRange};
use fathomp_types::PageId;

impl<B: Clone + Body> Home<B> {
    /// The content of pages that comes next is borrowed.
    pub(super) fn borrow(&mut self, pages: PageRange) {
        for page in pages.iter() {
            if self.pending.contains_key(&page) {
                self.table.entry(page).borrowed = true;
                self.borrowed.push(page);
            }
        }
    }

    /// This node learns of something.
    pub(super) fn give_back(&mut self, actions: &mut Actions<B>) {
        // What is written at a barrier may not be told there (see `has_to_wait`).
        let tells = self.order.is_root() || !self.order.is_at_barrier();
        for page in self.take_borrowed() {
            match self.table.get(page).state {
                State::Dirty if !tells => {
                    self.borrowed.push(page);
                    continue;
                }
                State::Dirty => {
                    let notice = self.end_interval(actions);
                    self.order.exchange(Request::Publish, notice, actions);
                    self.drop_copy(page, Why::News, actions);
                }
                State::Clean | State::Expected => self.drop_copy(page, Why::News, actions),
                State::Pending => self.give_back_unseen(page, actions),
                State::Untouched | State::Shared | State::Written => {}
                State::Foreseen | State::Leased => {}
            }
            self.note(Event::Returned(page));
            self.table.entry(page).borrowed = false;
        }
    }

    /// A barrier is over.
    pub(super) fn give_all_back(&mut self, actions: &mut Actions<B>) {
        for page in self.take_borrowed() {
            if self.table.get(page).state != State::Untouched {
                self.drop_copy(page, Why::News, actions);
            }
        }
    }

    fn take_borrowed(&mut self) -> Vec<PageId> {
        let mut borrowed = std::mem::take(&mut self.borrowed);
        borrowed.retain(|page| self.table.get(*page).borrowed);
        borrowed.sort_unstable();
        borrowed.dedup();
        borrowed
    }
}
