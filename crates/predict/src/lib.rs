//! From facts and prices to time and speedup elsewhere.
//!
//! * [`machine`]: what things cost on a machine (`machine.json`).
//! * [`Prediction`]: how a program will scale, with intervals and in words.
#![forbid(unsafe_code)]

mod baselines;
pub mod machine;
mod model;
mod numeric;
mod outcome;
mod predict;
mod program;
mod runs;
mod terms;
mod words;

pub use outcome::{
    Baseline, Dominating, Measured, Point, Prediction, RegionPrediction, SCHEMA, TermTime, VERSION,
    Validation,
};
pub use predict::{MOST_THREADS, predict};
pub use runs::PredictError;
pub use terms::{Term, Terms};

use machine::Machine;

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
    /// Processors to predict for; none: the machine's, else those recorded on.
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
