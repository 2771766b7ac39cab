//! Sums that end at the largest number, and ticks as nanoseconds.

use crate::facts::Times;
use fathomp_trace::state::PerState;
use fathomp_types::{Clock, Ticks};

/// The sum, or the largest number where it is more than that.
pub(crate) fn saturating_sum(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, u64::saturating_add)
}

/// Nanoseconds from the start of the process to `at`.
pub(crate) fn relative(clock: &Clock, begin: Ticks, at: Ticks) -> u64 {
    clock.span(at.since(begin)).0
}

/// Ticks of that clock as times.
pub(crate) fn to_times(states: &PerState<Ticks>, clock: &Clock) -> Times {
    Times(PerState(states.0.map(|ticks| clock.span(ticks).0)))
}
