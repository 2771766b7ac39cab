//! Queueing a task, and waking somebody who may run it.

use super::block::Task;
use crate::runtime::runtime;
use crate::team::{Member, Team};
use std::sync::atomic::Ordering;

/// Queues a task that misses nothing: with `member`, who has created it or
/// just completed what it depended on, or where every member looks.
#[inline]
pub(super) fn enqueue(member: Option<&'static Member>, team: &'static Team, task: &'static Task) {
    match member {
        Some(member) if task.priority.get() == 0 && !member.task.deque.is_full() => {
            let number = member.task.deque.push(task);
            if sleepers(team) != 0 {
                invite_now_and_then(member, team, number);
            }
        }
        Some(_) => {
            team.tasks.commons.put(task);
            if sleepers(team) != 0 {
                invite(team);
            }
        }
        None => {
            team.tasks.commons.put(task);
            // Perhaps only one of them may run it.
            team.ring_all();
        }
    }
    // Afterwards: whoever hears of it looks for the task.
    if let Some(remote) = team.remote() {
        remote.notice();
    }
}

/// Members asleep that might run a task.
#[inline]
pub(super) fn sleepers(team: &'static Team) -> u32 {
    team.barrier.bell().sleepers()
        + team.dock.bell.sleepers()
        + team.join.bell().sleepers()
        + team.tasks.waiters.sleepers()
        + team.tasks.attending.load(Ordering::SeqCst)
}

/// Tasks queued between two invitations.
const INVITE_EVERY: u64 = 8;

/// Waking a thread costs more than most tasks, so a member that queues many
/// invites only when it begins to, and now and then in case those invited may
/// not run what they find. Who comes and finds more than one task invites the
/// next.
#[cold]
fn invite_now_and_then(member: &'static Member, team: &'static Team, number: u64) {
    if member.task.deque.len() <= 1 || number.is_multiple_of(INVITE_EVERY) {
        invite(team);
    }
}

/// Wakes a member that might run a task, unless there are as many awake as
/// there are processors.
#[cold]
pub(super) fn invite(team: &'static Team) {
    let awake = team.local_size().saturating_sub(sleepers(team));
    if awake >= runtime().processors {
        return;
    }
    if team.barrier.bell().sleepers() != 0 {
        team.barrier.bell().ring_one();
    } else if team.dock.bell.sleepers() != 0 {
        // All: some of them may be workers that have no part in this region.
        team.dock.bell.ring();
    } else if team.join.bell().sleepers() != 0 {
        team.join.bell().ring_one();
    } else if team.tasks.waiters.sleepers() != 0 {
        team.tasks.waiters.ring_one();
    } else {
        team.tasks.ring_attending(team);
    }
}
