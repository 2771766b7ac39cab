//! What observers are told.

use super::region::{Encounter, Region};
use crate::team::{Member, Team};
use crate::wait::Wait;
use crate::worksharing::Loop;

/// Somebody who is told of what threads do. What it does not want to hear of does nothing.
///
/// Events are told on the thread that they are about, in the middle of the runtime: no lock is
/// held, and nothing may be waited for.
pub(crate) trait Observer {
    /// What it keeps of a wait until that ends.
    type Waiting: Default;

    /// A thread meets a parallel construct.
    fn meets(&self, _encounter: &mut Encounter<'_>) {}

    /// The region's team is there, and has not begun.
    fn region_begins(&self, _region: &Region<'_>) {}

    /// The region is over for the thread that began it. `by_program`: the program called its code.
    fn region_ends(&self, _outer: &'static Member, _team: &'static Team, _by_program: bool) {}

    /// A member begins its implicit task.
    fn implicit_begins(&self, _member: &'static Member, _team: &'static Team) {}

    /// A member meets a loop or sections.
    fn loop_begins(&self, _member: &'static Member, _wanted: &Loop) {}

    /// It is through with what it met last.
    fn loop_ends(&self, _member: &'static Member) {}

    /// The member begins to wait, in the construct that was called from there (0 if that is not
    /// known).
    fn wait_begins(&self, _member: &'static Member, _wait: Wait, _call: usize) -> Self::Waiting {
        Self::Waiting::default()
    }

    /// That wait ends.
    fn wait_ends(&self, _member: &'static Member, _waiting: Self::Waiting) {}

    /// All members here have come to a barrier, which is about to be opened with phase `next`.
    fn barrier_opens(&self, _team: &'static Team, _next: u32) {}

    /// The member has passed a barrier, of this kind.
    fn barrier_passed(&self, _member: &'static Member, _kind: Wait) {}
}
