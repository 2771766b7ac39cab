//! Ticks by state.

use fathomp_trace::state::{PerState, State};
use fathomp_types::Ticks;

/// Sum over all states.
pub(crate) fn total(states: &PerState<Ticks>) -> Ticks {
    states.0.iter().copied().sum()
}

/// Takes `amount` out of `states`: out of application code if there is enough
/// of it, else out of what there is. Returns what could not be taken.
pub(crate) fn take(states: &mut PerState<Ticks>, amount: Ticks) -> Ticks {
    let mut left = amount;
    let order = [State::Compute, State::Overhead]
        .into_iter()
        .chain(State::ALL);
    for state in order {
        let taken = left.min(states[state]);
        states[state] = states[state] - taken;
        left = left - taken;
    }
    left
}
