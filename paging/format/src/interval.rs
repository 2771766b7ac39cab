//! What a task did from one state change to the next.

use crate::{Cause, Counts, State};
use serde::{Deserialize, Serialize};

/// A task's stay in a state, or a part of one if it was sampled meanwhile.
///
/// Intervals of a task follow each other without gaps or overlaps; what was not
/// recorded (events lost, tasks deselected for a while) is a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// When it began: nanoseconds of the recording's clock.
    pub begin: u64,
    /// When it ended; at least `begin`.
    pub end: u64,
    /// What the task did.
    pub state: State,
    /// Which call or construct it was in; [`Cause::NONE`] if not known.
    pub cause: Cause,
    /// What rose meanwhile.
    pub counts: Counts,
    /// Stays that were merged into this one because a thread's ring was full or
    /// the recording had reached its limit; 1 usually. 0 for the part of a merged
    /// stay that ends in a later interval.
    pub merged: u64,
}

/// A point in the life of a task that its stays in states do not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When: nanoseconds of the recording's clock.
    pub at: u64,
    /// What it is.
    pub kind: MarkKind,
    /// Which: the number of the name in the recording's table of names.
    pub name: u32,
}

/// Kinds of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    /// A barrier of the whole team or of all nodes was passed: a phase ends.
    Barrier,
    /// A parallel region begins.
    RegionBegin,
    /// A parallel region ends.
    RegionEnd,
    /// A phase that the program's author named by `fathomp_phase`.
    Phase,
}

impl MarkKind {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 4] = [
        Self::Barrier,
        Self::RegionBegin,
        Self::RegionEnd,
        Self::Phase,
    ];

    /// The kind's number.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The kind with that number.
    #[must_use]
    pub fn from_index(index: usize) -> Option<Self> {
        Self::ALL.get(index).copied()
    }
}
