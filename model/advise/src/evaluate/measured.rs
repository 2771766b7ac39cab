//! What was measured.

use crate::profile::Profile;
use fathomp_stats::quantile;
use serde::{Deserialize, Serialize};

/// A region of a benchmark with its measured times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The program: what is left out together.
    pub benchmark: String,
    /// Its size, as asked for.
    #[serde(default)]
    pub size: String,
    /// The region's name.
    pub region: String,
    /// Times by number of threads, ascending; the first is one unit.
    pub times: Vec<Times>,
    /// What the model knows of it, from runs with one thread alone.
    pub profile: Profile,
    /// The published score, if it has one.
    #[serde(default)]
    pub score: Option<f64>,
}

/// Times of a region with so many threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Threads.
    pub threads: u32,
    /// Time of all its executions in each run that others did not disturb, nanoseconds.
    pub runs_ns: Vec<f64>,
    /// Runs that were disturbed, and left out.
    #[serde(default)]
    pub disturbed: u32,
}

impl Times {
    /// The time that stands for all: the median.
    #[must_use]
    pub fn typical(&self) -> Option<f64> {
        let runs = self.runs_ns.clone();
        quantile(&runs, 0.5)
    }
}

impl Case {
    /// Time with so many threads, if it was measured.
    #[must_use]
    pub fn time(&self, threads: u32) -> Option<f64> {
        let times = self.times.iter().find(|one| one.threads == threads)?;
        times.typical().filter(|time| *time > 0.0)
    }

    /// Measured speed-up of the most threads over the fewest.
    #[must_use]
    pub fn speedup(&self) -> Option<f64> {
        let (first, last) = (self.times.first()?, self.times.last()?);
        Some(self.time(first.threads)? / self.time(last.threads)?)
    }
}
