//! Colours of states: their names, what they stand for, and legends of them.

use super::words;
use fathomp_analysis::{State, Times};
use serde::Serialize;

/// A colour and what it stands for.
#[derive(Debug, Serialize)]
pub struct LegendEntry {
    /// The style's class of the colour.
    pub class: &'static str,
    /// What it stands for.
    pub name: &'static str,
}

/// Index of the colour for computing outside regions, after all states.
const SERIAL: usize = State::COUNT;

/// That in a legend.
pub(super) const SERIAL_LEGEND: LegendEntry = LegendEntry {
    class: "serial",
    name: "computing outside regions",
};

/// Names of colours by index, and what they mean.
pub(super) fn colours() -> (Vec<&'static str>, Vec<&'static str>) {
    let mut states: Vec<&'static str> = State::ALL.iter().map(|state| state.name()).collect();
    states.push("serial");
    let mut names: Vec<&'static str> = State::ALL.into_iter().map(words::state).collect();
    names.push("computing");
    (states, names)
}

/// The index of a state's colour, in regions or outside.
pub(super) fn colour(state: State, is_serial: bool) -> usize {
    match is_serial && state == State::Compute {
        true => SERIAL,
        false => state as usize,
    }
}

/// Colours of the states that occur in `times`.
pub(crate) fn legend<'a>(times: impl IntoIterator<Item = &'a Times>) -> Vec<LegendEntry> {
    let mut sum = Times::default();
    for one in times {
        sum += one;
    }
    shown(&sum)
        .map(|(state, _)| LegendEntry {
            class: state.name(),
            name: words::state(state),
        })
        .collect()
}

pub(super) fn shown(times: &Times) -> impl Iterator<Item = (State, u64)> + '_ {
    times.iter().filter(|(_, ns)| *ns > 0)
}
