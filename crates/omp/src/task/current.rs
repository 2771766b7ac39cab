//! What a member is running.

use fathomp_base::Ticks;

/// The explicit task a member runs at the moment, and what its implicit task
/// has to remember about its children.
#[derive(Debug)]
pub(crate) struct Current {}

impl Current {
    pub(crate) fn new() -> Self {
        Self {}
    }

    /// A new implicit task begins: no explicit task, no children.
    pub(crate) fn reset(&self) {}

    /// The thread gives the member up for another.
    pub(crate) fn disown(&self) {}

    /// Time this member has spent in explicit tasks run while it waited, when
    /// recording.
    pub(crate) fn ticks(&self) -> Ticks {
        Ticks(0)
    }
}
