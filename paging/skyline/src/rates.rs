//! The raw record of rates.

use crate::facts::Rate;
use crate::settings::Selection;
use crate::source::Source;

/// Hands out the rates of a task's counter, (t0, t1, lambda), interval by interval as
/// recorded; intervals in which it did not rise have rate 0. Moments are nanoseconds after
/// `origin_ns`.
///
/// # Errors
/// If the source cannot be read.
pub fn rates<S: Source>(
    source: &S,
    task: usize,
    selection: Selection,
    origin_ns: u64,
    mut each: impl FnMut(Rate),
) -> Result<(), S::Error> {
    source.visit(task, |interval| {
        if !selection.states.contains(interval.state) {
            return;
        }
        let count = interval.counts[selection.counter];
        let ns = interval.end.saturating_sub(interval.begin);
        each(Rate {
            from_ns: interval.begin.saturating_sub(origin_ns),
            to_ns: interval.end.max(interval.begin).saturating_sub(origin_ns),
            count,
            per_second: (ns > 0).then(|| count as f64 * 1e9 / ns as f64),
        });
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Synthetic, interval};
    use fathomp_paging::{Activity, Counter, State};

    #[test]
    fn rates_are_counts_over_time() {
        let state = State::active(Activity::Compute);
        let mut made = Synthetic::new(1, 1_000);
        made.memory.intervals[0] = vec![
            interval(1_000, 1_500, state, Counter::MinorFaults, 5),
            interval(1_500, 1_500, state, Counter::MinorFaults, 1),
            interval(
                1_500,
                2_000,
                State::active(Activity::Io),
                Counter::MinorFaults,
                9,
            ),
        ];
        let mut seen = Vec::new();
        let compute = Selection {
            counter: Counter::MinorFaults,
            states: fathomp_paging::StateSet::NONE.with(state),
        };
        rates(&made.memory, 0, compute, 1_000, |rate| seen.push(rate)).unwrap();
        assert_eq!(seen.len(), 2);
        assert_eq!((seen[0].from_ns, seen[0].to_ns, seen[0].count), (0, 500, 5));
        assert_eq!(seen[0].per_second, Some(1e7));
        assert_eq!(seen[1].per_second, None);
    }
}
