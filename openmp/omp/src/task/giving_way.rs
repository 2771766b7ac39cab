//! `taskyield`: when a thread may run another task on top of the one that gives way.
//!
//! A task that polls for something gives way again and again. Whatever the thread then runs on top
//! of it has to end before the poll goes on: if that polls, too, for something that only the task
//! below provides, both are stuck, although other threads might have run it. So a thread leaves
//! queued tasks to others, as libgomp's does, unless there are no others: while the task is queued,
//! each other thread of the team gives way as well or waits inside a task, and does nothing else
//! for a while. Then only this can help.

use super::help::{has_queued, run_available};
use crate::own::{Own, OwnWord};
use crate::team::{Member, Team};
use fathomp_sys::clock::monotonic_ns;
use fathomp_sys::process;
use std::sync::atomic::Ordering;

/// Calls between two looks at what others do: most calls cost a few nanoseconds.
const ROUND: u32 = 64;
/// A thread whose last round is not older gives way still: it may have lost its processor for a
/// few slices of time.
const RECENT_NS: u64 = 20_000_000;
/// For how long all must have given way before a task is run on top for the first time.
const STUCK_NS: u64 = 100_000_000;
/// The same where other nodes, of which nothing is known here, may take the task: they ask for
/// some within milliseconds, or later on a busy machine.
const STUCK_ON_NODES_NS: u64 = 3_000_000_000;

/// What a member has to remember of it. Written by the member only.
#[derive(Debug)]
pub(super) struct GivesWay {
    calls: Own,
    /// End of its last round.
    at_ns: OwnWord,
    /// Since when all have been seen to give way while something was queued; the task that did,
    /// and the number of its region.
    since_ns: OwnWord,
    task: OwnWord,
    /// It runs a task on top of one that gives way.
    on_top: Own,
    /// It waits inside a task, and runs none meanwhile.
    pub(super) waits: Own,
}

impl Default for GivesWay {
    fn default() -> Self {
        Self {
            calls: Own::new(0),
            at_ns: OwnWord::new(),
            since_ns: OwnWord::new(),
            task: OwnWord::new(),
            on_top: Own::new(0),
            waits: Own::new(0),
        }
    }
}

/// The task that `member` runs gives way: in a team with others. Whether it seems to wait for
/// something.
#[inline]
pub(super) fn give_way(member: &'static Member, team: &'static Team) -> bool {
    let calls = &member.task.gives_way.calls;
    calls.set(calls.get().wrapping_add(1));
    let is_round = calls.get().is_multiple_of(ROUND);
    if is_round {
        round(member, team);
    } else {
        std::hint::spin_loop();
    }
    is_round
}

#[cold]
fn round(member: &'static Member, team: &'static Team) {
    let mine = &member.task.gives_way;
    let task = member.task.current();
    let identity = member.task.identity() as u64 ^ u64::from(team.order().number()) << 48;
    let now_ns = monotonic_ns();
    let queued = has_queued(team, team.local_size());
    let goes_on = mine.task.get() == identity && now_ns - mine.at_ns.get() <= RECENT_NS;
    let recently = now_ns.saturating_sub(RECENT_NS);
    mine.at_ns.set(now_ns);
    if !(goes_on && queued && others_give_way_since(recently, member, team)) {
        mine.task.set(identity);
        mine.since_ns.set(now_ns);
    }
    if mine.on_top.get() != 0 {
        // What is run on top may wait for others after all.
        team.tasks.runs_on_top.store(false, Ordering::Relaxed);
    }
    let stuck_ns = now_ns - mine.since_ns.get();
    let enough_ns = match team.tasks.runs_on_top.load(Ordering::Relaxed) {
        true => 1,
        false if team.remote().is_some() => STUCK_ON_NODES_NS,
        false => STUCK_NS,
    };
    // A thread that gave way before may have come to a barrier meanwhile, where it runs tasks.
    let stuck = stuck_ns >= enough_ns && others_give_way_since(mine.since_ns.get(), member, team);
    if !stuck {
        // A sleeping thread may be the one that runs what this task polls for.
        if queued {
            team.ring_all();
        }
        process::yield_now();
        return;
    }
    let outer = mine.on_top.get();
    mine.on_top.set(1);
    run_available(member, Some(task), || {
        // It has ended without anybody's help, so those after it are not kept waiting.
        team.tasks.runs_on_top.store(true, Ordering::Relaxed);
        true
    });
    mine.on_top.set(outer);
}

/// Whether each of the team's other threads waits inside a task or has given way since then, so
/// that it leaves queued tasks alone.
fn others_give_way_since(since_ns: u64, member: &'static Member, team: &'static Team) -> bool {
    (0..team.local_size())
        .filter(|&num| num != member.index())
        .map(|num| &team.member(num).task.gives_way)
        .all(|one| one.waits.get() != 0 || one.at_ns.get() >= since_ns)
}
