//! What to predict for other numbers of threads, and how.

use super::terms::Terms;
use crate::machine::Machine;

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
