//! The tasks of a team: where they are queued, how they are counted, and who
//! helps with them.

use super::admission::Admission;
use super::block::{Task, Traits};
use super::group::Group;
use super::meetings::Meetings;
use super::shared_queue::SharedQueue;
use crate::event_count::EventCount;
use crate::team::{Order, Team};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Tasks a team has created and not completed.
#[derive(Debug)]
pub(crate) struct Pool {
    /// The region has created a task that did not run at once.
    used: AtomicBool,
    /// Some region of this team has.
    pub(super) ever_used: AtomicBool,
    /// Some task of the region has changed its ICVs, so they are no longer
    /// the same in all.
    icvs_differ: AtomicBool,
    /// The region's implicit tasks belong to `reduction_group`.
    reduces: AtomicBool,
    reduction_group: Group,
    pub(super) dock: Admission,
    pub(super) commons: SharedQueue,
    /// Tasks of this region that were run on top of one that gives way have ended.
    pub(super) runs_on_top: AtomicBool,
    /// Where members sleep that wait inside a task.
    pub(crate) waiters: EventCount,
    /// Members that handle letters of other nodes while they wait, and how often something has
    /// happened that one may wait for.
    pub(super) attending: AtomicU32,
    pub(super) events: AtomicU32,
    /// Parts of loops that members have open for others to steal from.
    pub(super) open_portions: AtomicU32,
    /// Tasks that came from other nodes, by parity.
    pub(super) created_outside: [AtomicU64; 2],
    /// Tasks completed by threads that do not count as members, by parity.
    pub(super) completed_outside: [AtomicU64; 2],
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
            commons: SharedQueue::default(),
            runs_on_top: AtomicBool::new(false),
            waiters: EventCount::new(),
            attending: AtomicU32::new(0),
            events: AtomicU32::new(0),
            open_portions: AtomicU32::new(0),
            created_outside: [const { AtomicU64::new(0) }; 2],
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
        self.runs_on_top.store(false, Ordering::Relaxed);
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

    /// Wakes those who wait inside a task.
    pub(crate) fn ring_waiters(&self, team: &Team) {
        self.waiters.ring();
        self.ring_attending(team);
    }

    /// Members that handle letters of other nodes while they wait look again.
    #[inline]
    pub(super) fn ring_attending(&self, team: &Team) {
        if self.attending.load(Ordering::SeqCst) != 0
            && let Some(remote) = team.remote()
        {
            self.events.fetch_add(1, Ordering::SeqCst);
            remote.rouse();
        }
    }

    /// A task has come from another node.
    pub(super) fn count_arrival(&self, traits: Traits) {
        self.created_outside[traits.parity()].fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn count_outside(&self, traits: Traits) {
        self.completed_outside[traits.parity()].fetch_add(1, Ordering::SeqCst);
    }
}
