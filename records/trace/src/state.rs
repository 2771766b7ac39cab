//! What a thread is doing at a moment.

use serde::{Deserialize, Serialize};
use std::ops::{Index, IndexMut};

/// State of a thread inside a team, disjoint and exhaustive: the times of all
/// states of an instance add up to its length.
///
/// The numbers are part of the recording format; new states go at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum State {
    /// Application code. Never recorded as an interval: it is what is left.
    Compute = 0,
    /// Waiting in the barrier that ends a region or worksharing construct.
    ImplicitBarrier = 1,
    /// Waiting in a barrier the program wrote.
    ExplicitBarrier = 2,
    /// Waiting to enter a critical section (or `GOMP_atomic_start`).
    Critical = 3,
    /// Waiting for an `omp_*_lock`.
    Lock = 4,
    /// Waiting for its turn in an ordered construct or doacross loop.
    Ordered = 5,
    /// Waiting for child tasks, a taskgroup or a dependence, with no task to run.
    TaskWait = 6,
    /// Work of the runtime itself: forking, dispatching chunks, making tasks.
    Overhead = 7,
    /// A member of the pool with no team.
    Idle = 8,
    /// Reading or writing files.
    Io = 9,
    /// Waiting for another node's pages or messages.
    Communication = 10,
    /// Not on a processor although nothing of OpenMP was waited for: asleep, or
    /// waiting for a file, a socket, a lock of the program's own. Never recorded:
    /// the analysis finds it in counter readings.
    Blocked = 11,
    /// Ready to run, but without a processor. Never recorded, as
    /// [`State::Blocked`].
    Ready = 12,
}

impl State {
    /// All states, in the order of their numbers.
    pub const ALL: [Self; 13] = [
        Self::Compute,
        Self::ImplicitBarrier,
        Self::ExplicitBarrier,
        Self::Critical,
        Self::Lock,
        Self::Ordered,
        Self::TaskWait,
        Self::Overhead,
        Self::Idle,
        Self::Io,
        Self::Communication,
        Self::Blocked,
        Self::Ready,
    ];
    /// Number of states.
    pub const COUNT: usize = Self::ALL.len();
    /// Number of the states that a recorder tells apart: the first ones.
    pub const RECORDED: usize = Self::Blocked as usize;

    /// The state with that number in the recording format.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Name shown to users and used as column name in CSV and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::ImplicitBarrier => "implicit_barrier",
            Self::ExplicitBarrier => "explicit_barrier",
            Self::Critical => "critical",
            Self::Lock => "lock",
            Self::Ordered => "ordered",
            Self::TaskWait => "task_wait",
            Self::Overhead => "overhead",
            Self::Idle => "idle",
            Self::Io => "io",
            Self::Communication => "communication",
            Self::Blocked => "blocked",
            Self::Ready => "ready",
        }
    }
}

/// One value per [`State`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PerState<T>(pub [T; State::COUNT]);

impl<T> Index<State> for PerState<T> {
    type Output = T;
    fn index(&self, state: State) -> &T {
        &self.0[state as usize]
    }
}

impl<T> IndexMut<State> for PerState<T> {
    fn index_mut(&mut self, state: State) -> &mut T {
        &mut self.0[state as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_order_agree() {
        for (number, state) in State::ALL.into_iter().enumerate() {
            assert_eq!(state as usize, number);
            assert_eq!(State::from_number(number as u8), Some(state));
        }
        assert_eq!(State::from_number(State::COUNT as u8), None);
    }
}
