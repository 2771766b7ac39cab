//! Running a task, and what its end means for others.

use super::block::{Task, Traits};
use super::event::Event;
use super::group::Group;
use super::on_stack;
use super::queue::enqueue;
use crate::observer::{self, TaskEnd};
use crate::team::{Member, Team};
use fathomp_sys::clock::monotonic_ns;
use std::sync::atomic::Ordering;

/// Runs a queued task on a member that waits for something else.
#[inline]
pub(super) fn while_waiting(member: &'static Member, task: &'static Task) {
    meanwhile(member, || {
        let taken = observer::takes_task(member);
        run(member, task);
        observer::leaves_task(taken);
    });
}

/// Runs `tasks` on a member that waits for something else.
#[inline]
pub(super) fn meanwhile(member: &'static Member, tasks: impl FnOnce()) {
    let waits = &member.task.gives_way.waits;
    let outer = waits.get();
    waits.set(0);
    observer::meanwhile(member, tasks);
    waits.set(outer);
}

/// Runs `task` to its end on `member`.
#[inline]
pub(super) fn run(member: &'static Member, task: &'static Task) {
    let team = member.team();
    let outer = member.task.explicit();
    member.task.set_explicit(Some(task));
    task.set_runner(Some(member));
    let before = observer::task_begins(member, outer, task);
    // Objects that the program has made for the task are destroyed by its code, which may look
    // at its cancellation points; libgomp runs it, too.
    let pointless = is_pointless(team, task) && !task.traits().has(Traits::OBJECTS);
    if pointless {
        task.abandon();
        observer::discards(task);
    } else {
        match task.traits().has(Traits::FOREIGN) {
            true => timed(team, task, || call(member, team, task)),
            false => call(member, team, task),
        }
    }
    if task.traits().has(Traits::EVENT)
        && let Some(event) = task.take_event()
    {
        return code_ends(task, &event, |end| {
            if let Some(before) = before {
                observer::task_ends(member, outer, task, end, before);
            }
            member.task.set_explicit(outer);
        });
    }
    if let Some(before) = before {
        observer::task_ends(member, outer, task, end_of(team, task, None), before);
    }
    member.task.set_explicit(outer);
    complete(Some(member), task);
}

/// The code of `task`, which has that event, is through: `leave` leaves it, for a reason that
/// observers are told. The task is complete if the event has been fulfilled.
#[cold]
pub(super) fn code_ends(task: &'static Task, event: &Event<Task>, leave: impl FnOnce(TaskEnd)) {
    let in_order = observer::hears_each_task().then(|| event.in_order());
    leave(match task.team() {
        Some(team) => end_of(team, task, Some(event)),
        None => TaskEnd::Complete,
    });
    // Before the event can complete the task on another thread.
    task.set_runner(None);
    let is_complete = event.body_done();
    drop(in_order);
    if is_complete {
        complete(None, task);
    }
}

/// Why a thread leaves a task whose code is through or has never run. A task with an event is not
/// complete before that is fulfilled.
#[cold]
pub(super) fn end_of(team: &Team, task: &Task, event: Option<&Event<Task>>) -> TaskEnd {
    if is_pointless(team, task) {
        TaskEnd::Cancelled
    } else if event.is_some_and(|event| !event.is_fulfilled()) {
        TaskEnd::Detached
    } else {
        TaskEnd::Complete
    }
}

/// Whoever gave the task away is told how long it took.
#[cold]
fn timed(team: &'static Team, task: &'static Task, call: impl FnOnce()) {
    if let Some(remote) = team.remote() {
        remote.begins(team);
    }
    let begun_ns = monotonic_ns();
    call();
    let took_ns = monotonic_ns().saturating_sub(begun_ns);
    task.origin.set_took_ns(took_ns);
}

/// Cancellation keeps tasks that have not begun from beginning.
#[inline]
pub(super) fn is_pointless(team: &Team, task: &Task) -> bool {
    team.cancelled.load(Ordering::Relaxed) || task.is_discarded()
}

/// Runs the code of a queued task in the task's data environment.
#[inline]
fn call(member: &'static Member, team: &'static Team, task: &'static Task) {
    in_environment(member, team, task, || match team.remote() {
        Some(_) => on_stack::call(task),
        None => task.call(),
    });
}

/// Runs `code` in the data environment of `task`.
#[inline]
pub(super) fn in_environment(
    member: &'static Member,
    team: &'static Team,
    task: &'static Task,
    code: impl FnOnce(),
) {
    if team.tasks.icvs_differ() {
        return with_icvs_of(member, team, task, code);
    }
    // All tasks have the ICVs that the team handed out.
    code();
    if team.tasks.icvs_differ() {
        restore_team_icvs(member, team);
    }
}

