//! Threads that come and go, and what they do.

use super::{Tool, tool};
use crate::runtime;
use crate::team::Member;
use crate::worker::{self, Worker};
use fathomp_ompt::{Data, ScopeEndpoint, State, TaskFlags, Thread};
use std::cell::Cell;
use std::sync::atomic::Ordering;

thread_local! {
    /// What this thread is, once the tool knows it. Not the runtime's own note of it, which
    /// leads through the member that the thread plays: a thread that rests plays none.
    static ME: Cell<Option<&'static Worker>> = const { Cell::new(None) };
}

/// What the calling thread is, if the tool knows it.
pub(super) fn me() -> Option<&'static Worker> {
    ME.try_with(Cell::get).ok().flatten()
}

/// The calling thread, which plays `home`, is one of the program's that the runtime has not
/// known.
pub(crate) fn adopts(home: &'static Member) {
    if let Some(tool) = tool() {
        tool.adopts(home);
    }
}

/// The calling thread is a worker, which the tool may not know yet.
pub(crate) fn thread_begins(worker: &'static Worker) {
    if let Some(tool) = tool() {
        tool.thread_begins(worker, Thread::WORKER);
    }
}

/// The calling thread, a worker, ends, or at least is told no more.
pub(crate) fn thread_ends(worker: &'static Worker) {
    if let Some(tool) = tool() {
        tool.thread_ends(worker);
    }
}

/// The thread of the program that plays `home` ends, outside of all regions.
pub(crate) fn thread_leaves(home: Option<&'static Member>) {
    if let (Some(tool), Some(home)) = (tool(), home) {
        tool.thread_leaves(home);
    }
}

impl Tool {
    /// The calling thread, which plays `home`, is one of the program's that the runtime has not
    /// known: it begins, and so does its initial task.
    #[cold]
    pub(super) fn adopts(&self, home: &'static Member) {
        self.thread_begins(home.worker(), Thread::INITIAL);
        let team = home.team();
        team.tool.data.clear();
        team.tool.call.store(0, Ordering::Relaxed);
        team.tool.initial.set(1);
        self.initial_begins(home, 1, 1);
    }

    /// The calling thread is `worker`, which the tool does not know yet.
    #[cold]
    fn thread_begins(&self, worker: &'static Worker, kind: Thread) {
        if worker.tool.known.get() != 0 {
            return;
        }
        worker.tool.known.set(1);
        worker.tool.data.clear();
        worker.tool.state.set(match kind {
            Thread::INITIAL => State::WORK_SERIAL.0,
            _ => State::IDLE.0,
        });
        let _ = ME.try_with(|me| me.set(Some(worker)));
        if let Some(begins) = self.callbacks.thread_begin.get() {
            begins(kind, worker.tool.data.pointer());
        }
    }

    /// The calling thread, which is `worker`, ends, or at least is told no more.
    #[cold]
    fn thread_ends(&self, worker: &'static Worker) {
        if worker.tool.known.get() == 0 {
            return;
        }
        if let Some(ends) = self.callbacks.thread_end.get() {
            ends(worker.tool.data.pointer());
        }
        worker.tool.known.set(0);
        let _ = ME.try_with(|me| me.set(None));
    }

    /// The thread of the program that plays `home` ends, outside of all regions.
    #[cold]
    fn thread_leaves(&self, home: &'static Member) {
        self.initial_ends(home, home.team().tool.data.pointer(), 1);
        self.thread_ends(home.worker());
    }

    /// The initial task of `home` begins.
    pub(super) fn initial_begins(&self, home: &'static Member, size: u32, index: u32) {
        let task = home.task.implicit();
        task.tool.begin(TaskFlags::INITIAL.0);
        if let Some(told) = self.callbacks.implicit_task.get() {
            let (begin, region) = (ScopeEndpoint::BEGIN, home.team().tool.data.pointer());
            let data = task.tool.data.pointer();
            told(begin, region, data, size, index, TaskFlags::INITIAL);
        }
    }

    /// It ends; `region` is what the tool gets of its region's data.
    pub(super) fn initial_ends(&self, home: &'static Member, region: *mut Data, index: u32) {
        if let Some(told) = self.callbacks.implicit_task.get() {
            let (end, data) = (ScopeEndpoint::END, home.task.implicit().tool.data.pointer());
            told(end, region, data, 0, index, TaskFlags::INITIAL);
        }
    }

    /// What can still be told at the end: idle threads end, and so does the calling one.
    pub(super) fn last_events(&self) {
        let Some(member) = worker::known() else {
            return runtime::end_workers();
        };
        // A thread that ends the process inside a region leaves its team as it is.
        if member.team().level() == 0 && member.worker().depth.get() == 0 {
            runtime::end_workers();
            self.thread_leaves(member);
        }
    }
}
