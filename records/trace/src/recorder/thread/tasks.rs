//! What a thread says of the tasks that it makes and runs.

use super::ThreadRecorder;
use crate::layout::frame;
use crate::record::PIECES_TIMED;
use crate::state::State;
use fathomp_ring::Word;
use fathomp_sys::clock::now;
use fathomp_types::Ticks;

/// A task that is timed: since when, and what was known of the thread's other tasks then.
#[derive(Clone, Copy, Debug)]
pub struct TaskBegin {
    at: Ticks,
    /// Time in tasks that have ended.
    others: u64,
    /// Time that tasks waited for others.
    waited: u64,
}

impl ThreadRecorder {
    /// The thread created an explicit task.
    #[inline]
    pub fn task_created(&self) {
        self.innermost()[frame::TASKS_CREATED].add(1);
    }

    /// The thread created so many explicit tasks.
    #[inline]
    pub fn tasks_created(&self, count: u64) {
        self.innermost()[frame::TASKS_CREATED].add(count);
    }

    /// The thread ran an explicit task.
    #[inline]
    pub fn task_run(&self) {
        self.innermost()[frame::TASKS_RUN].add(1);
    }

    /// The task that the thread runs next is not deferred, since a clause says so.
    #[inline]
    pub fn task_undeferred(&self) {
        self.innermost()[frame::TASKS_UNDEFERRED].add(1);
    }

    /// The task that the thread created has to wait for others.
    #[inline]
    pub fn task_dependent(&self) {
        self.innermost()[frame::TASKS_DEPENDENT].add(1);
    }

    /// The thread begins an explicit task, which is timed if it is one of the first.
    #[inline]
    pub fn task_begins(&self) -> Option<TaskBegin> {
        let frame = self.innermost();
        frame[frame::TASKS_RUN].add(1);
        (frame[frame::TASKS_RUN].get() <= PIECES_TIMED).then(|| TaskBegin {
            at: now(),
            others: frame[frame::TASK_TICKS].get(),
            waited: self.waited_in_tasks(),
        })
    }

    /// The thread ends the task that it began last and has not ended.
    #[inline]
    pub fn task_ends(&self, begin: TaskBegin) {
        let frame = self.innermost();
        let waited = self.waited_in_tasks().saturating_sub(begin.waited);
        let busy = now().since(begin.at).0.saturating_sub(waited);
        // Tasks that ran inside this one stand for themselves.
        let inside = frame[frame::TASK_TICKS].get().saturating_sub(begin.others);
        let own = busy.saturating_sub(inside);
        frame[frame::TASK_TICKS].set(begin.others + busy);
        if own > frame[frame::LONGEST_TASK].get() {
            frame[frame::LONGEST_TASK].set(own);
        }
    }

    fn waited_in_tasks(&self) -> u64 {
        let frame = self.innermost();
        match frame[frame::MASK].get() & 1 << State::TaskWait as u64 {
            0 => 0,
            _ => frame[frame::TICKS + State::TaskWait as usize].get(),
        }
    }
}
