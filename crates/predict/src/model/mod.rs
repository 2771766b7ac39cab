//! The scaling model.
//!
//! The time of a region with a team of `k` threads is a sum of terms, each
//! the mean over the team's threads, so that the measured terms add up to the
//! measured time exactly:
//!
//! | Term | Shape in `k` | From |
//! |---|---|---|
//! | work | `U(1) / k` | application time |
//! | saturation | `(U(k) - U(1)) / k`, `U` growing with the machine's bandwidth curve or linearly | growth of application time |
//! | serial in region | `1 - 1/k` | waits at barriers and for tasks |
//! | imbalance | `(1 - 1/k) / k` | the same waits |
//! | mutex, ordered | closed queues ([`queue`]) and `k - 1` (handing on takes longer) | waits for critical sections and locks; for one's turn |
//! | overhead | prices of the machine x executions; without a machine constant, `1/k` and `log k` | the runtime's own time, barrier prices |
//! | pieces | `W/k (ceil(n/k) k/n - 1)` for `n` pieces ([`granules`]) | waits at barriers |
//! | I/O, communication, blocked | constant and `1/k` | time in these states |
//! | oversubscription | see [`RegionModel::terms`] | processors |
//!
//! Several shapes often explain the same measurements. Then all of them are
//! kept, weighed by how well they fit ([`numeric::explain`]): the prediction
//! is their mean, and the interval draws one at a time, so it widens where
//! they part company. What no mixture of shapes explains stays as a factor, by which
//! the model meets what was measured ([`RegionModel::fit`]). What the threads of a region show about each other
//! ([`leaning`]) weighs serial code inside it against imbalance.

mod granules;
mod leaning;
mod queue;
mod region;

pub(crate) use granules::Granules;
pub use leaning::Leaning;
pub(crate) use region::{Observed, RegionModel};

use crate::machine::Machine;
use crate::numeric::Random;

#[cfg(doc)]
use crate::numeric;

/// What all regions have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting<'a> {
    /// Prices, if known.
    pub(crate) machine: Option<&'a Machine>,
    /// Processors.
    pub(crate) cores: f64,
}

impl Setting<'_> {
    /// Growth of the application time of purely memory-bound code when `k`
    /// threads share the memory; none if the curve is unknown.
    fn memory_growth(&self, k: f64) -> Option<f64> {
        let machine = self.machine?;
        let one = machine.bandwidth_at(1.0)?;
        let all = machine.bandwidth_at(k)?;
        Some((k * one / all - 1.0).max(0.0))
    }

    fn has_curve(&self) -> bool {
        self.memory_growth(2.0).is_some()
    }
}

/// How to settle between explanations.
pub(crate) enum Choice<'a> {
    /// The mean of all.
    Mean,
    /// One of them, drawn.
    Draw(&'a mut Random),
}

impl Choice<'_> {
    fn settle(&mut self, explanations: &crate::numeric::Explanations, shapes: usize) -> Vec<f64> {
        match self {
            Self::Mean => explanations.mean(shapes),
            Self::Draw(random) => explanations.draw(random, shapes),
        }
    }
}
