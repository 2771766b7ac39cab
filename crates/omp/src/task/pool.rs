//! The tasks of a team: where they are queued, how they are counted, and who
//! helps with them.

use super::admission::Admission;
use super::block::{Task, Traits};
use super::commons::Commons;
use super::group::Group;
use super::reductions::Meetings;
use super::run;
use crate::barrier::wait_recorded;
use crate::bell::Bell;
use crate::env::WaitPolicy;
use crate::runtime::runtime;
use crate::team::{Member, Order, Team};
use fathomp_trace::now;
use fathomp_trace::state::State;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Mutex, PoisonError};

/// Tasks a team has created and not completed.
#[derive(Debug)]
pub(crate) struct Pool {
    /// The region has created a task that did not run at once.
    used: AtomicBool,
    /// Some region of this team has.
    ever_used: AtomicBool,
    /// Some task of the region has changed its ICVs, so they are no longer
    /// the same in all.
    icvs_differ: AtomicBool,
    /// The region's implicit tasks belong to `reduction_group`.
    reduces: AtomicBool,
    reduction_group: Group,
    dock: Admission,
    pub(super) commons: Commons,
    /// Where members sleep that wait inside a task.
    pub(crate) waiters: Bell,
    /// Tasks completed by threads that do not count as members, by parity.
    completed_outside: [AtomicU64; 2],
    pub(super) spare: Spare,
    pub(super) meetings: Meetings,
}

/// Blocks on their way from members that have too many to those that need some.
#[derive(Debug, Default)]
pub(super) struct Spare(Mutex<Vec<&'static Task>>);

impl Spare {
    pub(super) fn put(&self, blocks: &[&'static Task]) {
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        spare.extend_from_slice(blocks);
    }

    /// At most `count` blocks.
    pub(super) fn take(&self, count: usize) -> Vec<&'static Task> {
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let keep = spare.len().saturating_sub(count);
        spare.split_off(keep)
    }
}

impl Pool {
    pub(crate) fn new() -> Self {
        Self {
            used: AtomicBool::new(false),
            ever_used: AtomicBool::new(false),
            icvs_differ: AtomicBool::new(false),
            reduces: AtomicBool::new(false),
            reduction_group: Group::new(),
            dock: Admission::new(),
            commons: Commons::default(),
            waiters: Bell::new(),
            completed_outside: [const { AtomicU64::new(0) }; 2],
            spare: Spare::default(),
            meetings: Meetings::default(),
        }
    }

    /// A region begins: docked workers with this order may help with its tasks.
    #[inline]
    pub(crate) fn open(&self, order: Order) {
        self.icvs_differ.store(false, Ordering::Relaxed);
        // Published by the order itself, and by whoever sets `used`.
        self.dock.open(order.0);
    }

    /// A region ends, all tasks being complete: returns when no docked worker
    /// is looking for tasks any more.
    #[inline]
    pub(crate) fn close(&self) {
        if self.is_used() || self.dock.is_busy() {
            self.close_used();
        }
    }

    #[cold]
    fn close_used(&self) {
        self.dock.withdraw();
        self.waiters.ring();
        self.dock.wait_until_empty();
        self.meetings.clear();
        self.used.store(false, Ordering::Relaxed);
    }

    /// Whether the region has created a task.
    #[inline]
    pub(crate) fn is_used(&self) -> bool {
        self.used.load(Ordering::Acquire)
    }

    /// The region has tasks, or something else that [`Pool::close`] must end.
    #[inline]
    pub(super) fn mark_used(&self) {
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Release);
            self.ever_used.store(true, Ordering::Relaxed);
        }
    }

    /// Some task changes its ICVs.
    #[inline]
    pub(crate) fn note_icv_change(&self) {
        self.icvs_differ.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn icvs_differ(&self) -> bool {
        self.icvs_differ.load(Ordering::Relaxed)
    }

    /// Whether the implicit tasks of the region about to begin belong to a
    /// group, one with this table of reductions.
    pub(super) fn reduce_into(&self, table: Option<usize>) {
        self.reduction_group.set_reductions(table.unwrap_or(0));
        self.reduces.store(table.is_some(), Ordering::Relaxed);
    }

    /// The table they reduce into; 0 if there is none.
    pub(crate) fn region_table(&'static self) -> usize {
        self.region_group().map_or(0, Group::reductions)
    }

    /// The taskgroup of the region's implicit tasks.
    #[inline]
    pub(super) fn region_group(&'static self) -> Option<&'static Group> {
        self.reduces
            .load(Ordering::Relaxed)
            .then_some(&self.reduction_group)
    }

    pub(super) fn count_outside(&self, traits: Traits) {
        self.completed_outside[traits.parity()].fetch_add(1, Ordering::SeqCst);
    }
}

/// Whether all tasks of the phase with this parity are complete, given that
/// the implicit tasks create no more of them. See the README for why reading
/// in this order is enough.
fn is_complete(team: &'static Team, parity: usize) -> bool {
    let members = || (0..team.capacity()).map(|num| &team.member(num).task.counts);
    let outside = team.tasks.completed_outside[parity].load(Ordering::Acquire);
    let completed = members().fold(outside, |sum, counts| {
        sum.wrapping_add(counts.completed(parity))
    });
    let created = members().fold(0_u64, |sum, counts| {
        sum.wrapping_add(counts.created(parity))
    });
    completed == created
}

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
}

