//! How much of a source was understood.

use super::Found;
use fathomp_regions::{Construct, Coverage, ReasonKind};
use std::collections::BTreeMap;

/// A loop whose iterations are not constant is thought to run so often.
const TRIPS: f64 = 100.0;

/// Counts, over all constructs of a file: directives followed by what they apply to
/// (`bodies`), accesses whose subscripts are all affine, loops with canonical heads (`trips`).
pub(crate) fn coverage(found: &[Found]) -> Coverage {
    let mut coverage = Coverage::default();
    let mut unknown: BTreeMap<ReasonKind, u64> = BTreeMap::new();
    for construct in found.iter().map(|one| &one.construct) {
        let wants_loop = crate::text::directive::is_loop(&construct.directive.name);
        let complete = !wants_loop || !construct.loops.is_empty();
        coverage.bodies.count(complete, 1.0);
        let weights = weights(construct);
        let mut innermost = vec![true; construct.loops.len()];
        for one in &construct.loops {
            if let Some(parent) = one.parent.and_then(|parent| innermost.get_mut(parent)) {
                *parent = false;
            }
        }
        for (one, weight) in construct.loops.iter().zip(&weights) {
            coverage
                .trips
                .count(one.variable.known().is_some(), *weight);
            if let Some(reason) = one.variable.reason() {
                *unknown.entry(reason.kind).or_default() += 1;
            }
        }
        for statement in &construct.statements {
            let weight = statement.inside.and_then(|index| weights.get(index));
            let weight = weight.copied().unwrap_or(1.0);
            let in_innermost = statement.inside.is_some_and(|index| innermost[index]);
            for access in &statement.accesses {
                let affine = access.subscripts.iter().all(|one| !one.irregular);
                if in_innermost {
                    coverage.innermost_accesses.count(affine, weight);
                } else {
                    coverage.outer_accesses.count(affine, weight);
                }
                if !affine {
                    *unknown.entry(ReasonKind::NotAffine).or_default() += 1;
                }
            }
        }
    }
    let mut unknown: Vec<(ReasonKind, u64)> = unknown.into_iter().collect();
    unknown.sort_by_key(|(kind, times)| (std::cmp::Reverse(*times), *kind));
    coverage.unknown = unknown;
    coverage
}

/// How often each loop's body is thought to run.
fn weights(construct: &Construct) -> Vec<f64> {
    let mut weights: Vec<f64> = Vec::new();
    for one in &construct.loops {
        let around = one.parent.and_then(|parent| weights.get(parent)).copied();
        let trips = one.trips.map_or(TRIPS, |trips| trips as f64);
        weights.push(around.unwrap_or(1.0) * trips);
    }
    weights
}
