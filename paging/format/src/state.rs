//! The states a task is in.

use serde::{Deserialize, Serialize};

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// It computes.
    Compute,
    /// It is in a call that reads, writes or waits for a file, a pipe or a terminal.
    Io,
    /// It exchanges data with other tasks or waits for them: MPI, sockets, the
    /// runtime's barriers, locks and distributed shared memory.
    Communication,
}

impl Activity {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Compute, Self::Io, Self::Communication];

    /// The activity's name, as in files and options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Io => "io",
            Self::Communication => "communication",
        }
    }
}

/// What a task does, and whether it gave its processor up meanwhile.
///
/// An interval is *suspended* if the kernel switched the task out because it
/// waited (a voluntary switch) at least once before its end. Being preempted by
/// others does not suspend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct State {
    /// What the task does.
    pub activity: Activity,
    /// Whether it gave its processor up meanwhile.
    pub suspended: bool,
}

impl State {
    /// Number of states.
    pub const COUNT: usize = 6;

    /// All, in the order of their numbers.
    pub const ALL: [Self; Self::COUNT] = {
        let mut all = [Self::active(Activity::Compute); Self::COUNT];
        let mut number = 0;
        while number < Self::COUNT {
            all[number] = Self {
                activity: Activity::ALL[number / 2],
                suspended: number % 2 == 1,
            };
            number += 1;
        }
        all
    };

    /// The state of a task that does so without giving its processor up.
    #[must_use]
    pub const fn active(activity: Activity) -> Self {
        Self {
            activity,
            suspended: false,
        }
    }

    /// The state's number, below [`State::COUNT`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.activity as usize * 2 + self.suspended as usize
    }

    /// The state's name, as in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match (self.activity, self.suspended) {
            (Activity::Compute, false) => "compute",
            (Activity::Compute, true) => "compute_suspended",
            (Activity::Io, false) => "io",
            (Activity::Io, true) => "io_suspended",
            (Activity::Communication, false) => "communication",
            (Activity::Communication, true) => "communication_suspended",
        }
    }

    /// The state with that number.
    #[must_use]
    pub fn from_index(index: usize) -> Option<Self> {
        Self::ALL.get(index).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_states_are_one_to_one() {
        for (number, state) in State::ALL.into_iter().enumerate() {
            assert_eq!(state.index(), number);
            assert_eq!(State::from_index(number), Some(state));
        }
        assert_eq!(State::from_index(State::COUNT), None);
    }
}
