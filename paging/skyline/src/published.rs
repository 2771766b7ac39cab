//! The published cumulative profile: the sum of skylines.

use crate::bins::Bins;
use crate::facts::{Published, Skyline};
use crate::settings::{Selection, Settings};
use rayon::prelude::*;

/// Sums the skylines of tasks and compares with the sum of their records.
///
/// Wang and Marinescu (1995) first draw each task's skyline of N peaks and then add these.
/// What is lost is the sum of absolute differences per bin (L1), relative to all counts.
pub(crate) fn published(
    bins: &Bins,
    selection: Selection,
    skylines: &[(usize, &Skyline)],
    truth: &[u64],
    settings: &Settings,
) -> Published {
    let zero = || vec![0.0; truth.len()];
    // Folded in a fixed order: sums of floating-point numbers depend on it.
    let parts: Vec<Vec<f64>> = skylines
        .par_chunks(32)
        .map(|chunk| {
            let mut sum = zero();
            for (task, skyline) in chunk {
                let counts = bins.of_task(*task, selection);
                let from = skyline.first_bin.min(sum.len());
                for (sum, level) in sum[from..].iter_mut().zip(skyline.levels(&counts)) {
                    *sum += level;
                }
            }
            sum
        })
        .collect();
    let mut sum = zero();
    for part in parts {
        for (sum, level) in sum.iter_mut().zip(part) {
            *sum += level;
        }
    }
    let total: f64 = truth.iter().map(|count| *count as f64).sum();
    let missed: f64 = sum
        .iter()
        .zip(truth)
        .map(|(sum, truth)| (sum - *truth as f64).abs())
        .sum();
    Published {
        error_share: if total > 0.0 { missed / total } else { 0.0 },
        bins: settings.keep_published.then_some(sum),
    }
}
