//! The tasks of a team.

use crate::team::{Member, Order};

/// Tasks a team has created and not completed.
#[derive(Debug)]
pub(crate) struct Pool {}

impl Pool {
    pub(crate) fn new(_capacity: u32) -> Self {
        Self {}
    }

    /// A region begins: docked workers with this order may help with its tasks.
    pub(crate) fn open(&self, _order: Order) {}

    /// A region ends, all tasks being complete: returns when no docked worker
    /// is looking for tasks any more.
    pub(crate) fn close(&self) {}

    /// Whether the region has created a task.
    pub(crate) fn is_used(&self) -> bool {
        false
    }
}

/// Runs tasks of the member's team while there are any it may run.
pub(crate) fn help(_member: &'static Member) {}

/// The same for a worker that is through with the region of order `_seen`.
pub(crate) fn help_from_dock(_member: &'static Member, _seen: Order) {}

/// Returns when all tasks made in barrier phase `_phase` are complete, running
/// them as far as possible. All members have arrived at the phase's end. In a
/// cancelled region members may disagree about the phase: then all tasks count.
pub(crate) fn complete_phase(_member: &'static Member, _phase: u32) {}
