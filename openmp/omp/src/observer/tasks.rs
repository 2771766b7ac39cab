//! Explicit tasks.

use super::recording::{self, Sample, Timed};
use super::tool::{Before, tool};
use super::words::TaskEnd;
use crate::interposer;
use crate::task::{Dependence, Task};
use crate::team::Member;
use fathomp_sys::call_site::WATCH;

/// Whether somebody hears of each task, not only of how many there are.
#[inline]
#[must_use]
pub fn hears_each_task() -> bool {
    tool().is_some()
}

/// `member` makes `task`, a child of `parent`, and goes on, unless it `waits` for it.
#[inline]
pub(crate) fn creates(
    member: &'static Member,
    family: (&'static Task, &'static Task),
    waits: bool,
    is_final: bool,
    depends_on: &[Dependence],
) {
    if WATCH.is_on() {
        recording::creates_tasks(member, 1);
        if let Some(tool) = tool() {
            tool.creates(member, family, waits, is_final, depends_on);
        }
    }
}

/// `member` meets a `single` construct, whose block it runs or does not.
#[inline]
pub(crate) fn single(member: &'static Member, runs: bool) {
    if !runs && WATCH.is_on() {
        recording::loses_single(member);
    }
    if let Some(tool) = tool() {
        tool.single(member, runs);
    }
}

/// The task that `member` made last has to wait for others by its dependences.
#[inline]
pub(crate) fn depends(member: &'static Member) {
    if WATCH.is_on() {
        recording::depends(member);
    }
}

/// `member` makes so many tasks of a `taskloop` construct at once.
#[inline]
pub(crate) fn creates_tasks(member: &'static Member, tasks: u32) {
    if WATCH.is_on() {
        recording::creates_tasks(member, tasks);
    }
}

/// `member` makes a task that it runs before it goes on: because of a clause, or because enough
/// are queued. What is answered is to be [ended](included_has_begun) when it has begun.
#[inline(always)]
pub(crate) fn includes(member: &'static Member, by_clause: bool) -> Option<Sample> {
    match WATCH.is_on() {
        false => None,
        true => recording::includes(member, by_clause),
    }
}

/// That task is there, and begins where `member` ran `outer`.
#[inline(always)]
pub(crate) fn included_begins(
    member: &'static Member,
    family: (&'static Task, &'static Task),
    outer: Option<&'static Task>,
    is_final: bool,
    depends_on: &[Dependence],
) -> Option<Before> {
    let tool = tool()?;
    tool.creates(member, family, true, is_final, depends_on);
    Some(tool.task_begins(member, outer, family.1))
}

/// All that is done to begin it is done.
#[inline(always)]
pub(crate) fn included_has_begun(sample: Option<Sample>) {
    if let Some(sample) = sample {
        sample.end();
    }
}

/// The program calls the code of `task` itself.
#[inline]
pub(crate) fn program_runs(task: &'static Task) {
    if let Some(tool) = tool() {
        tool.program_runs(task);
    }
}

/// `member` is through with `task`, which its creator waited for.
#[inline]
pub(crate) fn included_ends(
    member: &'static Member,
    outer: Option<&'static Task>,
    task: &'static Task,
    end: TaskEnd,
    before: Before,
) {
    if let Some(tool) = tool() {
        tool.included_ends(member, outer, task, end, before);
    }
}

/// `member` takes a task that was queued, or its part of a loop of tasks. When it is through,
/// [`leaves_task`] is to be told.
#[inline]
pub(crate) fn takes_task(member: &'static Member) -> Option<Timed> {
    match WATCH.is_on() {
        false => None,
        true => recording::takes_task(member),
    }
}

/// That task is over, or its thread is through with it.
#[inline]
pub(crate) fn leaves_task(taken: Option<Timed>) {
    if let Some(timed) = taken {
        recording::leaves_task(timed);
    }
}

/// `member` leaves what it runs, `outer` or its implicit task, for `task`.
#[inline]
pub(crate) fn task_begins(
    member: &'static Member,
    outer: Option<&'static Task>,
    task: &'static Task,
) -> Option<Before> {
    let tool = tool()?;
    if task.is_foreign() {
        tool.receives(task);
    }
    Some(tool.task_begins(member, outer, task))
}

/// The code of `task` will not run, because its taskgroup or its region is cancelled.
#[inline]
pub(crate) fn discards(task: &'static Task) {
    if let Some(tool) = tool() {
        tool.discards(task);
    }
}

/// `member` is through with `task`, and goes back to what it left.
#[inline]
pub(crate) fn task_ends(
    member: &'static Member,
    outer: Option<&'static Task>,
    task: &'static Task,
    end: TaskEnd,
    before: Before,
) {
    if let Some(tool) = tool() {
        tool.task_ends(member, outer, task, end, before);
    }
}

/// `task` has to wait for `before`, which cannot end while this is told.
pub(crate) fn awaits(before: &'static Task, task: &'static Task) {
    if let Some(tool) = tool() {
        tool.awaits(before, task);
    }
}

/// The program goes on in `parent` behind a task that it has waited for.
pub(crate) fn returns_to(parent: &'static Task) {
    if let Some(tool) = tool() {
        tool.returns_to(parent);
    }
}

/// The event of `task` is fulfilled, before its code is through or after.
pub(crate) fn fulfils(task: &'static Task, early: bool) {
    if let Some(tool) = tool() {
        tool.fulfils(task, early);
    }
}

/// Runs `tasks`, which `member` runs while it waits for something else.
#[inline]
pub(crate) fn meanwhile(member: &'static Member, tasks: impl FnOnce()) {
    match WATCH.is_on() {
        false => tasks(),
        true => recording::meanwhile(member, || interposer::meanwhile(tasks)),
    }
}
