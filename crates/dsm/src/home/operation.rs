//! What threads want that synchronise.

use super::{Actions, Home};
use crate::order::Request;
use crate::{Action, Body, Operation, Violation};
use fathomp_base::ThreadId;

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
        let (request, notice) = match operation {
            Operation::Barrier => {
                self.order.come_to_barrier(thread)?;
                return self.enter_barrier(actions);
            }
            Operation::Release(lock) => {
                let notice = self.end_interval(actions);
                // Nobody waits for this thread's news but who gets the lock next.
                actions.push(Action::Resume(thread));
                let request = Request::Release(lock);
                self.order.exchange(request, notice, actions);
                return Ok(());
            }
            Operation::ReleaseFlush => {
                let notice = self.end_interval(actions);
                self.order.publish(thread, notice, actions);
                return Ok(());
            }
            Operation::Flush => (Request::Flush(thread), self.end_interval(actions)),
            Operation::AcquireFlush => (Request::Flush(thread), None),
            // What was written before has to be told at the next release only.
            Operation::Acquire(lock) => (Request::Acquire(lock, thread), None),
            Operation::TryAcquire(lock) => (Request::TryAcquire(lock, thread), None),
            Operation::Update(page) => return self.want_update(thread, page, actions),
        };
        self.order.ask(thread, request, notice, actions)
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
            if !self.order.asks_for_itself() {
                self.offer_next_update(actions);
            }
            self.enter_barrier(actions)?;
        }
        Ok(())
    }
}
