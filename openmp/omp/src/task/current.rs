//! What a member is running, and its own store of tasks.

use super::block::{Task, Traits};
use super::deque::{CAPACITY, Deque};
use super::giving_way::GivesWay;
use super::group::Group;
use super::shared_loop::{Portions, SharedLoop};
use crate::own::Own;
use crate::team::{Member, Team};
use fathomp_sys::static_ref::AtomicRef;
use fathomp_types::Ticks;
use std::sync::atomic::{AtomicU64, Ordering};

/// Blocks a member keeps for itself; beyond it half of them go to the team.
const KEPT: u32 = 128;

/// The explicit task a member runs at the moment, and what its implicit task
/// has to remember about its children.
#[derive(Debug)]
pub(crate) struct Current {
    pub(super) deque: Deque,
    pub(super) counts: Counts,
    /// None while the implicit task runs.
    running: AtomicRef<Task>,
    /// Time spent in tasks run while waiting.
    ticks: AtomicU64,
    pub(super) unannounced: Unannounced,
    /// The member from which it stole last.
    pub(super) victim: Own,
    pub(super) rest: Rest,
    /// Included tasks since one was timed.
    included: Own,
    pub(super) gives_way: GivesWay,
    /// Worksharing constructs with task reductions met in this region.
    pub(super) rounds: Own,
    free: AtomicRef<Task>,
    free_count: Own,
    /// Blocks for included tasks, see [`Current::take_inline`].
    free_inline: AtomicRef<Task>,
    free_groups: AtomicRef<Group>,
    free_loops: AtomicRef<SharedLoop>,
    implicit: Task,
    /// Its parts of loops.
    pub(super) portions: Portions,
}

/// How often to look for tasks. Each look at another member's deque takes the
/// cache line away that the other needs to create its next task, so a member
/// that finds nothing leaves out some of its looks.
#[derive(Debug, Default)]
pub(super) struct Rest {
    /// Looks left out after each that finds nothing; grows up to a limit.
    length: Own,
    /// Looks still to be left out.
    left: Own,
}

impl Rest {
    /// Longest rest: a few hundred nanoseconds of polling.
    const LONGEST: u32 = 16;

    /// Whether this look is left out.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        let left = self.left.get();
        if left != 0 {
            self.left.set(left - 1);
        }
        left != 0
    }

    /// A look has found something, or nothing.
    #[inline]
    pub(super) fn note(&self, found: bool) {
        let length = if found {
            0
        } else {
            (self.length.get() + 1).min(Self::LONGEST)
        };
        self.length.set(length);
        self.left.set(length);
    }
}

/// Phases of which the member has completed tasks since it last told sleepers:
/// a bit for each parity.
#[derive(Debug)]
pub(super) struct Unannounced(Own);

impl Unannounced {
    #[inline]
    pub(super) fn add(&self, traits: Traits) {
        self.0.set(self.0.get() | 1 << traits.parity());
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.get() == 0
    }

    /// The parities, which are announced now.
    pub(super) fn take(&self) -> impl Iterator<Item = usize> {
        let bits = self.0.get();
        self.0.set(0);
        (0..2).filter(move |parity| bits & 1 << parity != 0)
    }
}

/// Tasks this member has created and completed since it exists, by the parity
/// of the phase that waits for them. Written by the member only.
///
/// All tasks of a phase are complete if all members' `completed`, read first,
/// add up to all members' `created`, read afterwards (see the README).
#[repr(align(128))]
#[derive(Debug, Default)]
pub(super) struct Counts {
    created: [AtomicU64; 2],
    completed: [AtomicU64; 2],
}

impl Counts {
    #[inline]
    pub(super) fn add_created(&self, traits: Traits) {
        bump(&self.created[traits.parity()]);
    }

    #[inline]
    pub(super) fn add_completed(&self, traits: Traits) {
        bump(&self.completed[traits.parity()]);
    }

    pub(super) fn created(&self, parity: usize) -> u64 {
        self.created[parity].load(Ordering::Acquire)
    }

    pub(super) fn completed(&self, parity: usize) -> u64 {
        self.completed[parity].load(Ordering::Acquire)
    }
}

#[inline]
fn bump(count: &AtomicU64) {
    count.store(
        count.load(Ordering::Relaxed).wrapping_add(1),
        Ordering::Release,
    );
}

impl Current {
    pub(crate) fn new() -> Self {
        Self {
            deque: Deque::new(CAPACITY),
            counts: Counts::default(),
            running: AtomicRef::new(None),
            ticks: AtomicU64::new(0),
            unannounced: Unannounced(Own::new(0)),
            victim: Own::new(0),
            rest: Rest::default(),
            included: Own::new(0),
            gives_way: GivesWay::default(),
            rounds: Own::new(0),
            free: AtomicRef::new(None),
            free_count: Own::new(0),
            free_inline: AtomicRef::new(None),
            free_groups: AtomicRef::new(None),
            free_loops: AtomicRef::new(None),
            implicit: Task::new(),
            portions: Portions::new(),
        }
    }

    /// A new implicit task begins: no explicit task, no children.
    #[inline]
    pub(crate) fn reset(&'static self, member: &'static Member) {
        self.running.store(None, Ordering::Relaxed);
        self.rounds.set(0);
        self.implicit
            .begin_implicit(member, member.team().tasks.region_group());
    }

