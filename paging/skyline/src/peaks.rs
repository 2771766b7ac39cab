//! Peaks of counts per bin, and what is left beside them.

use crate::bins::Bins;
use crate::facts::{Background, Panels, Peak, Skyline, Window};
use crate::settings::{Selection, Settings};

/// A maximal run of bins above the mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) first: usize,
    pub(crate) bins: usize,
    pub(crate) highest: u64,
    /// The first bin that is as high.
    pub(crate) highest_at: usize,
    pub(crate) mass: u64,
}

impl Run {
    /// Behind its last bin.
    pub(crate) const fn end(&self) -> usize {
        self.first + self.bins
    }
}

/// All peaks of `counts`: maximal runs of bins with more than `factor_milli` / 1000 times
/// the mean. Decided in integers, so that no rounding makes a peak of what is equal.
pub(crate) fn runs(counts: &[u64], factor_milli: u64) -> Vec<Run> {
    let total: u128 = counts.iter().map(|count| u128::from(*count)).sum();
    // count > factor * total / bins, of whole counts: count > floor of that.
    let bins = counts.len().max(1) as u128;
    let bar = total.saturating_mul(u128::from(factor_milli)) / (bins * 1_000);
    let bar = u64::try_from(bar).unwrap_or(u64::MAX);
    let mut runs: Vec<Run> = Vec::new();
    let mut open: Option<Run> = None;
    for (bin, &count) in counts.iter().enumerate() {
        if count <= bar {
            runs.extend(open.take());
            continue;
        }
        match &mut open {
            None => {
                open = Some(Run {
                    first: bin,
                    bins: 1,
                    highest: count,
                    highest_at: bin,
                    mass: count,
                });
            }
            Some(run) => {
                run.bins += 1;
                run.mass = run.mass.saturating_add(count);
                if count > run.highest {
                    (run.highest, run.highest_at) = (count, bin);
                }
            }
        }
    }
    runs.extend(open);
    runs
}

/// The skyline of `counts`, one per bin of the window, within the bins from `first` on.
pub(crate) fn skyline(
    counts: &[u64],
    (first, bins): (usize, usize),
    window: &Window,
    settings: &Settings,
) -> Skyline {
    let end = first.saturating_add(bins).min(counts.len());
    let life = counts.get(first..end).unwrap_or(&[]);
    let mut runs = runs(life, settings.peak_factor_milli());
    for run in &mut runs {
        run.first += first;
        run.highest_at += first;
    }
    let found = (runs.len(), runs.iter().map(|run| run.bins).sum::<usize>());
    skyline_of(life, first, runs, found, window, settings.peaks_kept)
}

fn skyline_of(
    life: &[u64],
    first: usize,
    mut runs: Vec<Run>,
    (peaks_found, peak_bins): (usize, usize),
    window: &Window,
    keep: usize,
) -> Skyline {
    let total = life
        .iter()
        .fold(0, |sum: u64, count| sum.saturating_add(*count));
    let per_second = |counts: f64, bins: f64| rate(counts, bins * window.bin_ns as f64);
    runs.sort_unstable_by(|one, other| {
        let key = |run: &Run| (run.highest, run.mass);
        key(other).cmp(&key(one)).then(one.first.cmp(&other.first))
    });
    runs.truncate(keep);
    let kept_mass = runs
        .iter()
        .fold(0, |sum: u64, run| sum.saturating_add(run.mass));
    let kept_bins: usize = runs.iter().map(|run| run.bins).sum();
    let mut peaks: Vec<Peak> = runs
        .iter()
        .enumerate()
        .map(|(place, run)| Peak {
            first_bin: run.first,
            bins: run.bins,
            from_ns: window.bin_begin_ns(run.first),
            to_ns: window.bin_begin_ns(run.end()),
            at_ns: window.bin_begin_ns(run.highest_at) + window.bin_ns / 2,
            highest: run.highest,
            highest_per_second: per_second(run.highest as f64, 1.0),
            mass: run.mass,
            rank: place + 1,
        })
        .collect();
    peaks.sort_unstable_by_key(|peak| peak.first_bin);
    let beside = (total - kept_mass.min(total), life.len() - kept_bins);
    Skyline {
        first_bin: first,
        bins: life.len(),
        total,
        mean_per_second: per_second(total as f64, life.len() as f64),
        peaks,
        peaks_found,
        peak_bins,
        kept_share: if total > 0 {
            kept_mass as f64 / total as f64
        } else {
            0.0
        },
        background: Background {
            total: beside.0,
            bins: beside.1,
            per_second: per_second(beside.0 as f64, beside.1 as f64),
        },
    }
}

/// Counts per second; 0 of no time.
pub(crate) fn rate(counts: f64, ns: f64) -> f64 {
    if ns > 0.0 { counts * 1e9 / ns } else { 0.0 }
}

impl Skyline {
    /// Counts per bin as the skyline draws them, from its first bin on: the record within
    /// kept peaks, the background elsewhere. `counts` are those of all bins of the window.
    pub fn levels<'a>(&'a self, counts: &'a [u64]) -> impl Iterator<Item = f64> + 'a {
        let beside = match self.background.bins {
            0 => 0.0,
            bins => self.background.total as f64 / bins as f64,
        };
        let mut peaks = self.peaks.iter().peekable();
        (self.first_bin..self.first_bin + self.bins).map(move |bin| {
            while peaks
                .next_if(|peak| bin >= peak.first_bin + peak.bins)
                .is_some()
            {}
            match peaks.peek() {
                Some(peak) if bin >= peak.first_bin => {
                    counts.get(bin).map_or(0.0, |count| *count as f64)
                }
                _ => beside,
            }
        })
    }
}

