//! What is to be analysed, and how finely.

use fathomp_paging::{Counter, StateSet};
use serde::Serialize;

/// A counter, counted in some states only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Selection {
    /// What is counted.
    pub counter: Counter,
    /// In which states.
    pub states: StateSet,
}

impl Selection {
    /// A counter in all states.
    #[must_use]
    pub const fn all(counter: Counter) -> Self {
        Self {
            counter,
            states: StateSet::ALL,
        }
    }
}

/// How a recording is analysed. The defaults suit runs of any length.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Part of the recording to look at: nanoseconds after its first task began. Bins
    /// are as many, so a part is seen more finely than the whole.
    pub from_ns: u64,
    /// End of that part; none: the end of the recording.
    pub to_ns: Option<u64>,
    /// Most bins that the window is divided into; 1 to 2^20.
    pub bins: usize,
    /// A bin belongs to a peak if it holds more than so many times the mean; thousandths
    /// are the least that is told apart.
    pub peak_factor: f64,
    /// Peaks that are kept per task, counter and state (N of Wang and Marinescu 1995).
    pub peaks_kept: usize,
    /// Selections to look at; none: every counter that counted anything, in all states,
    /// in each activity and in each state.
    pub selections: Option<Vec<Selection>>,
    /// The recording was sampled as often as its user wanted: no advice to sample it.
    pub sampled: bool,
    /// Keep the bins of the sum of skylines, as the published cumulative profile is made,
    /// beside those of the true sum.
    pub keep_published: bool,
    /// Most pairs of tasks that are correlated, summed over selections; beyond that,
    /// selections are left out, and said to be.
    pub pairs_max: usize,
    /// Circular shifts from which is learnt what chance does.
    pub shifts: usize,
    /// Seed of those shifts: the same seed gives the same analysis.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            from_ns: 0,
            to_ns: None,
            bins: 4_096,
            peak_factor: 1.0,
            peaks_kept: 10,
            selections: None,
            sampled: false,
            keep_published: false,
            pairs_max: 600_000,
            shifts: 100,
            seed: 1,
        }
    }
}

/// Most bins that can be asked for.
pub const BINS_MAX: usize = 1 << 20;

impl Settings {
    /// Bins that can be had.
    pub(crate) fn bins(&self) -> usize {
        self.bins.clamp(1, BINS_MAX)
    }

    /// The peak factor in thousandths; nonsense counts as 1.
    pub(crate) fn peak_factor_milli(&self) -> u64 {
        if self.peak_factor.is_finite() && self.peak_factor >= 0.0 {
            (self.peak_factor * 1e3).round().min(1e9) as u64
        } else {
            1_000
        }
    }
}