/// Members asleep that might run a task.
#[inline]
fn sleepers(team: &'static Team) -> u32 {
    team.barrier.bell().sleepers()
        + team.dock.bell.sleepers()
        + team.join.bell().sleepers()
        + team.tasks.waiters.sleepers()
}

/// Tasks queued between two invitations.
const INVITE_EVERY: u64 = 8;

/// Waking a thread costs more than most tasks, so a member that queues many
/// invites only when it begins to, and now and then in case those invited may
/// not run what they find. A member that comes and finds more than one task
/// invites the next.
#[cold]
fn invite_now_and_then(member: &'static Member, team: &'static Team, number: u64) {
    if member.task.deque.len() <= 1 || number.is_multiple_of(INVITE_EVERY) {
        invite(team);
    }
}

/// Wakes a member that might run a task, unless there are as many awake as
/// there are processors.
#[cold]
fn invite(team: &'static Team) {
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
    } else {
        team.tasks.waiters.ring_one();
    }
}

/// A task for `member` to run now. A member that waits inside a task takes
/// only tasks that descend from it (`inside`), as the task scheduling
/// constraint of tied tasks asks.
#[inline]
fn look(member: &'static Member, inside: Option<&'static Task>) -> Option<&'static Task> {
    let wanted = |task: &'static Task| inside.is_none_or(|ancestor| task.descends_from(ancestor));
    let team = member.team();
    let mine = &member.task;
    if !team.tasks.commons.is_empty()
        && let Some(task) = team.tasks.commons.take(wanted)
    {
        return Some(task);
    }
    if let Some(task) = mine.deque.pop(wanted) {
        return Some(task);
    }
    steal(member, team, wanted)
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
    // Whoever is about to sleep must look; then somebody is registered.
    if member.task.deque.len() == 0 && sleepers(member.team()) == 0 && member.task.rest.is_due() {
        return;
    }
    while let Some(task) = look(member, inside) {
        member.task.rest.note(true);
        run::while_waiting(member, task);
        if until() {
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
    if bell.sleepers() != 0
        && (team.cancelled.load(Ordering::SeqCst)
            || parities.any(|parity| is_complete(team, parity)))
    {
        bell.ring();
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
        || !pool.commons.is_empty()
        || (0..seen.size()).any(|num| team.member(num).task.deque.has_work());
    if !anything {
        member.task.rest.note(false);
        return;
    }
    pool.dock.admit(seen.0, || {
        // The worker has reported the end of its part; these tasks are one
        // more part in the same execution of the region.
        let recorder = member.worker().recorder();
        if let Some(recorder) = recorder {
            recorder.begin(&member.part(team, now()));
        }
        help(member, || false);
        if let Some(recorder) = recorder {
            recorder.end();
        }
    });
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
        wait_recorded(member, State::ImplicitBarrier, || {
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

fn complete_used(member: &'static Member, parity: usize) {
    let team = member.team();
    let done = || {
        is_complete(team, parity)
            && (!team.cancelled.load(Ordering::SeqCst) || is_complete(team, parity ^ 1))
    };
    if !done() {
        team.barrier.bell().wait(team.patience(), || {
            help(member, done);
            fence(Ordering::SeqCst);
            done()
        });
    }
    announce(member);
}
