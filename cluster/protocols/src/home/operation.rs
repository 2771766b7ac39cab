//! What threads want that synchronise.

use super::{Actions, Home};
use crate::message::Request;
use crate::{Action, Body, LockId, Operation, Violation};
use fathomp_types::ThreadId;

impl<B: Clone + Body> Home<B> {
    pub(super) fn operation(
        &mut self,
        thread: ThreadId,
        operation: Operation,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if self.has_to_wait(operation) {
            self.deferred.operations.push((thread, operation));
            return Ok(());
        }
        if self.waits_for_changes(thread, operation, actions) {
            return Ok(());
        }
        let stays = match operation {
            Operation::Acquire(lock) | Operation::TryAcquire(lock) => self.take_kept(lock),
            Operation::Release(lock) => self.keep_lock(lock),
            _ => false,
        };
        if stays {
            actions.push(Action::Resume(thread));
            return Ok(());
        }
        let (request, notice) = match operation {
            Operation::Barrier => {
                self.order.come_to_barrier(thread)?;
                return self.enter_barrier(actions);
            }
            Operation::Release(lock) => {
                let notice = self.end_interval(actions);
                // Only the thread that gets the lock next waits for this thread's news.
                actions.push(Action::Resume(thread));
                let request = Request::Release(lock);
                self.order.exchange(request, notice, actions);
                return Ok(());
            }
            Operation::ReleaseFlush => {
                let notice = self.flush(actions);
                self.order.publish(thread, notice, actions);
                return Ok(());
            }
            Operation::Flush => (Request::Flush(thread), self.flush(actions)),
            Operation::AcquireFlush => (Request::Flush(thread), None),
            // What was written before has to be told at the next release only.
            Operation::Acquire(lock) => (Request::Acquire(lock, thread), None),
            Operation::TryAcquire(lock) => (Request::TryAcquire(lock, thread), None),
            Operation::Change(page, change) => {
                return self.want_change(thread, page, change, actions);
            }
            Operation::Learn(page) => return self.learn_what_is_shown(thread, page, actions),
        };
        self.order.ask(thread, request, notice, actions)
    }

    /// A lock that is kept here is wanted elsewhere.
    pub(super) fn give_back_lock(&mut self, lock: LockId, actions: &mut Actions<B>) {
        let first = actions.len();
        let notice = match self.order.is_at_barrier() || self.written.is_some() {
            // Nobody has written since, and the next holder has to be told of the last
            // interval: it may have to come to the barrier that this node is at.
            true => {
                self.order.demanded(actions);
                self.send_kept_if_told(first, actions);
                None
            }
            false => self.end_interval(actions),
        };
        let request = Request::Release(lock);
        self.order.exchange(request, notice, actions);
    }

    /// True if all diffs for pages at home here that I know of have arrived.
    pub(super) fn is_settled(&self) -> bool {
        self.need.get(&self.me).is_none_or(|need| {
            let mut need = need.iter();
            need.all(|(writer, interval)| self.received.covers(*writer, *interval))
        })
    }

    /// Ends what waits for diffs to arrive if they all have: the barrier, pages that
    /// came with news, operations.
    pub(super) fn settle(&mut self, actions: &mut Actions<B>) -> Result<(), Violation> {
        if self.is_settled() {
            self.leave_barrier_if_complete(actions)?;
            self.release_held(actions);
            self.order.settle(actions);
            self.enter_barrier(actions)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::Config;
    use crate::message::{Control, Message};
    use crate::{Area, Input, Interval, PageSet, Placement, Protocol, WriteNotice};
    use fathomp_types::{NodeId, PageId};

    /// One thread learns of an interval, and another could read pages before its diffs are here.
    #[test]
    fn diffs_are_awaited_from_when_they_are_known_of_until_they_are_here() {
        let area = Area {
            pages: 1,
            home: Placement::At(NodeId(1)),
        };
        let config = Config::usual(2, vec![area], false, false);
        let mut home: Home<u32> = Home::new(NodeId(1), config).unwrap();
        let mut step = |input| {
            let mut actions = Vec::new();
            home.step(input, &mut actions).unwrap();
            let goes_on = actions
                .iter()
                .any(|action| matches!(action, Action::Resume(_)));
            (goes_on, home.awaits_diffs())
        };
        let (thread, operation) = (ThreadId(0), Operation::Flush);
        assert_eq!(step(Input::Operation { thread, operation }), (false, false));
        let (writer, interval) = (NodeId(0), Interval(1));
        let notice = WriteNotice {
            writer,
            interval,
            pages: PageSet::from_sorted(&[PageId(0)]),
            recalls: false,
            late: false,
            first: false,
            knew: Vec::new(),
        };
        let message = Control::answer(0, thread, Some(vec![notice])).into();
        let from = NodeId(0);
        assert_eq!(step(Input::Message { from, message }), (false, true));
        let message = Message::Diffs {
            epoch: 0,
            interval,
            diffs: Vec::new(),
            more: false,
        };
        assert_eq!(step(Input::Message { from, message }), (true, false));
    }
}
