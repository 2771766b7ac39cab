//! One column, the subject, against the others.
//!
//! An overhead smaller than the uncertainty of its reference is counted as
//! that uncertainty (the floor): a ratio of two numbers that both mean "too
//! small to see" must be 1.

use super::estimate::Evidence;
use super::{ColumnFacts, Point, Quantity};
use crate::suite::SuiteName;
use fathomp_stats::{Interval, geometric_mean, percentile_interval, quantile};
use serde::Serialize;
use std::collections::BTreeMap;

/// No floor of an overhead below this: the clock's step and call.
const LEAST_FLOOR: f64 = 1.0;
/// A single row may cost this much of the best other column's overhead.
pub const LIMIT: f64 = 1.3;
/// Rows shown for completeness: compilers make these without (or almost
/// without) calls into the runtime, or nobody promises their speed.
const UNJUDGED: &[&str] = &[
    "MASTER",
    "STATIC",
    "FLUSH",
    "FLUSH DELAYED",
    "NESTED PARALLEL",
    "NESTED SERIAL",
];

/// The subject's value over another column's.
#[derive(Debug, Clone, Serialize)]
pub struct Ratio {
    /// Index of the other column.
    pub against: usize,
    /// The other column is the best of the others.
    pub best: bool,
    /// From medians.
    pub value: f64,
    /// Its 95 % bootstrap interval.
    pub interval: Interval,
    /// From the fastest tenth of the samples.
    pub quiet: Option<f64>,
    /// Both values were at the floor: the ratio carries no information.
    pub at_floor: bool,
}

/// The subject's standing over the rows of a suite at one team size.
#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    /// Which suite.
    pub suite: SuiteName,
    /// Size of the team.
    pub threads: u32,
    /// Geometric mean over rows of the ratios to the best other column; a row
    /// with several cases counts once, with the geometric mean of its cases.
    pub geometric_mean: f64,
    /// Its 95 % bootstrap interval.
    pub interval: Interval,
    /// Geometric mean of the quiet ratios.
    pub quiet: Option<f64>,
    /// Rows that went into it.
    pub rows: usize,
    /// Cases whose ratio is above [`LIMIT`] with its whole interval.
    pub above_limit: Vec<String>,
    /// Cases that failed for the subject and not for others.
    pub failed: Vec<String>,
}

impl Verdict {
    /// Nothing failed, nothing is above the limit, and on the whole the
    /// subject costs no more than the best of the others.
    #[must_use]
    pub fn is_met(&self) -> bool {
        self.geometric_mean <= 1.0 && self.above_limit.is_empty() && self.failed.is_empty()
    }
}

/// The ratios of a point, and the replicates of the one to the best.
#[derive(Debug)]
pub(super) struct Compared {
    pub(super) ratios: Vec<Ratio>,
    replicates: Vec<f64>,
}

impl Compared {
    /// `None` if the subject or all others are missing.
    pub(super) fn new(
        evidence: &[Option<Evidence>],
        subject: Option<usize>,
        columns: &[ColumnFacts],
    ) -> Option<Self> {
        let subject = subject?;
        let own = evidence.get(subject)?.as_ref()?;
        let peers: Vec<(usize, &Evidence)> = evidence
            .iter()
            .enumerate()
            .filter(|(index, _)| is_peer(columns, subject, *index))
            .filter_map(|(index, one)| Some((index, one.as_ref()?)))
            .filter(|(_, one)| one.quantity == own.quantity)
            .collect();
        let others: Vec<&Evidence> = peers.iter().map(|(_, one)| *one).collect();
        let floor = floor(own, &others);
        let raised = |value: f64| value.max(floor);
        let worth = |one: &Evidence| raised(one.estimate.value);
        // More bandwidth is better, less of anything else.
        let better = |a: f64, b: f64| {
            if own.quantity.is_time() {
                a.total_cmp(&b)
            } else {
                b.total_cmp(&a)
            }
        };
        let (best, _) = peers.iter().min_by(|a, b| better(worth(a.1), worth(b.1)))?;
        let replicates_of = |peer: &Evidence| -> Vec<f64> {
            own.replicates
                .iter()
                .zip(&peer.replicates)
                .map(|(mine, other)| raised(*mine) / raised(*other))
                .collect()
        };
        let mut ratios = Vec::new();
        let mut of_best = Vec::new();
        for (index, peer) in &peers {
            let replicates = replicates_of(peer);
            let quiet = own.estimate.quiet.zip(peer.estimate.quiet);
            ratios.push(Ratio {
                against: *index,
                best: index == best,
                value: worth(own) / worth(peer),
                interval: percentile_interval(&replicates)?.around(worth(own) / worth(peer)),
                quiet: quiet.map(|(mine, other)| raised(mine) / raised(other)),
                at_floor: worth(own) <= floor && worth(peer) <= floor,
            });
            if index == best {
                of_best = replicates;
            }
        }
        Some(Self {
            ratios,
            replicates: of_best,
        })
    }
}

