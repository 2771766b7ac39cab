//! `taskgroup` constructs.

use super::wait;
use crate::team::Member;
use std::sync::atomic::Ordering;

/// Begins a taskgroup region.
#[inline]
pub fn group_start(member: &'static Member) {
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
    if group.tally.is_outstanding() {
        wait::wait_for_tally(member, task, &group.tally);
    }
    task.set_group(group.outer.load(Ordering::Relaxed));
    member.task.give_group(group);
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
