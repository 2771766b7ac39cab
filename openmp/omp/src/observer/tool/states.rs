//! In which state a thread is told to be.

use crate::worker::Worker;
use fathomp_ompt::{Mutex, State, SyncRegion, WaitId};

/// What a thread is told to be waiting for.
#[derive(Clone, Copy)]
pub(super) struct Wait {
    pub(super) state: State,
    pub(super) id: WaitId,
}

impl Wait {
    pub(super) fn of(region: SyncRegion) -> Self {
        let state = match region {
            SyncRegion::BARRIER_EXPLICIT => State::WAIT_BARRIER_EXPLICIT,
            SyncRegion::BARRIER_IMPLICIT_PARALLEL => State::WAIT_BARRIER_IMPLICIT_PARALLEL,
            SyncRegion::BARRIER_IMPLEMENTATION => State::WAIT_BARRIER_IMPLEMENTATION,
            SyncRegion::TASKWAIT => State::WAIT_TASKWAIT,
            SyncRegion::TASKGROUP => State::WAIT_TASKGROUP,
            _ => State::WAIT_BARRIER_IMPLICIT_WORKSHARE,
        };
        Self { state, id: 0 }
    }

    pub(super) fn for_mutex(kind: Mutex, id: WaitId) -> Self {
        let state = match kind {
            Mutex::CRITICAL => State::WAIT_CRITICAL,
            Mutex::ATOMIC => State::WAIT_ATOMIC,
            Mutex::ORDERED => State::WAIT_ORDERED,
            _ => State::WAIT_LOCK,
        };
        Self { state, id }
    }
}

/// What a thread was told to be doing.
pub(crate) struct Before(u32, WaitId);

impl Worker {
    /// Whether the tool knows this thread.
    pub(crate) fn is_told_of(&self) -> bool {
        self.tool.known.get() != 0
    }

    /// From now on this thread is told to be waiting.
    pub(super) fn goes_to(&self, wait: Wait) -> Before {
        let before = Before(self.tool.state.get(), self.tool.wait.get());
        self.tool.state.set(wait.state.0);
        self.tool.wait.set(wait.id);
        before
    }

    /// And now no longer.
    pub(super) fn goes_back_to(&self, before: Before) {
        self.tool.state.set(before.0);
        self.tool.wait.set(before.1);
    }

    /// Does something meanwhile this thread is told to be waiting.
    pub(super) fn in_state<R>(&self, wait: Wait, body: impl FnOnce() -> R) -> R {
        let before = self.goes_to(wait);
        let result = body();
        self.goes_back_to(before);
        result
    }

    /// The thread runs the program's code in a region of that level.
    pub(super) fn works(&self, level: u32) {
        let state = match level {
            0 => State::WORK_SERIAL,
            _ => State::WORK_PARALLEL,
        };
        self.tool.state.set(state.0);
    }
}
