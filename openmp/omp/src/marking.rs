//! Regions and barriers as points in time, and which thread is which.
//!
//! Marks are the axis of logical time, so all members of a team mark the same barriers:
//! whoever decides does so for all. That is the last member to come to a barrier and the
//! thread that forms a region. On nodes every one is marked, so that those of different
//! nodes are the same, too: barriers of nodes take long enough.

use crate::cluster;
use crate::tap::{Called, Name, Tap, tap};
use crate::team::{Member, Team};
use fathomp_types::interposer::Mark;
use std::sync::atomic::Ordering;

fn is_outermost(team: &Team) -> bool {
    team.level() == 1
}

fn mark(tap: &Tap, team: &Team, kind: Mark, called: Called) {
    let site = team.dock.site.load(Ordering::Relaxed);
    (tap.interface.mark)(kind as u32, Name(called, site).number(tap));
}

/// A region of `team` is about to begin: decides whether it is marked.
#[inline]
pub(crate) fn forms(team: &Team) {
    if tap().is_some() {
        decide(team);
    }
}

#[cold]
fn decide(team: &Team) {
    let marks = &team.marks;
    let marked = is_outermost(team) && (team.nodes().is_some() || marks.is_due());
    marks.region.store(marked, Ordering::Relaxed);
    marks.any.store(false, Ordering::Relaxed);
}

/// `member` begins its part in the region.
#[inline]
pub(crate) fn begins(member: &Member, team: &Team) {
    if let Some(tap) = tap() {
        begin(tap, member, team);
    }
}

#[cold]
fn begin(tap: &Tap, member: &Member, team: &Team) {
    if is_outermost(team) {
        introduce(member, member.index());
    }
    if team.marks.region.load(Ordering::Relaxed) {
        mark(tap, team, Mark::RegionBegin, Called::Region);
    }
}

/// A member is through with its part in the region: the primary one when it has waited for
/// the others, others when they have come to its end.
#[inline]
pub(crate) fn ends(team: &Team) {
    if let Some(tap) = tap() {
        end(tap, team);
    }
}

#[cold]
fn end(tap: &Tap, team: &Team) {
    if team.marks.region.load(Ordering::Relaxed) {
        mark(tap, team, Mark::Barrier, Called::ImplicitBarrier);
        mark(tap, team, Mark::RegionEnd, Called::Region);
    }
}

/// All members of `team` here have come to a barrier, which is about to be opened with
/// phase `next`: decides whether it is marked.
#[inline]
pub(crate) fn opens(team: &Team, next: u32) {
    if tap().is_some() {
        decide_barrier(team, next);
    }
}

#[cold]
fn decide_barrier(team: &Team, next: u32) {
    let marks = &team.marks;
    if is_outermost(team) && (team.nodes().is_some() || marks.is_due()) {
        marks.barrier.store(next, Ordering::Relaxed);
        marks.any.store(true, Ordering::Relaxed);
    }
}

/// A member has passed the barrier that was opened with phase `next`.
#[inline]
pub(crate) fn passes(team: &Team, next: u32, called: Called) {
    if let Some(tap) = tap() {
        pass(tap, team, next, called);
    }
}

#[cold]
fn pass(tap: &Tap, team: &Team, next: u32, called: Called) {
    let marks = &team.marks;
    // What was stored before the barrier was opened is seen by all behind it. Nobody stores
    // for the next one before this member has come to it.
    if marks.any.load(Ordering::Relaxed) && marks.barrier.load(Ordering::Relaxed) == next {
        mark(tap, team, Mark::Barrier, called);
    }
}

/// The calling thread, which plays `member`, is that number of this process's OpenMP
/// threads. What it was told to be first counts.
pub(crate) fn introduce(member: &Member, thread: u32) {
    let worker = member.worker();
    if let Some(tap) = tap()
        && worker.introduced.get() == 0
    {
        worker.introduced.set(1);
        let node = cluster::identity().map_or(u32::MAX, |(node, _)| u32::from(node.0));
        (tap.interface.identity)(node, thread);
    }
}
