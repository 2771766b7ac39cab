//! How much decisions depend on weights that nobody knows.

use crate::kernel::Kernel;
use crate::rules::{Machine, Rules};
use crate::score::score_of;
use crate::weights::Weights;
use serde::Serialize;

/// What becomes of the decisions if one weight is another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The weight.
    pub weight: &'static str,
    /// Its value as a multiple of what was assumed.
    pub factor: f64,
    /// Regions whose class changes.
    pub changed: usize,
    /// Of so many.
    pub regions: usize,
}

/// For each weight, halved and doubled: regions (kernel, working set in bytes) whose class
/// changes.
#[must_use]
pub fn sensitivity(
    regions: &[(Kernel, f64)],
    machine: &Machine,
    rules: &Rules,
    weights: &Weights,
) -> Vec<Change> {
    let classes = |weights: &Weights| -> Vec<u32> {
        regions
            .iter()
            .map(|(kernel, bytes)| score_of(kernel, *bytes, machine, rules, weights).class)
            .collect()
    };
    let as_assumed = classes(weights);
    let mut changes = Vec::new();
    for (name, field) in Weights::ALL {
        for factor in [0.5, 2.0] {
            let mut other = weights.clone();
            *field(&mut other) *= factor;
            let changed = classes(&other)
                .iter()
                .zip(&as_assumed)
                .filter(|(one, two)| one != two)
                .count();
            changes.push(Change {
                weight: name,
                factor,
                changed,
                regions: regions.len(),
            });
        }
    }
    changes
}
