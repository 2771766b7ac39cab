//! The team barrier and the join at the end of a region.
//!
//! Both let a waiting member run tasks, and both end only when all tasks the
//! team made before them are complete. Tasks are counted per phase (see
//! [`crate::task`]), so a member that leaves a barrier late never waits for
//! tasks that faster members made after it.

use crate::observer::{self, Wait};
use crate::task;
use crate::team::{Member, Order};
use std::sync::atomic::Ordering;

/// Waits until the whole team has come and all its tasks are complete.
/// `kind` says whether the program wrote the barrier.
#[inline]
pub fn barrier(member: &'static Member, kind: Wait) {
    observer::barrier(member, kind, || meet(member, false));
}

/// A barrier that is a cancellation point: returns `true`, possibly before the
/// others have come, if the region has been cancelled.
pub fn cancellable(member: &'static Member, kind: Wait) -> bool {
    observer::barrier(member, kind, || meet(member, true))
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
            observer::barrier_opens(team, next);
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
    let team = primary.team();
    let is_over = order.size() == 1 && !team.tasks.is_used() && team.nodes().is_none();
    observer::joins(primary, order, is_over, || {
        if !is_over {
            await_others(primary, order);
        }
    });
}

#[inline]
fn await_others(primary: &'static Member, order: Order) {
    let team = primary.team();
    if order.size() > 1 {
        team.join.wait(order.number(), team.patience(), || {
            task::help(primary, || team.join.is_open(order.number()));
            false
        });
    }
    task::complete_phase(primary, primary.phase.get());
    if let Some(nodes) = team.nodes() {
        nodes.end(primary);
    }
}

/// End of a region for a worker: says so and goes back to the dock, where it
/// still helps with the region's tasks.
#[inline]
pub(crate) fn leave(member: &'static Member, order: Order) {
    let team = member.team();
    observer::leaves(member, order, || {
        if team.join.arrive(member.index() - 1, order.size() - 1) {
            team.join.open(order.number());
        }
    });
}
