//! Copies that will probably be written, because the last one here was: they get a twin when
//! they come, and may be written without a fault. Before an input that may end an interval,
//! or bring news, they are compared with it ([`crate::Input::Wrote`]).

use super::message::Message;
use super::{Actions, Homeless, State};
use crate::{Action, Input, Offer, PageSet, Protection};
use fathomp_base::PageId;

impl<B: Clone> Homeless<B> {
    /// Whether a page that has come may be written without a fault, if the last copy here
    /// was `rewritten`.
    pub(super) fn expects_writes(&self, rewritten: bool) -> bool {
        // Whoever is at a barrier will not write before it is over.
        rewritten && self.is_direct() && self.is_between_barriers()
    }

    /// A page with a twin will probably be written.
    pub(super) fn expect(&mut self, page: PageId, actions: &mut Actions<B>) {
        self.table.entry(page).state = State::Expected;
        self.expected.push(page);
        Action::protect(actions, page, Protection::Watched);
        self.offer_twin(page);
    }

    /// Those of the expected pages that were written.
    pub(super) fn wrote(&mut self, pages: &PageSet, actions: &mut Actions<B>) {
        for page in std::mem::take(&mut self.expected) {
            let entry = self.table.entry(page);
            if entry.state != State::Expected {
                continue;
            }
            if pages.contains(page) {
                entry.state = State::Dirty;
                entry.rewritten = true;
                self.dirty.push(page);
            } else {
                entry.state = State::Valid;
                actions.push(Action::DropTwin(page));
                Action::protect(actions, page, Protection::Read);
                self.offer(page, Offer::Open);
            }
        }
    }

    /// Whether it has to be told before an input which of the expected pages were written.
    pub(super) fn asks_for_writes(&self, input: &Input<Message<B>>) -> bool {
        let asks = match input {
            Input::Operation { .. } | Input::Logged(_) | Input::Claimed(..) => true,
            Input::Message { message, .. } => match message {
                Message::Control(_) => true,
                // It may be what a barrier waits for here.
                Message::Pages { .. } | Message::Diffs { .. } => self.order.comes_to_barrier(),
                Message::PagesWanted { .. } | Message::DiffsWanted { .. } => false,
            },
            Input::Fault { .. } | Input::Wrote(_) | Input::Taken(_) | Input::Kept(..) => false,
            Input::Left(_) | Input::Borrowed(_) | Input::Brought(_) => false,
        };
        asks && !self.expected.is_empty()
    }
}
