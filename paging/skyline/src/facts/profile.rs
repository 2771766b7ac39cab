//! Counters over time: of all tasks together, and of each.

use super::{Correlation, Skyline, Synchronisation};
use fathomp_paging::{Counter, State, StateSet, TaskId};
use serde::Serialize;

/// A counter within the window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CounterFacts {
    /// What is counted.
    pub counter: Counter,
    /// How much, of all tasks.
    pub total: u64,
    /// How much in each state, in the order of [`State::ALL`].
    pub by_state: [u64; State::COUNT],
    /// Intervals in which it rose, by state.
    pub intervals: [u64; State::COUNT],
    /// Whether a sum was too large for 64 bits and stands at the largest number.
    pub saturated: bool,
    /// Over time: in all states first, then by activity and by state, where these
    /// differ.
    pub profiles: Vec<Profile>,
}

/// A counter in some states, over time: the cumulative profile (Wang and Marinescu
/// 1995) and what stands behind it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Profile {
    /// In which states.
    pub states: StateSet,
    /// These in words: "all states", "compute", "io, suspended".
    pub title: String,
    /// Counts of all tasks.
    pub total: u64,
    /// Sum over tasks per bin of the window: exact.
    pub bins: Vec<u64>,
    /// Peaks of that sum.
    pub skyline: Skyline,
    /// Intervals in which it rose.
    pub intervals: u64,
    /// Part of the counts in intervals longer than a thirtieth of the window, or without
    /// length: when these came is not known.
    pub vague_share: f64,
    /// Its shape in words that a program can compare.
    pub shape: Shape,
    /// Its period in wall time, if it has one.
    pub period: Option<Period>,
    /// The same over phases, if there are any.
    pub phases: Option<PhaseProfile>,
    /// The published way of summing, and how far it is from the sum.
    pub published: Published,
    /// Each task that counted anything.
    pub tasks: Vec<TaskSkyline>,
    /// How alike tasks are in wall time; none if fewer than two tasks counted enough.
    pub correlation: Option<Correlation>,
    /// How alike they are in logical time.
    pub correlation_in_phases: Option<Correlation>,
    /// When most tasks are in a peak.
    pub synchronisation: Option<Synchronisation>,
}

/// A task's skyline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskSkyline {
    /// Which.
    pub task: TaskId,
    /// Its peaks.
    pub skyline: Skyline,
    /// Its period, if it has one.
    pub period: Option<Period>,
}

/// Counts per phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseProfile {
    /// Sum over tasks per phase: exact.
    pub counts: Vec<u64>,
    /// The period in phases, if there is one.
    pub period: Option<Period>,
}

/// Something that repeats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Period {
    /// Its length in steps: bins in wall time, phases in logical time.
    pub steps: f64,
    /// Its length in wall time; of phases: their mean length times `steps`.
    pub ns: f64,
    /// Autocorrelation at that lag, corrected for the shorter overlap: 1 repeats exactly.
    pub r: f64,
    /// What the autocorrelation had to exceed.
    pub r_least: f64,
    /// Periods that fit.
    pub repeats: f64,
    /// First step of the part that was looked at: a burst at the start is left out.
    pub from_step: usize,
}

/// The shape of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Shape {
    /// Too few counts for any statement about a shape.
    TooFew,
    /// Most counts lie in intervals so long that a shape would be made up.
    Unknown,
    /// Most counts come at the start.
    Early {
        /// This part of all counts ...
        share: f64,
        /// ... comes before this moment.
        by_ns: u64,
        /// Mean rate from then on.
        later_per_second: f64,
        /// Whether next to nothing comes later.
        is_over: bool,
    },
    /// The rate is constant.
    Flat {
        /// The rate.
        per_second: f64,
        /// Standard deviation of the rate in parts of the run, relative to the rate,
        /// beyond what random arrival explains.
        variation: f64,
    },
    /// Neither: peaks at times of their own, periodic or not.
    Peaked,
}

/// The published cumulative profile: the sum of the tasks' skylines.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Published {
    /// Sum of absolute differences from the true sum, relative to all counts.
    pub error_share: f64,
    /// Per bin, if [`Settings::keep_published`](crate::Settings::keep_published) asked
    /// for it.
    pub bins: Option<Vec<f64>>,
}