    /// Time this member has spent in explicit tasks run while it waited, when
    /// recording.
    #[inline]
    pub(crate) fn ticks(&self) -> Ticks {
        Ticks(self.ticks.load(Ordering::Relaxed))
    }

    pub(crate) fn set_ticks(&self, ticks: Ticks) {
        self.ticks.store(ticks.0, Ordering::Relaxed);
    }

    /// The task the member runs.
    #[inline]
    pub(crate) fn current(&'static self) -> &'static Task {
        self.explicit().unwrap_or(&self.implicit)
    }

    /// The member's implicit task.
    #[inline]
    pub(crate) fn implicit(&'static self) -> &'static Task {
        &self.implicit
    }

    /// A number no two living tasks share, for the task the member runs.
    #[inline]
    pub(crate) fn identity(&'static self) -> usize {
        std::ptr::from_ref(self.current()).addr()
    }

    /// The explicit task that runs, if any.
    #[inline]
    pub(super) fn explicit(&self) -> Option<&'static Task> {
        self.running.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn set_explicit(&self, task: Option<&'static Task>) {
        self.running.store(task, Ordering::Relaxed);
    }

    /// A block for a new task.
    #[inline]
    pub(super) fn take_block(&self, team: &'static Team) -> &'static Task {
        match self.free.load(Ordering::Relaxed) {
            Some(task) => {
                self.free
                    .store(task.next.load(Ordering::Relaxed), Ordering::Relaxed);
                self.free_count.set(self.free_count.get() - 1);
                task
            }
            None => self.refill(team),
        }
    }

    #[cold]
    fn refill(&self, team: &'static Team) -> &'static Task {
        for task in team.tasks.spare.take((KEPT / 2) as usize) {
            self.give_block(team, task);
        }
        match self.free.load(Ordering::Relaxed) {
            Some(_) => self.take_block(team),
            None => Task::leak(team),
        }
    }

    /// Nobody needs `task` any more.
    #[inline]
    pub(super) fn give_block(&self, team: &'static Team, task: &'static Task) {
        task.next
            .store(self.free.load(Ordering::Relaxed), Ordering::Relaxed);
        self.free.store(Some(task), Ordering::Relaxed);
        let count = self.free_count.get() + 1;
        self.free_count.set(count);
        if count > KEPT {
            self.share_blocks(team);
        }
    }

    /// Members that only run tasks pass the blocks on to those that create them.
    #[cold]
    fn share_blocks(&self, team: &'static Team) {
        let half: Vec<_> = (0..KEPT / 2).map(|_| self.take_block(team)).collect();
        team.tasks.spare.put(&half);
    }

    /// Whether the next included task is timed, if of so many one is.
    pub(crate) fn samples_included(&self, of: u32) -> bool {
        let count = self.included.get().wrapping_add(1);
        self.included.set(count);
        count.is_multiple_of(of)
    }

    /// A block for a task that `member`, whose state this is, runs before its
    /// creator goes on. Such blocks have a list of their own: their runner is
    /// set already and their children are reset.
    #[inline]
    pub(super) fn take_inline(
        &self,
        member: &'static Member,
        team: &'static Team,
    ) -> &'static Task {
        match self.free_inline.load(Ordering::Relaxed) {
            Some(task) => {
                let next = task.next.load(Ordering::Relaxed);
                self.free_inline.store(next, Ordering::Relaxed);
                task
            }
            None => self.new_inline(member, team),
        }
    }

    #[cold]
    fn new_inline(&self, member: &'static Member, team: &'static Team) -> &'static Task {
        let task = self.take_block(team);
        task.children.reset();
        task.set_runner(Some(member));
        task.next.store(None, Ordering::Relaxed);
        task
    }

    /// A block taken by [`Current::take_inline`] is not needed any more; its children are reset.
    #[inline]
    pub(super) fn give_inline(&self, task: &'static Task) {
        // Not what it was when the block was taken: a block taken later may
        // have left for good.
        let top = self.free_inline.load(Ordering::Relaxed);
        task.next.store(top, Ordering::Relaxed);
        self.free_inline.store(Some(task), Ordering::Relaxed);
    }

    pub(super) fn take_group(&self) -> &'static Group {
        match self.free_groups.load(Ordering::Relaxed) {
            Some(group) => {
                self.free_groups
                    .store(group.next.load(Ordering::Relaxed), Ordering::Relaxed);
                group
            }
            None => Box::leak(Box::new(Group::new())),
        }
    }

    pub(super) fn give_group(&self, group: &'static Group) {
        group
            .next
            .store(self.free_groups.load(Ordering::Relaxed), Ordering::Relaxed);
        self.free_groups.store(Some(group), Ordering::Relaxed);
    }

    pub(super) fn take_loop(&self) -> &'static SharedLoop {
        match self.free_loops.load(Ordering::Relaxed) {
            Some(free) => {
                self.free_loops
                    .store(free.next.load(Ordering::Relaxed), Ordering::Relaxed);
                free
            }
            None => Box::leak(Box::new(SharedLoop::new())),
        }
    }

    pub(super) fn give_loop(&self, free: &'static SharedLoop) {
        free.next
            .store(self.free_loops.load(Ordering::Relaxed), Ordering::Relaxed);
        self.free_loops.store(Some(free), Ordering::Relaxed);
    }
}
