//! What follows from the numbers.

use super::{Axis, Load, Measure, Period};
use fathomp_paging::{Activity, Counter, StateSet, TaskId};
use serde::Serialize;

/// A statement about the program, with its numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What it states.
    pub fact: Fact,
    /// The same as a sentence.
    pub sentence: String,
    /// What it rests on, as a sentence.
    pub evidence: String,
}

/// The statements there are. None is made of what chance explains.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Fact {
    /// Most counts come at the start.
    Early {
        /// Of this counter.
        counter: Counter,
        /// In these states.
        states: StateSet,
        /// This part of all ...
        share: f64,
        /// ... comes before this moment.
        by_ns: u64,
        /// Mean rate from then on.
        later_per_second: f64,
        /// Whether next to nothing comes later.
        is_over: bool,
    },
    /// A counter rises with a constant rate.
    Flat {
        /// Which.
        counter: Counter,
        /// In these states.
        states: StateSet,
        /// The rate, of all tasks.
        per_second: f64,
        /// Relative deviation of parts of the run from it, beyond random arrival.
        variation: f64,
    },
    /// It repeats.
    Periodic {
        /// What.
        counter: Counter,
        /// In these states.
        states: StateSet,
        /// By which time it repeats better.
        axis: Axis,
        /// The period in wall time, if it was found there, too.
        wall: Option<Period>,
        /// The period in phases, if it was found there, too.
        phases: Option<Period>,
        /// Tasks that have it, by their own records.
        tasks: u64,
        /// Of so many that count.
        of: u64,
    },
    /// Tasks have the same period, but their peaks lie beside each other.
    PeaksBesideEachOther {
        /// Of this counter.
        counter: Counter,
        /// In these states.
        states: StateSet,
        /// The tasks' common period.
        period_ns: f64,
        /// Tasks that have it.
        tasks: u64,
        /// Median of the lags at which pairs agree best, by absolute value.
        lag_ns: f64,
        /// Median correlation at those lags.
        at_lag: f64,
        /// Median correlation at no lag.
        at_once: f64,
    },
    /// More counts fall in an activity than its time explains.
    ActivityDominates {
        /// Of this counter.
        counter: Counter,
        /// In this activity.
        activity: Activity,
        /// Part of the counts.
        share: f64,
        /// Part of the time.
        time_share: f64,
    },
    /// Tasks give their processors up for much of the time.
    Suspended {
        /// Part of the recorded time in intervals in which the task waited.
        share: f64,
        /// The activity in which most of that time lies.
        activity: Activity,
        /// Part of the suspended time that lies there.
        activity_share: f64,
    },
    /// Tasks do the same at the same time.
    TasksAlike {
        /// Of this counter.
        counter: Counter,
        /// In these states.
        states: StateSet,
        /// By which time.
        axis: Axis,
        /// By which measure.
        measure: Measure,
        /// Mean similarity.
        mean: f64,
        /// What chance gives.
        by_chance: f64,
        /// Groups of tasks that are alike.
        groups: u64,
        /// Tasks in the largest group.
        largest: u64,
        /// All tasks compared.
        of: u64,
    },
    /// One task's times are unlike the others'.
    TaskUnlike {
        /// Of this counter.
        counter: Counter,
        /// In these states.
        states: StateSet,
        /// Which task.
        task: TaskId,
        /// Its mean similarity with the others.
        similarity: f64,
        /// Mean similarity among the others.
        others: f64,
    },
    /// One task counts far more, or less, than the others.
    TaskAmount {
        /// Of this counter.
        counter: Counter,
        /// Which task.
        task: TaskId,
        /// How much it counted.
        count: u64,
        /// Median of the others.
        others: u64,
    },
    /// Most tasks are in peaks at the same moments.
    Synchronised {
        /// Of this counter.
        counter: Counter,
        /// In these states.
        states: StateSet,
        /// Number of moments.
        points: u64,
        /// Number that chance gives.
        by_chance: f64,
        /// Moments at which a barrier was passed.
        at_barriers: u64,
        /// The barrier that most of them have.
        barrier: Option<String>,
    },
    /// The highest load on a resource.
    PeakLoad {
        /// What and when.
        load: Load,
    },
    /// There are too few counts for a picture.
    TooFew {
        /// Of this counter.
        counter: Counter,
        /// So many.
        total: u64,
    },
    /// Most counts lie in intervals so long that nothing is known of when they came.
    TimesUnknown {
        /// Of this counter.
        counter: Counter,
        /// All counts.
        total: u64,
        /// Part of them that lies in long intervals.
        share: f64,
        /// Sampling was asked for, and did not tell.
        sampled: bool,
    },
    /// The peaks that are kept are no picture of the record.
    ManyPeaks {
        /// Of this counter.
        counter: Counter,
        /// In these states.
        states: StateSet,
        /// Peaks that there are.
        peaks: u64,
        /// Peaks that are kept.
        kept: u64,
        /// Part of all counts that these hold.
        share: f64,
    },
    /// The sum of skylines is far from the true sum.
    PublishedSumMisses {
        /// Of this counter.
        counter: Counter,
        /// In these states.
        states: StateSet,
        /// Sum of absolute differences, relative to all counts.
        error_share: f64,
    },
}

/// What is missing or doubtful.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    /// What it is.
    pub kind: ProblemKind,
    /// The same as a sentence.
    pub sentence: String,
}

/// Kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// There is nothing to analyse.
    Nothing,
    /// The window lies outside the recording.
    WindowOutside,
    /// A task's times jump back.
    ClockJumps,
    /// Counts lie outside their task's life.
    OutsideLife,
    /// Parts of tasks' lives were not recorded.
    Gaps,
    /// Intervals were merged, so that less is known of when.
    Merged,
    /// A sum was too large for 64 bits.
    Saturated,
    /// Pairs of tasks were left out.
    CorrelationLeftOut,
    /// Barriers are not the same for all tasks.
    PhasesBorrowed,
}
