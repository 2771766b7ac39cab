//! Whether the tasks that were recorded are like all.

use crate::{Counter, Counts};
use fathomp_types::units::percent;
use serde::Serialize;
use std::fmt;

/// How far the recorded tasks' mean of a counter is from the mean of all tasks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Deviation {
    /// The counter.
    pub counter: Counter,
    /// Mean over the recorded tasks.
    pub recorded_mean: f64,
    /// Mean over all tasks.
    pub mean: f64,
    /// Standard error of the mean of as many tasks, drawn by chance from all.
    pub by_chance: f64,
}

impl Deviation {
    /// The difference as a share of the mean of all tasks, -1 to infinity.
    #[must_use]
    pub fn relative(&self) -> f64 {
        (self.recorded_mean - self.mean) / self.mean
    }

    /// Whether a draw by chance would hardly be as far off (two standard errors):
    /// the recorded tasks are of another kind than the rest.
    #[must_use]
    pub fn is_remarkable(&self) -> bool {
        (self.recorded_mean - self.mean).abs() > 2.0 * self.by_chance
    }
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let relative = self.relative();
        let direction = if relative < 0.0 { "fewer" } else { "more" };
        write!(
            f,
            "the recorded tasks have {} {direction} {} than all tasks have on average",
            percent(relative.abs()),
            self.counter.name().replace('_', " "),
        )
    }
}

/// Compares tasks that were recorded (`true`) with all tasks, by their totals:
/// one deviation for each counter that rose at all. Nothing if none or all were
/// recorded: then there is nothing to compare.
#[must_use]
pub fn deviations(tasks: &[(bool, Counts)]) -> Vec<Deviation> {
    let all = tasks.len() as f64;
    let recorded = tasks.iter().filter(|(recorded, _)| *recorded).count() as f64;
    if recorded == 0.0 || recorded == all {
        return Vec::new();
    }
    let of = |counter: Counter| {
        let mean = tasks
            .iter()
            .map(|(_, counts)| counts[counter] as f64)
            .sum::<f64>()
            / all;
        if mean == 0.0 {
            return None;
        }
        let chosen = tasks.iter().filter(|(recorded, _)| *recorded);
        let recorded_mean = chosen
            .map(|(_, counts)| counts[counter] as f64)
            .sum::<f64>()
            / recorded;
        let squares = tasks
            .iter()
            .map(|(_, counts)| (counts[counter] as f64 - mean).powi(2));
        // Drawn without putting back, from a finite number.
        let variance = squares.sum::<f64>() / (all - 1.0);
        Some(Deviation {
            counter,
            recorded_mean,
            mean,
            by_chance: (variance / recorded * (1.0 - recorded / all)).sqrt(),
        })
    };
    Counter::ALL.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(recorded: bool, faults: u64) -> (bool, Counts) {
        let mut counts = Counts::ZERO;
        counts[Counter::MinorFaults] = faults;
        (recorded, counts)
    }

    #[test]
    fn a_part_of_another_kind_is_found() {
        let mut tasks: Vec<_> = (0..12)
            .map(|number| task(false, 100 + number % 2))
            .collect();
        tasks.extend((0..4).map(|_| task(true, 200)));
        let [found] = deviations(&tasks)[..] else {
            panic!("one counter rose");
        };
        assert_eq!(found.counter, Counter::MinorFaults);
        assert_eq!(found.recorded_mean, 200.0);
        assert!((found.relative() - (200.0 / 125.375 - 1.0)).abs() < 1e-12);
        assert!(found.is_remarkable());
        assert_eq!(
            found.to_string(),
            "the recorded tasks have 60 % more minor faults than all tasks have on average"
        );
    }

    #[test]
    fn a_part_like_the_whole_is_not_remarkable() {
        let tasks: Vec<_> = (0..16)
            .map(|number| task(number % 4 == 1, 100 + number))
            .collect();
        let [found] = deviations(&tasks)[..] else {
            panic!("one counter rose");
        };
        assert!(!found.is_remarkable(), "{found:?}");
    }

    #[test]
    fn the_whole_and_nothing_are_not_compared() {
        assert!(deviations(&[task(true, 1), task(true, 2)]).is_empty());
        assert!(deviations(&[task(false, 1)]).is_empty());
        assert!(deviations(&[]).is_empty());
        let equal = deviations(&[task(true, 0), task(false, 0)]);
        assert!(equal.is_empty());
    }
}
