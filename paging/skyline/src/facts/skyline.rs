//! Rates, peaks and what lies beneath them.

use serde::Serialize;

/// One line of the raw record of rates: between two moments a counter rose with a
/// constant rate (Wang and Marinescu 1995, "(t0, t1, lambda)").
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// Begin.
    pub from_ns: u64,
    /// End.
    pub to_ns: u64,
    /// How much it rose.
    pub count: u64,
    /// Per second; none of an interval without length.
    pub per_second: Option<f64>,
}

/// A maximal run of bins that each hold more than the peak factor times the mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Peak {
    /// Its first bin in the window.
    pub first_bin: usize,
    /// Its length in bins.
    pub bins: usize,
    /// Its begin.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// When it is highest: the middle of the first of its highest bins.
    pub at_ns: u64,
    /// Counts in its highest bin.
    pub highest: u64,
    /// The same, per second.
    pub highest_per_second: f64,
    /// All its counts.
    pub mass: u64,
    /// Its place by highest bin, then mass, then time; 1 is the first.
    pub rank: usize,
}

/// What is left beside the peaks that are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Background {
    /// Counts beside the peaks: exact.
    pub total: u64,
    /// Bins beside the peaks.
    pub bins: usize,
    /// Mean rate there; 0 if the peaks leave no bins.
    pub per_second: f64,
}

/// The filtered record of a task or of a sum: the highest peaks over a constant
/// background, with the same area as the record.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Skyline {
    /// First bin of the part that it describes: the task's life.
    pub first_bin: usize,
    /// Length of that part in bins.
    pub bins: usize,
    /// All counts.
    pub total: u64,
    /// Mean rate.
    pub mean_per_second: f64,
    /// The peaks that are kept, by time.
    pub peaks: Vec<Peak>,
    /// Peaks that there are.
    pub peaks_found: usize,
    /// Bins that lie in any of them.
    pub peak_bins: usize,
    /// Part of all counts that the kept peaks hold.
    pub kept_share: f64,
    /// What is left.
    pub background: Background,
}

impl Skyline {
    /// Kept peaks that hold less than this part of the counts are no picture of them.
    pub const KEPT_SHARE_MIN: f64 = 0.5;

    /// Whether the kept peaks are no picture of the record: it has many alike.
    #[must_use]
    pub fn is_doubtful(&self) -> bool {
        self.peaks_found > self.peaks.len() && self.kept_share < Self::KEPT_SHARE_MIN
    }
}

/// The three panels of the published figures for one task, counter and choice of
/// states: cumulative counter, rate, and filtered peaks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Panels {
    /// First bin: the task's life.
    pub first_bin: usize,
    /// Counts up to the end of each bin.
    pub cumulative: Vec<u64>,
    /// Rate in each bin.
    pub per_second: Vec<f64>,
    /// The same with the background in the place of all that is no kept peak.
    pub filtered_per_second: Vec<f64>,
    /// The peaks.
    pub skyline: Skyline,
}
