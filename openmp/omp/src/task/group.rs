//! Taskgroups.

use super::origin::Origin;
use super::tally::Tally;
use crate::team::Member;
use fathomp_sys::static_ref::AtomicRef;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A taskgroup region: counts the tasks generated inside, descendants
/// included. Recycled by the member that opened it.
#[derive(Debug)]
pub(crate) struct Group {
    pub(super) outer: AtomicRef<Group>,
    /// The member whose thread runs the region; none for the group that stands
    /// for a parallel region with task reductions, which nobody waits for.
    pub(super) home: AtomicRef<Member>,
    pub(super) tally: Tally,
    pub(super) cancelled: AtomicBool,
    /// Opened by a worksharing construct with task reductions, not by the program.
    workshare: AtomicBool,
    /// The program's table of reductions its tasks may take part in; 0 if none.
    reductions: AtomicUsize,
    /// Stands for the group that a task from another node is in, as far as this node knows it:
    /// counts that task and its descendants here.
    foreign: AtomicBool,
    pub(super) origin: Origin,
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
            foreign: AtomicBool::new(false),
            origin: Origin::new(),
            next: AtomicRef::new(None),
        }
    }

    pub(super) fn begin(
        &self,
        home: &'static Member,
        outer: Option<&'static Self>,
        workshare: bool,
    ) {
        self.outer.store(outer, Ordering::Relaxed);
        self.home.store(Some(home), Ordering::Relaxed);
        self.tally.reset();
        self.cancelled.store(false, Ordering::Relaxed);
        self.workshare.store(workshare, Ordering::Relaxed);
        let reductions = outer.map_or(0, Self::reductions);
        self.reductions.store(reductions, Ordering::Relaxed);
    }

    /// Begins to stand for the group of a task that `node` gave away under `number`, which is
    /// counted.
    pub(super) fn stand_for(&self, node: u32, number: u64, reductions: usize) {
        self.outer.store(None, Ordering::Relaxed);
        self.home.store(None, Ordering::Relaxed);
        self.tally.reset();
        self.tally.begin_elsewhere();
        self.cancelled.store(false, Ordering::Relaxed);
        self.workshare.store(false, Ordering::Relaxed);
        self.reductions.store(reductions, Ordering::Relaxed);
        self.foreign.store(true, Ordering::Relaxed);
        self.origin.set(node, number);
    }

    /// Whether it stands for another node's.
    #[inline]
    pub(super) fn is_foreign(&self) -> bool {
        self.foreign.load(Ordering::Relaxed)
    }

    /// Whether anybody waits for its tasks.
    pub(super) fn is_awaited(&self) -> bool {
        self.is_foreign() || self.home.load(Ordering::Relaxed).is_some()
    }

    /// A task has been created in the group, by `member`.
    #[inline]
    pub(super) fn add(&self, member: &'static Member) {
        match self.home.load(Ordering::Relaxed) {
            Some(home) if std::ptr::eq(home, member) => self.tally.begin_at_home(),
            Some(_) => self.tally.begin_elsewhere(),
            None if self.is_foreign() => self.tally.begin_elsewhere(),
            None => {}
        }
    }

    /// A task of the group is complete; `member` is `None` on a thread that
    /// does not count as one of the team. `true` if the group's member may
    /// sleep for want of this, or the node be waiting that the group stands for.
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
            (None, _) if self.is_foreign() => self.tally.end_elsewhere().wake,
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
    pub(super) fn innermost_of_program(&'static self) -> &'static Self {
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
