//! Running tasks while waiting, until none is left.

use super::block::{Task, Traits};
use super::pool::Pool;
use super::portion::Loot;
use super::queue::{invite, sleepers};
use super::run;
use super::shared_loop::{self, SharedLoop, run_portion};
use crate::env::WaitPolicy;
use crate::observer::{self, Wait};
use crate::runtime::runtime;
use crate::team::{Member, Order, Team};
use std::sync::atomic::{Ordering, fence};

/// Whether all tasks of the phase with this parity are complete, given that
/// the implicit tasks create no more of them. See the README for why reading
/// in this order is enough.
fn is_complete(team: &'static Team, parity: usize) -> bool {
    let members = || (0..team.capacity()).map(|num| &team.member(num).task.counts);
    let outside = team.tasks.completed_outside[parity].load(Ordering::Acquire);
    let completed = members().fold(outside, |sum, counts| {
        sum.wrapping_add(counts.completed(parity))
    });
    let arrived = team.tasks.created_outside[parity].load(Ordering::Acquire);
    let created = members().fold(arrived, |sum, counts| {
        sum.wrapping_add(counts.created(parity))
    });
    completed == created
}

/// The same, in a region that may have been cancelled: then members may disagree about the
/// phase, and all tasks count.
pub(super) fn phase_is_complete(team: &'static Team, parity: usize) -> bool {
    is_complete(team, parity)
        && (!team.cancelled.load(Ordering::SeqCst) || is_complete(team, parity ^ 1))
}

