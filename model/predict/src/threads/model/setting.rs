//! What all regions have in common, and how to settle between explanations of them.

use crate::machine::Machine;
use crate::numeric::Explanations;
use fathomp_stats::Random;

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
    ///
    /// Beyond the measured counts the curve is not flat at once: where all threads that were
    /// measured got their bandwidth in full, nothing says that the next one does not. The growth
    /// goes on in proportion to the threads, and no further thread gets more than the last
    /// ones did.
    pub(super) fn memory_growth(&self, k: f64) -> Option<f64> {
        let machine = self.machine?;
        let one = machine.bandwidth_at(1.0)?;
        let growth = |threads: f64, bandwidth: f64| (threads * one / bandwidth - 1.0).max(0.0);
        let mut measured = machine.bandwidth.iter().rev();
        let last = measured.next()?;
        let most = f64::from(last.threads);
        if k <= most || most <= 1.0 {
            return Some(growth(k, machine.bandwidth_at(k)?));
        }
        let (fewer, before) = measured
            .next()
            .map_or((0.0, 0.0), |row| (f64::from(row.threads), row.bytes_per_s));
        let each = ((last.bytes_per_s - before) / (most - fewer)).max(0.0);
        let in_proportion = growth(most, last.bytes_per_s) * (k - 1.0) / (most - 1.0);
        Some(in_proportion.max(growth(k, last.bytes_per_s + each * (k - most))))
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
