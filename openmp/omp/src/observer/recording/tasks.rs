//! How many tasks there are, and what they take.

use crate::team::Member;
use fathomp_trace::now;
use fathomp_trace::recorder::{TaskBegin, ThreadRecorder};
use fathomp_types::Ticks;

/// Of so many tasks that are run at once, one is timed: what the runtime does for it. To time each
/// would take as long again.
const SAMPLE: u32 = 64;

/// A task that is timed, and since when.
pub(crate) struct Sample {
    thread: &'static ThreadRecorder,
    since: Ticks,
}

impl Sample {
    /// The task has begun.
    pub(crate) fn end(self) {
        // To end it takes about as long.
        let taken = now().since(self.since);
        let end = self.since + taken + taken;
        self.thread.overhead(self.since, end, SAMPLE);
    }
}

/// `member` makes a task that it runs before it goes on.
pub(crate) fn includes(member: &'static Member, by_clause: bool) -> Option<Sample> {
    let thread = member.worker().recorder()?;
    thread.task_created();
    thread.task_run();
    if by_clause {
        thread.task_undeferred();
    }
    member.task.samples_included(SAMPLE).then(|| Sample {
        thread,
        since: now(),
    })
}

/// Another member runs the block of a `single` construct that `member` met.
pub(crate) fn loses_single(member: &'static Member) {
    if let Some(thread) = member.worker().recorder() {
        thread.single_lost();
    }
}

/// A task that `member` made has to wait for others.
pub(crate) fn depends(member: &'static Member) {
    if let Some(thread) = member.worker().recorder() {
        thread.task_dependent();
    }
}

/// `member` makes so many tasks.
pub(crate) fn creates_tasks(member: &'static Member, tasks: u32) {
    if let Some(thread) = member.worker().recorder() {
        thread.tasks_created(tasks.into());
    }
}

/// A task that is timed, and the recorder of its thread.
pub(crate) type Timed = (&'static ThreadRecorder, TaskBegin);

/// `member` runs a task that was queued; if what is answered says so, its end is recorded, too.
pub(crate) fn takes_task(member: &'static Member) -> Option<Timed> {
    let thread = member.worker().recorder()?;
    Some((thread, thread.task_begins()?))
}

/// The thread is through with that task.
pub(crate) fn leaves_task((thread, begin): Timed) {
    thread.task_ends(begin);
}

/// Runs `tasks` in a member that waits: what they take is no part of that.
pub(crate) fn meanwhile(member: &'static Member, tasks: impl FnOnce()) {
    let recorded = member.worker().recorder().is_some();
    let before = recorded.then(|| (member.task.ticks(), now()));
    tasks();
    if let Some((before, begin)) = before {
        // Tasks run inside this one, while it waited, are part of its time.
        member.task.set_ticks(before + now().since(begin));
    }
}