/// Calls `code` with the ICVs of `task`, in a region whose tasks have changed
/// some.
#[cold]
pub(super) fn with_icvs_of(
    member: &'static Member,
    team: &'static Team,
    task: &'static Task,
    code: impl FnOnce(),
) {
    let outer = member.icvs();
    match task.icvs() {
        Some(icvs) if task.traits().has(Traits::ICVS) => member.set_icvs(icvs),
        // Created when nobody had changed anything.
        _ => restore_team_icvs(member, team),
    }
    code();
    member.set_icvs(outer);
}

/// The member has the ICVs again that the team handed out.
#[cold]
pub(super) fn restore_team_icvs(member: &'static Member, team: &'static Team) {
    member.inherit(team, team.dock.icv_stamp.load(Ordering::Relaxed));
}

/// `task` is complete. `member` is the one that ran it, or `None` if the
/// calling thread cannot speak for a member (it fulfils an event).
#[inline]
pub(super) fn complete(member: Option<&'static Member>, task: &'static Task) {
    // Blocks that run have a team and a parent.
    let (Some(team), Some(parent)) = (task.team(), task.parent()) else {
        return;
    };
    let traits = task.traits();
    if traits.has(Traits::FOREIGN) {
        return complete_foreign(member, team, task, parent);
    }
    if traits.has(Traits::NODE)
        && let Some(node) = task.take_node()
    {
        node.complete(|team, ready| enqueue(member, team, ready));
    }
    let group = task.group();
    retire(member, team, task, parent);
    if !traits.has(Traits::COUNTED) {
        return;
    }
    let mut wake = group.is_some_and(|group| leave_group(member, team, group));
    // A runner never changes while the thread that reads it is the runner's.
    let home = parent.runner();
    match member {
        Some(member) if home.is_some_and(|home| std::ptr::eq(home, member)) => {
            parent.children.end_at_home();
        }
        _ => {
            let end = parent.children.end_elsewhere();
            if end.recycle {
                recycle(member, team, parent);
            }
            wake |= end.wake;
        }
    }
    match member {
        Some(member) => {
            member.task.counts.add_completed(traits);
            member.task.unannounced.add(traits);
        }
        None => {
            team.tasks.count_outside(traits);
            // No member announces this.
            team.barrier.bell().ring();
            team.tasks.ring_attending(team);
        }
    }
    if wake {
        team.tasks.ring_waiters(team);
    }
}

/// A task of `group` is complete: whether somebody may sleep for want of it.
#[inline]
pub(super) fn leave_group(
    member: Option<&'static Member>,
    team: &'static Team,
    group: &'static Group,
) -> bool {
    let last = group.remove(member);
    if last && group.is_foreign() {
        if let Some(remote) = team.remote() {
            remote.group_left(group);
        }
        return false;
    }
    last
}

/// The same as [`complete`] for a task that another node has given away: it has the
/// dependences, the parent and the group that wait for it.
#[cold]
fn complete_foreign(
    member: Option<&'static Member>,
    team: &'static Team,
    task: &'static Task,
    parent: &'static Task,
) {
    let traits = task.traits();
    // Before the block may be used for another task.
    let reported = team.remote().map(|remote| (remote, remote.ends(task)));
    retire(member, team, task, parent);
    if parent.children.release() {
        recycle(member, team, parent);
    }
    match member {
        Some(member) => {
            member.task.counts.add_completed(traits);
            member.task.unannounced.add(traits);
        }
        None => team.tasks.count_outside(traits),
    }
    if let Some((remote, true)) = reported {
        remote.deliver();
    }
}

/// The block's own part is over; its children may still need it.
#[inline]
fn retire(
    member: Option<&'static Member>,
    team: &'static Team,
    task: &'static Task,
    parent: &'static Task,
) {
    task.set_runner(None);
    if task.children.is_in_use() {
        // The children's way to their ancestors leads through the parent.
        parent.children.hold();
        if task.children.close() {
            recycle(member, team, task);
        }
    } else {
        free(member, team, task);
    }
}

/// The last to need `task`'s block lets go of it, and so of those above.
pub(super) fn recycle(
    member: Option<&'static Member>,
    team: &'static Team,
    mut task: &'static Task,
) {
    loop {
        let parent = task.parent();
        free(member, team, task);
        match parent {
            Some(parent) if parent.children.release() => task = parent,
            _ => return,
        }
    }
}

#[inline]
pub(super) fn free(member: Option<&'static Member>, team: &'static Team, task: &'static Task) {
    if let Some(room) = task.take_room()
        && let Some(remote) = team.remote()
    {
        remote.rooms.give(room);
    }
    task.clear();
    match member {
        Some(member) => member.task.give_block(team, task),
        None => team.tasks.spare.put(&[task]),
    }
}
