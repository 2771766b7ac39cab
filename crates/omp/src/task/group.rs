//! Taskgroups.

use super::block::Task;
use super::tally::Tally;
use super::wait;
use crate::team::Member;
use fathomp_sys::static_ref::AtomicRef;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A taskgroup region: counts the tasks generated inside, descendants
/// included. Recycled by the member that opened it.
#[derive(Debug)]
pub(crate) struct Group {
    outer: AtomicRef<Group>,
    /// The member whose thread runs the region; none for the group that stands
    /// for a parallel region with task reductions, which nobody waits for.
    home: AtomicRef<Member>,
    tally: Tally,
    cancelled: AtomicBool,
    /// Opened by a worksharing construct with task reductions, not by the program.
    workshare: AtomicBool,
    /// The program's table of reductions its tasks may take part in; 0 if none.
    reductions: AtomicUsize,
    /// Next in the free list.
    pub(super) next: AtomicRef<Group>,
}

impl Group {
    pub(super) fn new() -> Self {
        Self {
            outer: AtomicRef::new(None),
            home: AtomicRef::new(None),
            tally: Tally::new(),
            cancelled: AtomicBool::new(false),
            workshare: AtomicBool::new(false),
            reductions: AtomicUsize::new(0),
            next: AtomicRef::new(None),
        }
    }

    fn begin(&self, home: &'static Member, outer: Option<&'static Self>, workshare: bool) {
        self.outer.store(outer, Ordering::Relaxed);
        self.home.store(Some(home), Ordering::Relaxed);
        self.tally.reset();
        self.cancelled.store(false, Ordering::Relaxed);
        self.workshare.store(workshare, Ordering::Relaxed);
        let reductions = outer.map_or(0, Self::reductions);
        self.reductions.store(reductions, Ordering::Relaxed);
    }

    /// A task has been created in the group, by `member`.
    #[inline]
    pub(super) fn add(&self, member: &'static Member) {
        match self.home.load(Ordering::Relaxed) {
            Some(home) if std::ptr::eq(home, member) => self.tally.begin_at_home(),
            Some(_) => self.tally.begin_elsewhere(),
            None => {}
        }
    }

    /// A task of the group is complete; `member` is `None` on a thread that
    /// does not count as one of the team. `true` if the group's member may
    /// sleep for want of this.
    #[inline]
    pub(super) fn remove(&self, member: Option<&'static Member>) -> bool {
        match (self.home.load(Ordering::Relaxed), member) {
            (Some(home), Some(member)) if std::ptr::eq(home, member) => {
                self.tally.end_at_home();
                false
            }
            (Some(_), _) => {
                // The group's member recycles it.
                self.tally.end_elsewhere().wake
            }
            (None, _) => false,
        }
    }

    /// Whether tasks of the group that have not begun must not begin any more.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
            || self.workshare.load(Ordering::Relaxed)
                && self
                    .outer
                    .load(Ordering::Relaxed)
                    .is_some_and(Self::is_cancelled)
    }

    /// The group a `cancel taskgroup` construct means: one of the program's.
    fn innermost_of_program(&'static self) -> &'static Self {
        match self.outer.load(Ordering::Relaxed) {
            Some(outer) if self.workshare.load(Ordering::Relaxed) => outer,
            _ => self,
        }
    }

    pub(super) fn reductions(&self) -> usize {
        self.reductions.load(Ordering::Relaxed)
    }

    pub(super) fn set_reductions(&self, table: usize) {
        self.reductions.store(table, Ordering::Relaxed);
    }
}

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
        group
            .innermost_of_program()
            .cancelled
            .store(true, Ordering::Relaxed);
    }
    group.is_some()
}

/// Whether the innermost taskgroup has been cancelled.
pub fn taskgroup_cancelled(member: &'static Member) -> bool {
    is_discarded(member.task.current())
}

/// Whether `task`'s group has been cancelled.
#[inline]
pub(super) fn is_discarded(task: &Task) -> bool {
    task.group().is_some_and(Group::is_cancelled)
}
