//! The program and its regions side by side: on several runtimes, or before and after a change.

pub use fathomp_stats::Ratio;

use fathomp_analysis::{Region, State};
use fathomp_stats::median;
use serde::Serialize;
use std::ops::AddAssign;

/// A region, or the program.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What to call it.
    pub name: String,
    /// By side; none where it was not executed.
    pub columns: Vec<Option<Column>>,
}

/// A region on one side.
#[derive(Clone, Debug, Serialize)]
pub struct Column {
    /// Executions in a run.
    pub executions: u64,
    /// Median over the runs.
    pub time_ns: f64,
    /// Of each run.
    pub samples_ns: Vec<u64>,
    /// Over the first side's time; none for the first itself.
    pub ratio: Option<Ratio>,
    /// Time of its threads in a run by what they did, median over the runs.
    pub parts: Parts,
    /// Which of these differs most from the first side's, if the times differ.
    pub difference: Option<Difference>,
}

/// What threads did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Parts {
    /// The program's own work.
    pub work_ns: f64,
    /// Waiting at barriers.
    pub barrier_ns: f64,
    /// Beginning regions, dealing iterations.
    pub scheduling_ns: f64,
    /// Critical sections, locks, turns of ordered loops.
    pub exclusion_ns: f64,
    /// Waiting for tasks.
    pub tasks_ns: f64,
    /// Without a processor, asleep, or all else.
    pub other_ns: f64,
}

/// Where the time of two sides differs.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// In which of the [`Parts`].
    pub part: &'static str,
    /// How much longer its threads were in it, all together.
    pub longer_ns: f64,
}

/// `1.04 (1.02 to 1.06)`.
#[must_use]
pub fn ratio_words(ratio: &Ratio) -> String {
    match ratio.interval {
        None => format!("{:.2}", ratio.value),
        Some(interval) => format!(
            "{:.2} ({:.2} to {:.2})",
            ratio.value, interval.low, interval.high
        ),
    }
}

/// A region, or the program, in one run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Its time.
    pub ns: u64,
    /// Times it was executed.
    pub executions: u64,
    /// What its threads did.
    pub parts: Parts,
}

impl Sample {
    /// A region in the run that it is from.
    #[must_use]
    pub fn of(region: &Region) -> Self {
        Self {
            ns: region.wall_ns,
            executions: region.instances,
            parts: Parts::of(region),
        }
    }
}

impl AddAssign for Sample {
    fn add_assign(&mut self, other: Self) {
        self.ns = self.ns.saturating_add(other.ns);
        self.executions = self.executions.saturating_add(other.executions);
        self.parts += other.parts;
    }
}

impl Parts {
    /// Those of a region.
    #[must_use]
    pub fn of(region: &Region) -> Self {
        let ns = |states: &[State]| -> f64 {
            let each = states.iter().map(|state| region.states[*state] as f64);
            each.sum()
        };
        let parts = Self {
            work_ns: ns(&[State::Compute]),
            barrier_ns: ns(&[State::ImplicitBarrier, State::ExplicitBarrier]),
            scheduling_ns: ns(&[State::Overhead]),
            exclusion_ns: ns(&[State::Critical, State::Lock, State::Ordered]),
            tasks_ns: ns(&[State::TaskWait]),
            other_ns: 0.0,
        };
        let told: f64 = parts.each().iter().map(|(_, ns)| ns).sum();
        Self {
            other_ns: (region.states.total_ns() as f64 - told).max(0.0),
            ..parts
        }
    }

    /// Each with its name.
    #[must_use]
    pub fn each(&self) -> [(&'static str, f64); 6] {
        [
            ("work", self.work_ns),
            ("barrier", self.barrier_ns),
            ("scheduling", self.scheduling_ns),
            ("critical sections and locks", self.exclusion_ns),
            ("waiting for tasks", self.tasks_ns),
            ("other", self.other_ns),
        ]
    }

    /// The median of each.
    fn median(all: &[Self]) -> Self {
        let of = |part: fn(&Self) -> f64| {
            let values: Vec<f64> = all.iter().map(part).collect();
            median(&values).unwrap_or(0.0)
        };
        Self {
            work_ns: of(|parts| parts.work_ns),
            barrier_ns: of(|parts| parts.barrier_ns),
            scheduling_ns: of(|parts| parts.scheduling_ns),
            exclusion_ns: of(|parts| parts.exclusion_ns),
            tasks_ns: of(|parts| parts.tasks_ns),
            other_ns: of(|parts| parts.other_ns),
        }
    }
}

impl AddAssign for Parts {
    fn add_assign(&mut self, other: Self) {
        self.work_ns += other.work_ns;
        self.barrier_ns += other.barrier_ns;
        self.scheduling_ns += other.scheduling_ns;
        self.exclusion_ns += other.exclusion_ns;
        self.tasks_ns += other.tasks_ns;
        self.other_ns += other.other_ns;
    }
}

impl Difference {
    /// The part that differs most from another side's in the direction of the whole.
    fn between(parts: &Parts, from: &Parts, longer: bool) -> Option<Self> {
        let pairs = parts.each().into_iter().zip(from.each());
        let signed = pairs.map(|((part, here), (_, there))| (part, here - there));
        let along = signed.filter(|(_, more)| (*more > 0.0) == longer);
        along
            .max_by(|one, other| one.1.abs().total_cmp(&other.1.abs()))
            .map(|(part, longer_ns)| Self { part, longer_ns })
    }
}

impl Row {
    /// From what each run of each side has of it, `sides[side][run]`, and how the runs of two
    /// sides compare.
    #[must_use]
    pub fn of(
        name: &str,
        sides: &[Vec<Option<Sample>>],
        ratio: impl Fn(&[Option<Sample>], &[Option<Sample>]) -> Option<Ratio>,
    ) -> Self {
        let mut columns: Vec<Option<Column>> = Vec::new();
        for runs in sides {
            let some: Vec<&Sample> = runs.iter().flatten().collect();
            let samples_ns: Vec<u64> = some.iter().map(|run| run.ns).collect();
            let times: Vec<f64> = samples_ns.iter().map(|ns| *ns as f64).collect();
            let Some(time_ns) = median(&times) else {
                columns.push(None);
                continue;
            };
            let parts: Vec<Parts> = some.iter().map(|run| run.parts).collect();
            let parts = Parts::median(&parts);
            let first = columns.first().and_then(Option::as_ref);
            let ratio = first.and_then(|_| ratio(&sides[0], runs));
            let difference = first.zip(ratio).and_then(|(first, ratio)| {
                let difference = Difference::between(&parts, &first.parts, ratio.value > 1.0);
                difference.filter(|_| ratio.differs())
            });
            columns.push(Some(Column {
                executions: some.first().map_or(0, |run| run.executions),
                time_ns,
                samples_ns,
                ratio,
                parts,
                difference,
            }));
        }
        Self {
            name: name.to_owned(),
            columns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_lies_where_most_of_it_is() {
        let first = Parts {
            work_ns: 100.0,
            barrier_ns: 10.0,
            ..Parts::default()
        };
        let second = Parts {
            work_ns: 110.0,
            barrier_ns: 90.0,
            ..Parts::default()
        };
        let longer = Difference::between(&second, &first, true).unwrap();
        assert_eq!((longer.part, longer.longer_ns), ("barrier", 80.0));
        let shorter = Difference::between(&first, &second, false).unwrap();
        assert_eq!((shorter.part, shorter.longer_ns), ("barrier", -80.0));
    }
}