/// True for a column of another runtime (of another compiler, if there is only
/// one runtime), measured on the same machine in the same environment.
fn is_peer(columns: &[ColumnFacts], subject: usize, other: usize) -> bool {
    let place = |index: usize| {
        let one = &columns[index];
        let machine = (&one.host, &one.processor, one.processors);
        (machine, one.affinity, one.wait_policy)
    };
    let runtime = |index: usize| &columns[index].column.runtime;
    let one_runtime = (0..columns.len()).all(|index| runtime(index) == runtime(subject));
    subject != other
        && place(subject) == place(other)
        && (one_runtime || runtime(subject) != runtime(other))
}

/// Overheads below this cannot be told from nothing.
pub(super) fn floor(own: &Evidence, others: &[&Evidence]) -> f64 {
    if !own.quantity.is_overhead() {
        return f64::MIN_POSITIVE;
    }
    let references: Vec<f64> = std::iter::once(own)
        .chain(others.iter().copied())
        .flat_map(|one| one.references.iter().copied())
        .collect();
    let quartile = |q| quantile(&references, q).unwrap_or(0.0);
    ((quartile(0.75) - quartile(0.25)) / 2.0).max(LEAST_FLOOR)
}

/// The ratios of one row.
#[derive(Default)]
struct RowRatios<'a> {
    values: Vec<f64>,
    quiet: Vec<f64>,
    replicates: Vec<&'a [f64]>,
}

/// How the subject stands in each suite of overheads at each team size.
pub(super) fn verdicts(
    points: &[Point],
    compared: &[Option<Compared>],
    subject: Option<usize>,
    columns: &[ColumnFacts],
) -> Vec<Verdict> {
    let Some(subject) = subject else {
        return Vec::new();
    };
    let mut sets: BTreeMap<(SuiteName, u32), Vec<usize>> = BTreeMap::new();
    for (index, point) in points.iter().enumerate() {
        let judged =
            point.quantity == Quantity::OverheadNs && !UNJUDGED.contains(&point.stem.as_str());
        if judged {
            sets.entry((point.suite, point.threads))
                .or_default()
                .push(index);
        }
    }
    sets.into_iter()
        .filter_map(|((suite, threads), set)| {
            let mut rows: BTreeMap<&str, RowRatios<'_>> = BTreeMap::new();
            let mut above_limit = Vec::new();
            let mut failed = Vec::new();
            for index in set {
                let point = &points[index];
                if fails_alone(point, subject, columns) {
                    failed.push(point.name());
                }
                let (Some(ratio), Some(found)) = (point.against_best(), &compared[index]) else {
                    continue;
                };
                if ratio.interval.low > LIMIT {
                    above_limit.push(point.name());
                }
                let row = rows.entry(&point.case.row).or_default();
                row.values.push(ratio.value);
                row.quiet.extend(ratio.quiet);
                row.replicates.push(&found.replicates);
            }
            let over_rows = |of: &dyn Fn(&RowRatios<'_>) -> Option<f64>| {
                geometric_mean(&rows.values().filter_map(of).collect::<Vec<_>>())
            };
            let replicates = rows
                .values()
                .flat_map(|row| row.replicates.iter().map(|list| list.len()))
                .min()
                .unwrap_or(0);
            let means: Vec<f64> = (0..replicates)
                .filter_map(|at| {
                    over_rows(&|row| {
                        let cases: Vec<f64> = row.replicates.iter().map(|list| list[at]).collect();
                        geometric_mean(&cases)
                    })
                })
                .collect();
            let mean = over_rows(&|row| geometric_mean(&row.values))?;
            Some(Verdict {
                suite,
                threads,
                geometric_mean: mean,
                interval: percentile_interval(&means)?.around(mean),
                quiet: over_rows(&|row| geometric_mean(&row.quiet)),
                rows: rows.len(),
                above_limit,
                failed,
            })
        })
        .collect()
}

/// The subject failed where a peer did not.
fn fails_alone(point: &Point, subject: usize, columns: &[ColumnFacts]) -> bool {
    let failed = |index: usize| {
        point.entries[index]
            .as_ref()
            .is_some_and(|entry| entry.failure.is_some())
    };
    failed(subject)
        && (0..columns.len()).any(|index| {
            is_peer(columns, subject, index) && point.entries[index].is_some() && !failed(index)
        })
}
