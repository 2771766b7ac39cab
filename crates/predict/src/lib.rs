//! From facts and prices to time and speedup elsewhere.
//!
//! * [`machine`]: what things cost on a machine (`machine.json`).
//! * [`predict()`]: from recordings with a few thread counts to a
//!   [`Prediction`]: how the program will scale, with intervals and in words.
//! * [`sdp`]: from counts of page faults to speedup on a cluster, as published.
//! * [`validate`]: all of these held against what was measured.
//!
//! A program's time is the sum of its serial part and its outermost regions,
//! and a region's time the sum of [`Term`]s (the shapes are in `model`). An
//! interval holds the middle 90 % of what 200 replicates of the whole
//! procedure predict. A replicate
//!
//! 1. draws the runs again, where there are three or more with a thread count,
//!    and otherwise disturbs their times by their scatter from run to run and
//!    from execution to execution (2 % where neither is known);
//! 2. draws one of the explanations that fit, by weight, where the central
//!    prediction takes their mean: models that agree where there are
//!    measurements may differ widely beyond;
//! 3. drifts by a normal factor of 3 % for every doubling beyond the largest
//!    measured thread count;
//! 4. draws what a single thread count cannot tell: growth of the work (by the
//!    machine's bandwidth curve, if known, else up to 10 % a thread) and, from
//!    1 thread alone, imbalance (up to half of the work).
//!
//! Processors that the machine does not have are taken to be like those it
//! has, with the same memory: its bandwidth does not grow with them.
#![forbid(unsafe_code)]

mod baselines;
mod crowded;
mod held_out;
pub mod machine;
mod model;
mod numeric;
mod outcome;
mod predict;
mod program;
mod runs;
pub mod sdp;
mod terms;
pub mod validate;
mod words;

pub use baselines::baselines;
pub use model::Leaning;
pub use numeric::{Random, quantile};
pub use outcome::{
    Baseline, Dominating, Measured, Point, Prediction, RegionPrediction, SCHEMA, TermTime, VERSION,
    Validation,
};
pub use predict::{MOST_THREADS, horizon, predict};
pub use runs::PredictError;
pub use terms::{Term, Terms};

use machine::Machine;

/// Which explanation of waits at barriers the threads of a region support.
#[must_use]
pub fn leaning(unevenness: &fathomp_analyse::Unevenness) -> Leaning {
    Leaning::of(unevenness)
}

/// What to predict, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Thread counts to predict at; empty: a sensible list.
    pub at: Vec<u32>,
    /// Terms of the model that are on.
    pub terms: Terms,
    /// Machine to predict for; without one, overheads are extrapolated from
    /// the recordings alone.
    pub machine: Option<Machine>,
    /// Processors to predict for; none: twice as many as the machine has (or
    /// was recorded on), at least 8, since one machine's measurements are wanted
    /// for the next larger one. A sentence says what that assumes.
    pub cores: Option<u32>,
    /// Smallest saving of a region's time that makes more threads worthwhile.
    pub worthwhile: f64,
    /// Replicates behind the intervals.
    pub replicates: u32,
    /// Seed of the replicates: the same seed, the same interval.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            at: Vec::new(),
            terms: Terms::ALL,
            machine: None,
            cores: None,
            worthwhile: 0.05,
            replicates: 200,
            seed: 1,
        }
    }
}
