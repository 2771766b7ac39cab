//! What all regions have in common, and how to settle between explanations of them.

use crate::machine::Machine;
use crate::numeric::{Explanations, Random};

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
    pub(super) fn memory_growth(&self, k: f64) -> Option<f64> {
        let machine = self.machine?;
        let one = machine.bandwidth_at(1.0)?;
        let all = machine.bandwidth_at(k)?;
        Some((k * one / all - 1.0).max(0.0))
    }

    pub(super) fn has_curve(&self) -> bool {
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
    pub(super) fn settle(&mut self, explanations: &Explanations, shapes: usize) -> Vec<f64> {
        match self {
            Self::Mean => explanations.mean(shapes),
            Self::Draw(random) => explanations.draw(random, shapes),
        }
    }
}
