//! The team barrier and the join at the end of a region.
//!
//! Both let a waiting member run tasks, and both end only when all tasks the
//! team made before them are complete. Tasks are counted per phase (see
//! [`crate::task`]), so a member that leaves a barrier late never waits for
//! tasks that faster members made after it.

use crate::marking;
use crate::runtime::runtime;
use crate::tap::{self, Called};
use crate::task;
use crate::team::{Member, Order};
use crate::tool;
use fathomp_ompt::SyncRegion;
use fathomp_sys::call_site::WATCH;
use fathomp_trace::model::SiteKind;
use fathomp_trace::now;
use fathomp_trace::state::State;
use fathomp_types::Ticks;
use std::sync::atomic::Ordering;

/// Waits until the whole team has come and all its tasks are complete.
/// `state` says whether the program wrote the barrier.
#[inline]
pub fn barrier(member: &'static Member, state: State) {
    if WATCH.is_on() {
        return barrier_watched(member, state);
    }
    meet(member, false);
}

#[cold]
fn barrier_watched(member: &'static Member, state: State) {
    tool::region(member, told(state), || {
        wait_recorded(member, state, || {
            meet(member, false);
        });
        passed(member, state);
    });
}

/// What a tool is told that the barrier is.
#[inline]
fn told(state: State) -> SyncRegion {
    match state {
        State::ExplicitBarrier => SyncRegion::BARRIER_EXPLICIT,
        _ => SyncRegion::BARRIER_IMPLICIT_WORKSHARE,
    }
}

/// The member has passed a barrier, for the recording of paging.
#[inline]
fn passed(member: &'static Member, state: State) {
    let called = match state {
        State::ExplicitBarrier => Called::Barrier,
        _ => Called::ImplicitBarrier,
    };
    marking::passes(member.team(), member.phase.get(), called);
}

/// A barrier that is a cancellation point: returns `true`, possibly before the
/// others have come, if the region has been cancelled.
pub fn cancellable(member: &'static Member, state: State) -> bool {
    tool::region(member, told(state), || {
        let mut cancelled = false;
        wait_recorded(member, state, || cancelled = meet(member, true));
        if !cancelled {
            passed(member, state);
        }
        cancelled
    })
}

/// Runs `wait` and records how long it took, less the time spent in tasks.
/// Returns when it ended, if this is recorded.
#[inline]
pub(crate) fn wait_recorded(
    member: &'static Member,
    state: State,
    wait: impl FnOnce(),
) -> Option<Ticks> {
    wait_recorded_at(member, None, state, wait)
}

/// As [`wait_recorded`], for a construct at `call`.
#[inline]
pub(crate) fn wait_recorded_at(
    member: &'static Member,
    call: Option<usize>,
    state: State,
    wait: impl FnOnce(),
) -> Option<Ticks> {
    let wait = || tap::waiting(state, || member.place(call), wait);
    let Some(recorder) = member.worker().recorder() else {
        wait();
        return None;
    };
    let begin = recorder.wait_begins();
    let tasks = member.task.ticks();
    wait();
    let end = now();
    let site = call.filter(|call| *call != 0).and_then(|call| {
        let recorder = runtime().recorder?;
        Some(recorder.site(SiteKind::Mutex, call, 0))
    });
    recorder.wait_at(site, state, begin + (member.task.ticks() - tasks), end);
    Some(end)
}

#[inline]
fn meet(member: &'static Member, cancellable: bool) -> bool {
    let team = member.team();
    let size = team.local_size();
    let nodes = team.nodes();
    let phase = member.phase.get();
    let cancelled = || cancellable && team.cancelled.load(Ordering::SeqCst);
    if size > 1 || nodes.is_some() {
        if cancelled() {
            return true;
        }
        let next = phase.wrapping_add(1);
        if team.barrier.arrive(member.index(), size) {
            if let Some(nodes) = nodes {
                nodes.meet(member);
            }
            marking::opens(team, next);
            team.barrier.open(next);
        } else {
            team.barrier.wait(next, team.patience(), || {
                task::help(member, || team.barrier.is_open(next));
                cancelled()
            });
            if !team.barrier.is_open(next) {
                return true;
            }
        }
    }
    task::complete_phase(member, phase);
    member.phase.set(phase.wrapping_add(1));
    cancelled()
}

/// End of a region for its primary thread: waits for the workers and tasks.
#[inline]
pub(crate) fn join(primary: &'static Member, order: Order) {
    match tool::tool() {
        None => await_others(primary, order),
        Some(tool) => tool.joins(primary, order, || await_others(primary, order)),
    }
}

#[inline]
fn await_others(primary: &'static Member, order: Order) {
    let team = primary.team();
    let nodes = team.nodes();
    if order.size() == 1 && !team.tasks.is_used() && nodes.is_none() {
        marking::ends(team);
        if let Some(recorder) = primary.worker().recorder() {
            recorder.end();
        }
        return;
    }
    let ended = wait_recorded(primary, State::ImplicitBarrier, || {
        if order.size() > 1 {
            team.join.wait(order.number(), team.patience(), || {
                task::help(primary, || team.join.is_open(order.number()));
                false
            });
        }
        task::complete_phase(primary, primary.phase.get());
        if let Some(nodes) = nodes {
            nodes.end(primary);
        }
    });
    marking::ends(team);
    if let (Some(recorder), Some(ended)) = (primary.worker().recorder(), ended) {
        recorder.end_at(ended);
    }
}

/// End of a region for a worker: says so and goes back to the dock, where it
/// still helps with the region's tasks.
#[inline]
pub(crate) fn leave(member: &'static Member, order: Order) {
    let team = member.team();
    if let Some(tool) = tool::tool() {
        tool.arrives(member, order);
    }
    let arrive = || {
        if team.join.arrive(member.index() - 1, order.size() - 1) {
            team.join.open(order.number());
        }
    };
    marking::ends(team);
    match member.worker().recorder() {
        Some(recorder) if task::may_stay(member) => {
            // Tasks it runs from now on are part of the region, and so is its
            // waiting for more.
            task::stay(member, order, arrive, || recorder.end());
        }
        Some(recorder) => {
            // Before arriving: the process may end as soon as the primary
            // thread knows.
            recorder.end();
            arrive();
        }
        None => arrive(),
    }
}
