//! What the library that records paging is told: waits, regions and barriers as points in time,
//! and which thread is which.
//!
//! Marks are the axis of logical time, so all members of a team mark the same barriers:
//! whoever decides does so for all. That is the last member to come to a barrier and the
//! thread that forms a region. On nodes every one is marked, so that those of different
//! nodes are the same, too: barriers of nodes take long enough.

use super::{Observer, Region};
use crate::cluster;
use crate::interposer::{self, Called, Interposer, Name, Outer, Place, interposer};
use crate::team::{Member, Team};
use crate::wait::Wait;
use fathomp_types::interposer::Mark;
use std::sync::atomic::Ordering;

/// Tells the interposer, if there is one.
pub(crate) struct Paging;

impl Observer for Paging {
    type Waiting = Option<Outer>;

    #[inline(always)]
    fn region_begins(&self, region: &Region<'_>) {
        if interposer().is_some() {
            forms(region.team);
        }
    }

    #[inline(always)]
    fn implicit_begins(&self, member: &'static Member, team: &'static Team) {
        if let Some(interposer) = interposer() {
            begins(interposer, member, team);
        }
    }

    #[inline(always)]
    fn wait_begins(&self, member: &'static Member, wait: Wait, call: usize) -> Self::Waiting {
        interposer().and_then(|_| {
            let place = match call {
                0 => Place::Region(member.team().dock.site.load(Ordering::Relaxed)),
                call => Place::Call(call),
            };
            interposer::begins(wait, place)
        })
    }

    #[inline(always)]
    fn wait_ends(&self, _member: &'static Member, waiting: Self::Waiting) {
        if let (Some(interposer), Some(outer)) = (interposer(), waiting) {
            interposer::ends(interposer, outer);
        }
    }

    #[inline(always)]
    fn barrier_opens(&self, team: &'static Team, next: u32) {
        if interposer().is_some() {
            opens(team, next);
        }
    }

    #[inline(always)]
    fn barrier_passed(&self, member: &'static Member, kind: Wait) {
        if let Some(interposer) = interposer() {
            let called = Called::of(kind);
            passes(interposer, member.team(), member.phase.get(), called);
        }
    }
}

fn is_outermost(team: &Team) -> bool {
    team.level() == 1
}

fn mark(interposer: &Interposer, team: &Team, mark: Mark, called: Called) {
    let site = team.dock.site.load(Ordering::Relaxed);
    (interposer.interface.mark)(mark as u32, Name(called, site).number(interposer));
}

/// A region of `team` is about to begin: decides whether it is marked.
fn forms(team: &Team) {
    let marks = &team.marks;
    let marked = is_outermost(team) && (team.nodes().is_some() || marks.is_due());
    marks.region.store(marked, Ordering::Relaxed);
    marks.any.store(false, Ordering::Relaxed);
}

/// `member` begins its part in the region.
fn begins(interposer: &Interposer, member: &Member, team: &Team) {
    if is_outermost(team) {
        introduce(member, member.index());
    }
    if team.marks.region.load(Ordering::Relaxed) {
        mark(interposer, team, Mark::RegionBegin, Called::Region);
    }
}

/// A member is through with its part in the region: the primary one when it has waited for
/// the others, others when they have come to its end.
pub(crate) fn implicit_ends(team: &Team) {
    if let Some(interposer) = interposer()
        && team.marks.region.load(Ordering::Relaxed)
    {
        mark(interposer, team, Mark::Barrier, Called::ImplicitBarrier);
        mark(interposer, team, Mark::RegionEnd, Called::Region);
    }
}

/// All members of `team` here have come to a barrier, which is about to be opened with
/// phase `next`: decides whether it is marked.
fn opens(team: &Team, next: u32) {
    let marks = &team.marks;
    if is_outermost(team) && (team.nodes().is_some() || marks.is_due()) {
        marks.barrier.store(next, Ordering::Relaxed);
        marks.any.store(true, Ordering::Relaxed);
    }
}

/// A member has passed the barrier that was opened with phase `next`.
fn passes(interposer: &Interposer, team: &Team, next: u32, called: Called) {
    let marks = &team.marks;
    // What was stored before the barrier was opened is seen by all behind it. Nobody stores
    // for the next one before this member has come to it.
    if marks.any.load(Ordering::Relaxed) && marks.barrier.load(Ordering::Relaxed) == next {
        mark(interposer, team, Mark::Barrier, called);
    }
}

/// The calling thread, which plays `member`, is that number of this process's OpenMP
/// threads. What it was told to be first counts.
pub(crate) fn introduce(member: &Member, thread: u32) {
    let worker = member.worker();
    if let Some(interposer) = interposer()
        && worker.introduced.get() == 0
    {
        worker.introduced.set(1);
        let node = cluster::identity().map_or(u32::MAX, |(node, _)| u32::from(node.0));
        (interposer.interface.identity)(node, thread);
    }
}
