//! How alike tasks are.

use fathomp_paging::TaskId;
use serde::Serialize;

/// By which time things are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// Bins of wall time.
    Wall,
    /// Phases between barriers.
    Phases,
}

/// A number for every pair of tasks, whichever comes first.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Matrix {
    tasks: usize,
    /// Row by row, each from behind the diagonal.
    upper: Vec<f32>,
}

impl Matrix {
    /// From the pairs' numbers, in the order of [`Matrix::pairs`]; missing ones are 0.
    pub(crate) fn new(tasks: usize, mut upper: Vec<f32>) -> Self {
        upper.resize(tasks * tasks.saturating_sub(1) / 2, 0.0);
        for value in &mut upper {
            if !value.is_finite() {
                *value = 0.0;
            }
        }
        Self { tasks, upper }
    }

    /// Number of tasks.
    #[must_use]
    pub const fn tasks(&self) -> usize {
        self.tasks
    }

    /// The pairs, in the order of their numbers.
    pub fn pairs(tasks: usize) -> impl Iterator<Item = (usize, usize)> {
        (0..tasks).flat_map(move |one| (one + 1..tasks).map(move |other| (one, other)))
    }

    /// The number of a pair; none on the diagonal and outside.
    #[must_use]
    pub fn get(&self, one: usize, other: usize) -> Option<f64> {
        let (row, column) = (one.min(other), one.max(other));
        if row == column || column >= self.tasks {
            return None;
        }
        let before = row * (2 * self.tasks - row - 1) / 2;
        self.upper
            .get(before + column - row - 1)
            .map(|value| f64::from(*value))
    }

    /// All numbers, in the order of [`Matrix::pairs`].
    #[must_use]
    pub fn values(&self) -> &[f32] {
        &self.upper
    }

    /// Their mean; 0 if there are none.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.upper.is_empty() {
            return 0.0;
        }
        self.upper
            .iter()
            .map(|value| f64::from(*value))
            .sum::<f64>()
            / self.upper.len() as f64
    }
}

/// Which of the measures clusters and statements about tasks rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The times of peaks: [`Correlation::times`].
    Times,
    /// The counts per bin or phase: [`Correlation::partial`].
    Signals,
}

/// Every pair of tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Correlation {
    /// By which time.
    pub axis: Axis,
    /// The tasks, in the order of rows and columns.
    pub tasks: Vec<TaskId>,
    /// SPIKE synchronisation C of the times of peaks (Kreuz, Mulansky, Bozanic 2015):
    /// 2 matches / (peaks of both); 1 if every peak has a partner.
    pub times: Matrix,
    /// 95 % quantile of C over circular shifts of one of the two: what chance reaches.
    pub times_by_chance: Matrix,
    /// C of independent Poisson processes.
    pub times_of_poisson: f64,
    /// Amplitudes of matched peaks: sum of the smaller masses / (masses of both less
    /// these).
    pub amplitude: Matrix,
    /// Pearson's correlation of counts, at no lag.
    pub signals: Matrix,
    /// The same without what the lengths of steps explain (partial correlation): longer
    /// phases hold more counts of all tasks. In wall time, where all are equally long, the
    /// same as `signals`.
    pub partial: Matrix,
    /// 95 % quantile of `partial` over circular shifts.
    pub partial_by_chance: Matrix,
    /// The largest Pearson correlation at any lag.
    pub signals_at_best_lag: Matrix,
    /// That lag: nanoseconds, or phases in logical time; positive if the second task of
    /// a pair comes later.
    pub best_lag: Matrix,
    /// Sum of the smaller counts / sum of the larger counts: 1 if equal.
    pub overlap: Matrix,
    /// Which measure the following rest on.
    pub measure: Measure,
    /// Whether tasks are more alike than chance makes them.
    pub significance: Significance,
    /// Tasks that are alike, the largest group first; those of one task are left out.
    pub clusters: Vec<Cluster>,
    /// The one task that is significantly less alike the others than they are.
    pub unlike: Option<Unlike>,
}

impl Correlation {
    /// The measure that statements rest on.
    #[must_use]
    pub fn similarity(&self) -> &Matrix {
        match self.measure {
            Measure::Times => &self.times,
            Measure::Signals => &self.partial,
        }
    }

    /// What chance reaches of it in 95 of 100 cases.
    #[must_use]
    pub fn similarity_by_chance(&self) -> &Matrix {
        match self.measure {
            Measure::Times => &self.times_by_chance,
            Measure::Signals => &self.partial_by_chance,
        }
    }
}

/// A mean over pairs against the same with every task shifted by a random lag.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Significance {
    /// Mean over all pairs (of at most 64 tasks).
    pub mean: f64,
    /// Mean of that under shifts.
    pub mean_by_chance: f64,
    /// Part of the shifts that reach it: small is significant. Never below
    /// 1 / (shifts + 1).
    pub p: f64,
}

impl Significance {
    /// Whether chance is no explanation.
    #[must_use]
    pub fn is_significant(&self) -> bool {
        self.p < 0.02
    }
}

/// Tasks that are alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cluster {
    /// Which.
    pub tasks: Vec<TaskId>,
    /// Mean similarity of its pairs.
    pub similarity: f64,
}

/// A task unlike the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Unlike {
    /// Which.
    pub task: TaskId,
    /// Its mean similarity with the others.
    pub similarity: f64,
    /// Mean similarity among the others.
    pub others: f64,
}

/// When most tasks are in a peak at once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Synchronisation {
    /// Tasks that count.
    pub tasks: u64,
    /// The points, by time.
    pub points: Vec<SyncPoint>,
    /// Number of points that random shifts of the tasks give, on average.
    pub points_by_chance: f64,
    /// Part of the shifts that give as many.
    pub p: f64,
}

/// A stretch in which most tasks are in a peak.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SyncPoint {
    /// Its begin.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// Most tasks that are in a peak at the same time.
    pub tasks: u64,
    /// Probability that so many are in a bin if peaks fall at random (binomial).
    pub p: f64,
    /// A barrier that was passed then.
    pub barrier: Option<NearBarrier>,
}

/// A barrier near a moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NearBarrier {
    /// Its name; empty if it has none.
    pub name: String,
    /// When it was passed.
    pub at_ns: u64,
}
