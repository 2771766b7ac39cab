//! Sets of counters and of states.

use crate::{Counter, State};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A set of counters.
///
/// In JSON a list of names; names from later versions are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CounterSet(u32);

impl CounterSet {
    /// None.
    pub const NONE: Self = Self(0);
    /// Every counter.
    pub const ALL: Self = Self((1 << Counter::COUNT) - 1);

    /// Counters that only samplers know.
    pub const SAMPLED_ONLY: Self = Self::NONE
        .with(Counter::SystemSwapIns)
        .with(Counter::SystemSwapOuts)
        .with(Counter::ProcessSwapOuts)
        .with(Counter::ProcessSwapIns);

    /// The counters whose bits are set, by their numbers; other bits are dropped.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits & Self::ALL.0)
    }

    /// A bit for each counter, by its number.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether it holds `counter`.
    #[must_use]
    pub const fn contains(self, counter: Counter) -> bool {
        self.0 >> counter.index() & 1 != 0
    }

    /// This set and `counter`.
    #[must_use]
    pub const fn with(self, counter: Counter) -> Self {
        Self(self.0 | 1 << counter.index())
    }

    /// What is in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// What is in this one only.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether it holds none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Number of counters in it.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The counters, in the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = Counter> {
        Counter::ALL
            .into_iter()
            .filter(move |counter| self.contains(*counter))
    }
}

impl FromIterator<Counter> for CounterSet {
    fn from_iter<I: IntoIterator<Item = Counter>>(counters: I) -> Self {
        counters.into_iter().fold(Self::NONE, Self::with)
    }
}

impl Serialize for CounterSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Counter::name))
    }
}

impl<'de> Deserialize<'de> for CounterSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        Ok(names
            .iter()
            .filter_map(|name| Counter::from_name(name))
            .collect())
    }
}

/// A set of states. In JSON a list of names, as [`State::name`] gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StateSet(u8);

impl StateSet {
    /// None.
    pub const NONE: Self = Self(0);
    /// Every state.
    pub const ALL: Self = Self((1 << State::COUNT) - 1);

    /// Whether it holds `state`.
    #[must_use]
    pub const fn contains(self, state: State) -> bool {
        self.0 >> state.index() & 1 != 0
    }

    /// This set and `state`.
    #[must_use]
    pub const fn with(self, state: State) -> Self {
        Self(self.0 | 1 << state.index())
    }

    /// Whether it holds none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The states, in the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = State> {
        State::ALL
            .into_iter()
            .filter(move |state| self.contains(*state))
    }
}

impl FromIterator<State> for StateSet {
    fn from_iter<I: IntoIterator<Item = State>>(states: I) -> Self {
        states.into_iter().fold(Self::NONE, Self::with)
    }
}

impl Serialize for StateSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(State::name))
    }
}

impl<'de> Deserialize<'de> for StateSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        Ok(State::ALL
            .into_iter()
            .filter(|state| names.iter().any(|name| name == state.name()))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_lists_of_names_in_files() {
        let counters = CounterSet::from_iter([Counter::MajorFaults, Counter::BytesRead]);
        let json = serde_json::to_string(&counters).unwrap();
        assert_eq!(json, r#"["major_faults","bytes_read"]"#);
        assert_eq!(serde_json::from_str::<CounterSet>(&json).unwrap(), counters);
        let later = serde_json::from_str::<CounterSet>(r#"["major_faults","of_later"]"#);
        assert_eq!(later.unwrap().len(), 1);
        let json = serde_json::to_string(&StateSet::ALL).unwrap();
        assert_eq!(
            serde_json::from_str::<StateSet>(&json).unwrap(),
            StateSet::ALL
        );
    }

    #[test]
    fn bits_are_those_of_the_numbers() {
        assert_eq!(CounterSet::ALL.len(), Counter::COUNT);
        assert_eq!(CounterSet::from_bits(u32::MAX), CounterSet::ALL);
        let two = CounterSet::NONE
            .with(Counter::PageIns)
            .with(Counter::IoCalls);
        assert_eq!(two.bits(), 1 << 2 | 1 << 9);
        assert!(two.without(two).is_empty());
        assert_eq!(CounterSet::ALL.and(two), two);
        assert_eq!(StateSet::ALL.iter().count(), State::COUNT);
    }
}