/// What a member finds to run.
enum Found {
    Task(&'static Task),
    Portion(Loot<&'static SharedLoop>),
}

/// Something for `member` to run now. A member that waits inside a task takes
/// only tasks that descend from it (`inside`), as the task scheduling
/// constraint of tied tasks asks.
#[inline]
fn look(member: &'static Member, inside: Option<&'static Task>) -> Option<Found> {
    let wanted = |task: &'static Task| inside.is_none_or(|ancestor| task.descends_from(ancestor));
    let team = member.team();
    let mine = &member.task;
    if !team.tasks.commons.is_empty()
        && let Some(task) = team.tasks.commons.take(wanted)
    {
        return Some(Found::Task(task));
    }
    if let Some(task) = mine.deque.pop(wanted) {
        return Some(Found::Task(task));
    }
    if let Some(task) = steal(member, team, wanted) {
        return Some(Found::Task(task));
    }
    shared_loop::steal(member, team, wanted).map(Found::Portion)
}

fn steal(
    member: &'static Member,
    team: &'static Team,
    wanted: impl Fn(&'static Task) -> bool,
) -> Option<&'static Task> {
    let size = team.local_size();
    let me = member.index();
    // Whoever had tasks last time probably has more.
    let mut victim = member.task.victim.get();
    for _ in 0..size {
        if victim >= size {
            victim = 0;
        }
        if victim != me
            && let Some(task) = team.member(victim).task.deque.steal(&wanted)
        {
            member.task.victim.set(victim);
            if sleepers(team) != 0 && team.member(victim).task.deque.has_work() {
                invite(team);
            }
            return Some(task);
        }
        victim += 1;
    }
    None
}

/// Runs tasks that `member` may run until there are none or `until` holds.
#[inline]
pub(super) fn run_available(
    member: &'static Member,
    inside: Option<&'static Task>,
    until: impl Fn() -> bool,
) {
    run_until(member, inside, |_| until());
}

/// As [`run_available`], with an `until` that is told what has been run.
#[inline]
fn run_until(
    member: &'static Member,
    inside: Option<&'static Task>,
    until: impl Fn(Traits) -> bool,
) {
    // Whoever is about to sleep must look; then somebody is registered.
    if member.task.deque.len() == 0 && sleepers(member.team()) == 0 && member.task.rest.is_due() {
        return;
    }
    while let Some(found) = look(member, inside) {
        member.task.rest.note(true);
        let traits = match found {
            Found::Task(task) => {
                let traits = task.traits();
                run::while_waiting(member, task);
                traits
            }
            Found::Portion(loot) => {
                let traits = loot.of.traits();
                run::meanwhile(member, || run_portion(member, loot));
                traits
            }
        };
        if until(traits) {
            return;
        }
    }
    member.task.rest.note(false);
}

/// Runs tasks of the member's team, at a barrier or at the end of the region,
/// until there are none or `until` holds.
#[inline]
pub(crate) fn help(member: &'static Member, until: impl Fn() -> bool) {
    if member.team().tasks.is_used() {
        run_available(member, None, until);
        announce(member);
    }
}

/// Wakes those who may wait for the tasks this member has completed. Members
/// count what they complete each for itself, so nobody knows which task was
/// the last; but each member comes here after its last one, and the last of
/// them to come sees everybody's counts.
#[inline]
fn announce(member: &'static Member) {
    if !member.task.unannounced.is_empty() {
        announce_now(member);
    }
}

fn announce_now(member: &'static Member) {
    let team = member.team();
    // Pairs with the fence in `complete_phase`: either we see the sleeper, or
    // it sees our count. And with itself: of two members who come here, one
    // sees the other's count.
    fence(Ordering::SeqCst);
    let mut parities = member.task.unannounced.take();
    let bell = team.barrier.bell();
    let pool = &team.tasks;
    if (bell.sleepers() != 0 || pool.attending.load(Ordering::SeqCst) != 0)
        && (team.cancelled.load(Ordering::SeqCst)
            || parities.any(|parity| is_complete(team, parity)))
    {
        bell.ring();
        pool.ring_attending(team);
    }
}

/// The same for a worker that is through with the region of order `seen`.
#[inline]
pub(crate) fn help_from_dock(member: &'static Member, seen: Order) {
    let pool = &member.team().tasks;
    if pool.is_used() && member.index() < seen.size() {
        help_if_open(member, pool, seen);
    }
}

fn help_if_open(member: &'static Member, pool: &'static Pool, seen: Order) {
    let team = member.team();
    if sleepers(team) == 0 && member.task.rest.is_due() {
        return;
    }
    let anything = !member.task.unannounced.is_empty()
        || pool.open_portions.load(Ordering::SeqCst) != 0
        || has_queued(team, seen.size());
    if !anything {
        member.task.rest.note(false);
        return;
    }
    pool.dock.admit(seen.0, || {
        observer::one_more_part(member, team, || help(member, || false));
    });
}

/// Whether one of the first `size` members may take a task that another has queued.
pub(super) fn has_queued(team: &'static Team, size: u32) -> bool {
    !team.tasks.commons.is_empty() || (0..size).any(|num| team.member(num).task.deque.has_work())
}

/// Whether a worker that is through with its implicit task should [`stay`] in
/// the region: if there are tasks, or if there may still be some (the team has
/// had tasks before) and threads poll rather than sleep, which would have to be
/// woken at the end of each region. Regions of a team that has no tasks are not
/// delayed by being recorded.
pub(crate) fn may_stay(member: &'static Member) -> bool {
    let team = member.team();
    let runtime = runtime();
    team.tasks.is_used()
        || team.tasks.ever_used.load(Ordering::Relaxed)
            && team.local_size() <= runtime.processors
            && runtime.settings.wait_policy != Some(WaitPolicy::Passive)
}

/// A recorded worker is through with its implicit task: lets it `arrive`, help
/// until the region has ended, and then `end` its account of the region.
pub(crate) fn stay(
    member: &'static Member,
    order: Order,
    arrive: impl FnOnce(),
    end: impl FnOnce(),
) {
    let team = member.team();
    let pool = &team.tasks;
    // From before the primary thread can know that the region is over.
    pool.dock.inside(|| {
        arrive();
        observer::waits(member, Wait::ImplicitBarrier, 0, || {
            pool.waiters.wait(team.patience(), || {
                help(member, || false);
                !pool.dock.is_open(order.0)
            });
        });
        end();
    });
}

/// Returns when all tasks made in barrier phase `phase` are complete, running
/// them as far as possible. All members have arrived at the phase's end. In a
/// cancelled region members may disagree about the phase: then all tasks count.
#[inline]
pub(crate) fn complete_phase(member: &'static Member, phase: u32) {
    if member.team().tasks.is_used() {
        complete_used(member, phase as usize & 1);
    }
}

/// Looks for tasks between two looks at what all members have completed, as long as nobody may
/// sleep: the latter take lines away from members that run tasks.
const LOOKS_BETWEEN: u32 = 4;

fn complete_used(member: &'static Member, parity: usize) {
    let team = member.team();
    let done = || phase_is_complete(team, parity);
    if !done() {
        let mut looks = 0_u32;
        team.barrier.bell().wait(team.patience(), || {
            // Where there was a task of this phase there may be more; looking for them tells.
            run_until(member, None, |run| run.parity() != parity && done());
            announce(member);
            looks = looks.wrapping_add(1);
            if !looks.is_multiple_of(LOOKS_BETWEEN) && sleepers(team) == 0 {
                return false;
            }
            fence(Ordering::SeqCst);
            done()
        });
    }
    announce(member);
}
