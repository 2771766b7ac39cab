//! Time per state in nanoseconds.

use fathomp_trace::state::{PerState, State};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::ops::{AddAssign, Index, IndexMut};

/// Nanoseconds per [`State`]; serialised as a map from the state's name to
/// nanoseconds, every state present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times(pub PerState<u64>);

impl Times {
    /// Sum over all states.
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        self.0.0.into_iter().fold(0, u64::saturating_add)
    }

    /// Time in application code: what the efficiencies call useful.
    #[must_use]
    pub fn useful_ns(&self) -> u64 {
        self[State::Compute]
    }

    /// Time waiting for other threads: everything that is neither application
    /// code, nor the runtime's own work, nor input, output or communication.
    #[must_use]
    pub fn waiting_ns(&self) -> u64 {
        let waiting = [
            State::ImplicitBarrier,
            State::ExplicitBarrier,
            State::Critical,
            State::Lock,
            State::Ordered,
            State::TaskWait,
            State::Idle,
        ];
        waiting
            .into_iter()
            .map(|state| self[state])
            .fold(0, u64::saturating_add)
    }

    /// Time waiting at barriers.
    #[must_use]
    pub fn barriers_ns(&self) -> u64 {
        self[State::ImplicitBarrier].saturating_add(self[State::ExplicitBarrier])
    }

    /// States and their times, in the order of [`State::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (State, u64)> + '_ {
        State::ALL.into_iter().map(|state| (state, self[state]))
    }
}

impl Index<State> for Times {
    type Output = u64;
    fn index(&self, state: State) -> &u64 {
        &self.0[state]
    }
}

impl IndexMut<State> for Times {
    fn index_mut(&mut self, state: State) -> &mut u64 {
        &mut self.0[state]
    }
}

impl AddAssign<&Self> for Times {
    fn add_assign(&mut self, other: &Self) {
        for state in State::ALL {
            self[state] = self[state].saturating_add(other[state]);
        }
    }
}

impl Serialize for Times {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(State::COUNT))?;
        for (state, ns) in self.iter() {
            map.serialize_entry(state.name(), &ns)?;
        }
        map.end()
    }
}
