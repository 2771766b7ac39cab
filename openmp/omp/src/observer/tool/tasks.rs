//! Explicit tasks.

use super::states::Wait;
use super::words::{Word, code};
use super::{Tool, tool};
use crate::observer::{Announced, TaskEnd};
use crate::task::{ALL_MEMORY, Access, Dependence, Task};
use crate::team::Member;
use crate::worker::current;
use fathomp_ompt::{
    self as ompt, CancelFlags, Data, DependenceType, Dispatch, DispatchChunk, ScopeEndpoint,
    SyncRegion, TaskFlags, TaskStatus, Work,
};
use fathomp_sys::call_site::{Call, call, note_again};
use fathomp_sys::outlined::{Opaque, Outlined};
use std::sync::atomic::Ordering;

/// The next tasks that the calling thread makes have these clauses besides those that the runtime
/// knows itself.
#[inline]
pub fn announce(clauses: impl FnOnce() -> Announced) {
    if tool().is_some() {
        announced(clauses());
    }
}

#[cold]
fn announced(clauses: Announced) {
    let flag = |is_set, flag| if is_set { flag } else { TaskFlags::default() };
    let flags =
        flag(clauses.untied, TaskFlags::UNTIED).with(flag(clauses.mergeable, TaskFlags::MERGEABLE));
    current().worker().tool.announced.set(flags.0);
}

/// Runs `body`, which makes tasks of a `taskloop` construct of `count` iterations.
#[inline]
pub fn taskloop(member: &'static Member, count: u64, body: impl FnOnce()) {
    match tool() {
        None => body(),
        Some(tool) => tool.taskloop(member, count, body),
    }
}

/// Runs `body`, in which the task that `member` runs gives way to others.
#[inline]
pub(crate) fn yields(member: &'static Member, body: impl FnOnce()) {
    if tool().is_none() {
        return body();
    }
    let yields = &member.worker().tool.yields;
    yields.set(1);
    body();
    yields.set(0);
}

