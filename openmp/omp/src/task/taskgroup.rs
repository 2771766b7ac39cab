//! `taskgroup` constructs.

use super::wait;
use crate::observer;
use crate::team::Member;
use std::sync::atomic::Ordering;

/// Begins a taskgroup region.
#[inline]
pub fn group_start(member: &'static Member) {
    observer::group_begins(member);
    open(member, false);
}

/// Begins the taskgroup of a worksharing construct with task reductions.
pub(super) fn open(member: &'static Member, workshare: bool) {
    let task = member.task.current();
    let group = member.task.take_group();
    group.begin(member, task.group(), workshare);
    task.set_group(Some(group));
}

/// Ends the innermost taskgroup region: waits for its tasks.
#[inline]
pub fn group_end(member: &'static Member) {
    let task = member.task.current();
    let Some(group) = task.group() else { return };
    // The group of a region was not begun by a construct, so nothing ends it.
    if group.home.load(Ordering::Relaxed).is_none() {
        return;
    }
    observer::group_ends(member, || group_wait(member));
    task.set_group(group.outer.load(Ordering::Relaxed));
    member.task.give_group(group);
}

/// Whether the innermost taskgroup region is one of this thread's in which no task was created,
/// and no observer hears of each.
pub fn group_is_fresh(member: &'static Member) -> bool {
    if observer::hears_each_task() {
        return false;
    }
    let group = member.task.current().group();
    group.is_some_and(|group| {
        let home = group.home.load(Ordering::Relaxed);
        home.is_some_and(|home| std::ptr::eq(home, member))
            && !group.tally.is_touched()
            && !group.tally.is_in_use()
    })
}

/// Waits for the tasks of the innermost taskgroup region, which was
/// [fresh](group_is_fresh) and goes on.
pub fn group_wait(member: &'static Member) {
    let task = member.task.current();
    if let Some(group) = task.group()
        && group.tally.is_outstanding()
    {
        wait::wait_for_tally(member, task, &group.tally);
    }
}

/// `cancel taskgroup`, where cancellation is enabled: tasks of the innermost
/// taskgroup that have not begun will not. `false` outside of taskgroups.
pub fn cancel_taskgroup(member: &'static Member) -> bool {
    let group = member.task.current().group();
    if let Some(group) = group {
        let group = group.innermost_of_program();
        group.cancelled.store(true, Ordering::Relaxed);
        if let Some(remote) = member.team().remote() {
            remote.cancel(group);
        }
    }
    group.is_some()
}

/// Whether the innermost taskgroup has been cancelled.
pub fn taskgroup_cancelled(member: &'static Member) -> bool {
    member.task.current().is_discarded()
}
