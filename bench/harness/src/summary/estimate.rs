//! The samples of one case in one column, and what they say.

use super::Quantity;
use crate::moments::{Moments, OverRuns};
use crate::noise::undisturbed;
use crate::suite::{Case, Process, Row};
use fathomp_stats::{
    Interval, Random, Spread, grouped_median, percentile_interval, quantile, spread,
};
use serde::Serialize;

/// Bootstrap replicates.
const REPLICATES: usize = 400;

/// A value with all that is said beside it. The unit is the quantity's.
#[derive(Debug, Clone, Serialize)]
pub struct Estimate {
    /// Median over processes of the median over samples; for overheads, of the
    /// paired differences.
    pub value: f64,
    /// Its 95 % bootstrap interval: processes are resampled, then samples.
    pub interval: Interval,
    /// From the fastest tenth of the samples, which other programs on the
    /// machine disturb least.
    pub quiet: Option<f64>,
    /// Median time of the same work without the construct, nanoseconds.
    pub reference_ns: Option<f64>,
    /// As EPCC describes samples: all of them, or all differences.
    pub moments: Moments,
    /// Both standard deviations: over samples and over runs.
    pub over_runs: OverRuns,
    /// Scatter of the samples.
    pub spread: Spread,
    /// Samples that were rejected because a thread had lost its processor.
    pub rejected: usize,
    /// Cache misses of the initial thread: with the construct less without it, per million
    /// bytes where overheads are; medians. None where they are not counted.
    pub misses: Option<f64>,
}

/// Samples in groups, one group per process.
#[derive(Debug)]
pub(super) struct Evidence {
    pub(super) quantity: Quantity,
    pub(super) estimate: Estimate,
    /// Bootstrap replicates of the value.
    pub(super) replicates: Vec<f64>,
    /// The value of each process.
    pub(super) medians: Vec<f64>,
    /// Median reference time of each process, in the quantity's unit.
    pub(super) references: Vec<f64>,
}

impl Evidence {
    /// `None` without samples. The same samples always give the same numbers;
    /// `seed` keeps the resampling of different cases apart.
    pub(super) fn gather(
        row: &Row,
        case: &Case,
        threads: u32,
        processes: &[&Process],
        seed: u64,
    ) -> Option<Self> {
        let quantity = Quantity::of(row, processes.first()?);
        let mut groups = Vec::new();
        let mut rejected = 0;
        for process in processes {
            let kept = undisturbed(process, threads);
            rejected += process.construct_ns.len() - kept.len();
            let values = quantity.values(row, case, process, &kept);
            if !values.is_empty() {
                groups.push(values);
            }
        }
        let value = grouped_median(&groups)?;
        let mut resampler = Random(seed);
        let replicates: Vec<f64> = (0..REPLICATES)
            .filter_map(|_| resampler.draw_grouped_median(&groups))
            .collect();
        let runs: Vec<Moments> = groups
            .iter()
            .filter_map(|group| Moments::of(group))
            .collect();
        let all = groups.concat();
        let references: Vec<f64> = processes
            .iter()
            .filter_map(|process| quantile(&process.reference_ns, 0.5))
            .collect();
        Some(Self {
            quantity,
            estimate: Estimate {
                value,
                interval: percentile_interval(&replicates)?.around(value),
                quiet: quantity.quiet(row, case, processes),
                reference_ns: quantile(&references, 0.5),
                moments: Moments::of(&all)?,
                over_runs: OverRuns::of(&runs)?,
                spread: spread(&all)?,
                rejected,
                misses: misses(processes).map(|more| more / Quantity::megabytes(row, case)),
            },
            replicates,
            medians: groups
                .iter()
                .filter_map(|group| quantile(group, 0.5))
                .collect(),
            references: references
                .iter()
                .map(|ns| ns / Quantity::megabytes(row, case))
                .collect(),
        })
    }
}

fn misses(processes: &[&Process]) -> Option<f64> {
    let all = |of: fn(&Process) -> Option<&Vec<f64>>| {
        let lists: Option<Vec<&Vec<f64>>> = processes.iter().map(|process| of(process)).collect();
        let all: Vec<f64> = lists?.into_iter().flatten().copied().collect();
        quantile(&all, 0.5)
    };
    let with = all(|process| process.construct_misses.as_ref())?;
    let without = all(|process| process.reference_misses.as_ref()).unwrap_or(0.0);
    Some(with - without)
}