/// Runs `wait`, in which `member` waits for what a task with these dependences would wait for, and
/// which tells its argument of each that is not complete.
#[inline]
pub(crate) fn wait_depend(
    member: &'static Member,
    dependences: &[Dependence],
    wait: impl FnOnce(Option<&dyn Fn(&'static Task)>),
) {
    match tool() {
        Some(tool) if !dependences.is_empty() => tool.wait_depend(member, dependences, wait),
        _ => wait(None),
    }
}

/// The next task that `member` makes runs `count` iterations of a `taskloop` construct, the first of
/// which has that number.
#[inline]
pub fn piece(member: &'static Member, from: u64, count: u64) {
    if tool().is_some() {
        member.worker().tool.piece.set([from, count]);
    }
}

/// In a doacross nest of so many loops `member` has done the iteration with these values, outermost
/// first.
#[inline]
pub(crate) fn doacross_posts(member: &'static Member, depth: usize, value: impl Fn(usize) -> u64) {
    if let Some(tool) = tool() {
        let values = (0..depth).map(value).collect();
        tool.doacross(member, DependenceType::SOURCE, values);
    }
}

/// The same of an iteration that it need not wait for any more.
#[inline]
pub(crate) fn doacross_waited(member: &'static Member, depth: usize, value: impl Fn(usize) -> u64) {
    if let Some(tool) = tool() {
        let values = (0..depth).map(value).collect();
        tool.doacross(member, DependenceType::SINK, values);
    }
}

/// Calls the code of `task`.
#[inline]
pub(crate) fn call_task(task: &'static Task, function: Outlined, data: Opaque) {
    match tool() {
        None => function.call(data),
        Some(_) => call_watched(task, function, data),
    }
}

#[cold]
fn call_watched(task: &'static Task, function: Outlined, data: Opaque) {
    let frame = &task.tool.frame;
    function.call_from_frame(data, frame.exit());
    frame.is_back();
}

/// What a thread did before a task.
#[derive(Clone, Copy)]
pub(crate) struct Before(u32);

impl Tool {
    #[cold]
    fn taskloop(&self, member: &'static Member, count: u64, body: impl FnOnce()) {
        let call = call();
        let told = |end| self.tell_work(member, Work::TASKLOOP, end, count, call);
        told(ScopeEndpoint::BEGIN);
        body();
        note_again(call);
        told(ScopeEndpoint::END);
        let words = &member.worker().tool;
        words.announced.set(0);
        words.piece.set([0; 2]);
    }

    /// `member` makes `task`, a child of `parent`, which it runs. `at_once`: before it goes on.
    #[cold]
    pub(crate) fn creates(
        &self,
        member: &'static Member,
        (parent, task): (&'static Task, &'static Task),
        at_once: bool,
        is_final: bool,
        dependences: &[Dependence],
    ) {
        let call = call();
        let announced = TaskFlags(member.worker().tool.announced.get());
        let mut flags = announced.with(TaskFlags::EXPLICIT);
        if at_once {
            flags = flags.with(TaskFlags::UNDEFERRED);
        }
        if is_final {
            flags = flags.with(TaskFlags::FINAL);
        }
        task.tool.begin(flags.0);
        task.tool.piece.set(member.worker().tool.piece.take());
        parent.tool.frame.enters(call);
        self.tell_created(parent, &task.tool.data, flags, dependences, call);
        if !at_once {
            parent.tool.frame.returns();
        }
        // Tasks of one construct may follow, and this one may have run before they do.
        note_again(call);
    }

    /// `task`, which begins, was made on another node. Here nobody has encountered it.
    #[cold]
    pub(crate) fn receives(&self, task: &'static Task) {
        let flags = TaskFlags::EXPLICIT;
        task.tool.begin(flags.0);
        if let Some(told) = self.callbacks.task_create.get() {
            let (nobody, new) = (std::ptr::null_mut(), task.tool.data.pointer());
            told(nobody, std::ptr::null(), new, flags, 0, code(0));
        }
    }

    fn tell_created(
        &self,
        parent: &'static Task,
        data: &Word,
        flags: TaskFlags,
        dependences: &[Dependence],
        call: Call,
    ) {
        if let Some(told) = self.callbacks.task_create.get() {
            told(
                parent.tool.data.pointer(),
                parent.tool.frame.pointer(),
                data.pointer(),
                flags,
                i32::from(!dependences.is_empty()),
                code(call.address),
            );
        }
        if !dependences.is_empty() {
            self.tell_dependences(data, &dependences.iter().map(item).collect::<Vec<_>>());
        }
    }

    /// A `taskwait` with dependences is a task to the tool: one that runs nothing, and is complete
    /// when those are that it depends on.
    #[cold]
    fn wait_depend(
        &self,
        member: &'static Member,
        dependences: &[Dependence],
        wait: impl FnOnce(Option<&dyn Fn(&'static Task)>),
    ) {
        let call = call();
        let parent = member.task.current();
        // The tool has the address until it hears that the task is complete. Tasks that the thread
        // runs meanwhile may wait in the same way.
        let data = Word::new();
        let flags = TaskFlags::TASKWAIT
            .with(TaskFlags::UNDEFERRED)
            .with(TaskFlags::MERGEABLE);
        parent.tool.frame.enters(call);
        self.tell_created(parent, &data, flags, dependences, call);
        let awaits = |before: &'static Task| {
            if let Some(told) = self.callbacks.task_dependence.get() {
                told(before.tool.data.pointer(), data.pointer());
            }
        };
        let state = Wait::of(SyncRegion::TASKWAIT);
        member.worker().in_state(state, || wait(Some(&awaits)));
        if let Some(told) = self.callbacks.task_schedule.get() {
            let status = TaskStatus::TASKWAIT_COMPLETE;
            told(data.pointer(), status, std::ptr::null_mut());
        }
        parent.tool.frame.returns();
    }

    #[cold]
    fn doacross(&self, member: &'static Member, kind: DependenceType, values: Vec<u64>) {
        let items = values.into_iter().map(|value| ompt::Dependence {
            variable: Data { value },
            dependence_type: kind,
        });
        let task = member.task.current();
        self.tell_dependences(&task.tool.data, &items.collect::<Vec<_>>());
    }

    fn tell_dependences(&self, data: &Word, items: &[ompt::Dependence]) {
        if let Some(told) = self.callbacks.dependences.get() {
            let count = i32::try_from(items.len()).unwrap_or(i32::MAX);
            told(data.pointer(), items.as_ptr(), count);
        }
    }

    /// `task` has to wait for `before`, which cannot end while this is told.
    #[cold]
    pub(crate) fn awaits(&self, before: &'static Task, task: &'static Task) {
        if let Some(told) = self.callbacks.task_dependence.get() {
            told(before.tool.data.pointer(), task.tool.data.pointer());
        }
    }

    /// `member` leaves what it runs, `outer` or its implicit task, for `task`.
    #[cold]
    pub(crate) fn task_begins(
        &self,
        member: &'static Member,
        outer: Option<&'static Task>,
        task: &'static Task,
    ) -> Before {
        let worker = member.worker();
        let before = Before(worker.tool.state.get());
        let left = outer.unwrap_or_else(|| member.task.implicit());
        task.tool.below.store(outer, Ordering::Relaxed);
        let status = match worker.tool.yields.get() {
            0 => TaskStatus::SWITCH,
            _ => TaskStatus::YIELD,
        };
        self.tell_schedule(left, status, task.tool.data.pointer());
        worker.works(member.team().level());
        let [start, iterations] = task.tool.piece.take();
        if iterations != 0 {
            let chunk = DispatchChunk { start, iterations };
            self.tell_chunk(member, task, Dispatch::TASKLOOP_CHUNK, chunk);
        }
        before
    }

    /// The code of `task` will not run, because its taskgroup or its region is cancelled.
    #[cold]
    pub(crate) fn discards(&self, task: &'static Task) {
        if let Some(told) = self.callbacks.cancel.get() {
            let flags = CancelFlags::TASKGROUP.with(CancelFlags::DISCARDED_TASK);
            told(task.tool.data.pointer(), flags, code(0));
        }
    }

    /// `member` is through with `task`, and goes back to what it left.
    #[cold]
    pub(crate) fn task_ends(
        &self,
        member: &'static Member,
        outer: Option<&'static Task>,
        task: &'static Task,
        end: TaskEnd,
        before: Before,
    ) {
        let back = outer.unwrap_or_else(|| member.task.implicit());
        let status = match end {
            TaskEnd::Complete => TaskStatus::COMPLETE,
            TaskEnd::Cancelled => TaskStatus::CANCEL,
            TaskEnd::Detached => TaskStatus::DETACH,
        };
        self.tell_schedule(task, status, back.tool.data.pointer());
        member.worker().tool.state.set(before.0);
    }

    /// `member` is through with `task`, which it ran before the task's creator went on.
    #[cold]
    pub(crate) fn included_ends(
        &self,
        member: &'static Member,
        outer: Option<&'static Task>,
        task: &'static Task,
        end: TaskEnd,
        before: Before,
    ) {
        self.task_ends(member, outer, task, end, before);
        let parent = outer.unwrap_or_else(|| member.task.implicit());
        parent.tool.frame.returns();
    }

    /// The program goes on in `parent` behind a task that it has waited for.
    #[cold]
    pub(crate) fn returns_to(&self, parent: &'static Task) {
        parent.tool.frame.returns();
    }

    /// The program calls the code of `task` itself.
    #[cold]
    pub(crate) fn program_runs(&self, task: &'static Task) {
        task.tool.frame.called_by_program(call());
    }

    /// The event of `task` is fulfilled, before its code is through or after.
    #[cold]
    pub(crate) fn fulfils(&self, task: &'static Task, early: bool) {
        let status = match early {
            true => TaskStatus::EARLY_FULFILL,
            false => TaskStatus::LATE_FULFILL,
        };
        self.tell_schedule(task, status, std::ptr::null_mut());
    }

    fn tell_schedule(&self, left: &'static Task, status: TaskStatus, entered: *mut Data) {
        if let Some(told) = self.callbacks.task_schedule.get() {
            told(left.tool.data.pointer(), status, entered);
        }
    }
}

fn item(dependence: &Dependence) -> ompt::Dependence {
    ompt::Dependence {
        variable: Data {
            value: dependence.address as u64,
        },
        dependence_type: match (dependence.access, dependence.address) {
            (Access::InOut, ALL_MEMORY) => DependenceType::INOUT_ALL_MEMORY,
            (_, ALL_MEMORY) => DependenceType::OUT_ALL_MEMORY,
            (Access::In, _) => DependenceType::IN,
            (Access::Out, _) => DependenceType::OUT,
            (Access::InOut, _) => DependenceType::INOUT,
            (Access::MutexInOutSet, _) => DependenceType::MUTEXINOUTSET,
            (Access::InOutSet, _) => DependenceType::INOUTSET,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_dependences_have_the_numbers_of_c() {
        let told = |address, access| item(&Dependence { address, access }).dependence_type.0;
        let accesses = [
            Access::In,
            Access::Out,
            Access::InOut,
            Access::MutexInOutSet,
            Access::InOutSet,
        ];
        assert_eq!(accesses.map(|access| told(8, access)), [1, 2, 3, 4, 7]);
        assert_eq!(told(ALL_MEMORY, Access::Out), 34);
        assert_eq!(told(ALL_MEMORY, Access::InOut), 35);
    }
}