impl Bins {
    /// The skyline of a task; of nothing if there is no such task.
    #[must_use]
    pub fn skyline(&self, task: usize, selection: Selection, settings: &Settings) -> Skyline {
        let counts = self.of_task(task, selection);
        skyline(&counts, self.life(task), &self.window, settings)
    }

    /// The published figures' three panels of a task.
    #[must_use]
    pub fn panels(&self, task: usize, selection: Selection, settings: &Settings) -> Panels {
        let counts = self.of_task(task, selection);
        self.panels_of(&counts, self.life(task), settings)
    }

    /// The same panels of all tasks together.
    #[must_use]
    pub fn panels_of_all(&self, selection: Selection, settings: &Settings) -> Panels {
        let counts = self.of_all(selection);
        self.panels_of(&counts, (0, self.window.bins), settings)
    }

    fn panels_of(&self, counts: &[u64], life: (usize, usize), settings: &Settings) -> Panels {
        let skyline = skyline(counts, life, &self.window, settings);
        let end = skyline.first_bin + skyline.bins;
        let life = counts.get(skyline.first_bin..end).unwrap_or(&[]);
        let bin_ns = self.window.bin_ns as f64;
        let mut sum = 0_u64;
        let cumulative = life.iter().map(|count| {
            sum = sum.saturating_add(*count);
            sum
        });
        Panels {
            first_bin: skyline.first_bin,
            cumulative: cumulative.collect(),
            per_second: life
                .iter()
                .map(|count| rate(*count as f64, bin_ns))
                .collect(),
            filtered_per_second: skyline
                .levels(counts)
                .map(|level| rate(level, bin_ns))
                .collect(),
            skyline,
        }
    }

    /// First bin and number of bins of a task's life.
    pub(crate) fn life(&self, task: usize) -> (usize, usize) {
        self.tasks
            .get(task)
            .map_or((0, 0), |task| (task.first_bin, task.bins))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn window(bins: usize) -> Window {
        Window {
            from_ns: 0,
            to_ns: bins as u64 * 100,
            bin_ns: 100,
            bins,
            is_whole: true,
        }
    }

    fn of(counts: &[u64], keep: usize) -> Skyline {
        let settings = Settings {
            peaks_kept: keep,
            ..Settings::default()
        };
        skyline(counts, (0, counts.len()), &window(counts.len()), &settings)
    }

    #[test]
    fn peaks_are_maximal_runs_above_the_mean() {
        // Mean 2.
        let found = of(&[0, 3, 5, 2, 0, 4, 0, 2], 10);
        assert_eq!(found.peaks_found, 2);
        assert_eq!(found.peak_bins, 3);
        let first = found.peaks[0];
        assert_eq!(
            (first.first_bin, first.bins, first.highest, first.mass),
            (1, 2, 5, 8)
        );
        assert_eq!(
            (first.from_ns, first.to_ns, first.at_ns, first.rank),
            (100, 300, 250, 1)
        );
        assert_eq!(found.peaks[1].rank, 2);
        assert_eq!(found.background.total, 4);
        assert_eq!(found.background.bins, 5);
        assert!((found.kept_share - 0.75).abs() < 1e-12);
        assert!((found.background.per_second - 0.8e7).abs() < 1.0);
    }

    #[test]
    fn what_is_constant_has_no_peak() {
        for count in [0, 1, 7, u64::MAX / 4] {
            assert_eq!(of(&[count; 4], 10).peaks_found, 0);
        }
        assert_eq!(of(&[], 10).peaks_found, 0);
        assert_eq!(of(&[5], 10).peaks_found, 0);
    }

    #[test]
    fn peaks_are_kept_by_highest_bin_then_mass_then_time() {
        let counts = [9, 0, 9, 5, 0, 9, 5, 0, 8, 8, 8, 0, 0, 0, 0, 0];
        let firsts = |keep| {
            let peaks = of(&counts, keep).peaks;
            peaks.iter().map(|peak| peak.first_bin).collect::<Vec<_>>()
        };
        assert_eq!(firsts(1), [2]);
        assert_eq!(firsts(2), [2, 5]);
        assert_eq!(firsts(3), [0, 2, 5]);
        assert_eq!(firsts(9), [0, 2, 5, 8]);
        assert!(firsts(0).is_empty());
        assert!(of(&counts, 1).is_doubtful());
        assert!(!of(&counts, 9).is_doubtful());
    }

    #[test]
    fn the_largest_numbers_saturate() {
        let found = of(&[u64::MAX, u64::MAX, 0, 0], 10);
        assert_eq!(found.total, u64::MAX);
        assert_eq!((found.peaks_found, found.background.total), (1, 0));
        assert!(found.kept_share.is_finite());
    }

    proptest! {
        #[test]
        fn the_area_is_exact(
            counts in prop::collection::vec(0..1_000u64, 0..60), keep in 0..12usize,
        ) {
            let found = of(&counts, keep);
            let kept: u64 = found.peaks.iter().map(|peak| peak.mass).sum();
            prop_assert_eq!(kept + found.background.total, counts.iter().sum::<u64>());
            let bins: usize = found.peaks.iter().map(|peak| peak.bins).sum();
            prop_assert_eq!(bins + found.background.bins, counts.len());
            let levels: Vec<_> = found.levels(&counts).collect();
            prop_assert_eq!(levels.len(), counts.len());
            if found.background.bins > 0 {
                let area: f64 = levels.iter().sum();
                prop_assert!((area - counts.iter().sum::<u64>() as f64).abs() < 1e-6);
            }
        }
    }
}
