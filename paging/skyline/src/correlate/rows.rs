//! The counts of tasks that are compared.

use crate::bins::Bins;
use crate::facts::Axis;
use crate::fourier;
use crate::peaks::{self, Run};
use crate::settings::{Selection, Settings};
use fathomp_paging::TaskId;
use rayon::prelude::*;

/// Steps that tasks must have in common to be compared.
const STEPS_MIN: usize = 20;
/// Tasks that live for less than this part of the longest life are not compared.
const LIFE_MIN: f64 = 0.5;

/// Counts of tasks per step, over the time in which they all lived: that some begin later
/// makes none alike.
pub(crate) struct Rows {
    pub(crate) axis: Axis,
    pub(crate) ids: Vec<TaskId>,
    /// First of the steps on the axis.
    pub(crate) first: usize,
    /// Number of steps.
    pub(crate) steps: usize,
    /// Per task, less the mean, so that squares add up to 1.
    pub(crate) series: Vec<Vec<f32>>,
    /// The same without what the lengths of steps explain; none if all are equally long.
    pub(crate) beyond_lengths: Option<Vec<Vec<f32>>>,
    /// Per task: mean and scale that bring counts back.
    pub(crate) scales: Vec<(f64, f64)>,
    /// Per task: all peaks, with steps from `first` on.
    pub(crate) runs: Vec<Vec<Run>>,
}

impl Rows {
    /// Those of bins of wall time.
    pub(crate) fn of_bins(bins: &Bins, selection: Selection, settings: &Settings) -> Self {
        let tasks = that_live_long(bins, selection);
        let first = tasks.iter().map(|task| bins.life(*task).0).max();
        let end = tasks.iter().map(|task| {
            let (first, bins) = bins.life(*task);
            first + bins
        });
        let (first, end) = (first.unwrap_or(0), end.min().unwrap_or(0));
        let counts = |task| bins.of_task(task, selection);
        Self::new(
            Axis::Wall,
            bins,
            &tasks,
            first..end.max(first),
            counts,
            settings,
        )
    }

    /// Those of phases.
    pub(crate) fn of_phases(bins: &Bins, selection: Selection, settings: &Settings) -> Self {
        let tasks = that_live_long(bins, selection);
        let phases = bins.phases.as_ref().map_or(0, |phases| phases.count());
        let counts = |task| bins.of_task_in_phases(task, selection);
        let mut rows = Self::new(Axis::Phases, bins, &tasks, 0..phases, counts, settings);
        if let Some(phases) = &bins.phases {
            let mut before = bins.window.from_ns;
            let length = |end: &u64| {
                let length = end.saturating_sub(before);
                before = *end;
                length
            };
            let lengths: Vec<u64> = phases.ends_ns.iter().map(length).collect();
            let lengths = fourier::normalised(&lengths);
            let without = |series: &Vec<f32>| without(series, &lengths);
            rows.beyond_lengths = Some(rows.series.iter().map(without).collect());
        }
        rows
    }

    fn new(
        axis: Axis,
        bins: &Bins,
        tasks: &[usize],
        range: std::ops::Range<usize>,
        counts: impl Fn(usize) -> Vec<u64> + Sync,
        settings: &Settings,
    ) -> Self {
        let factor = settings.peak_factor_milli();
        let tasks = if range.len() < STEPS_MIN { &[] } else { tasks };
        let rows: Vec<_> = tasks
            .par_iter()
            .filter_map(|&task| {
                let counts = counts(task);
                let counts = counts.get(range.clone())?;
                // Nothing within the common time compares with nothing.
                counts.iter().any(|count| *count > 0).then(|| {
                    let row = fourier::normalised(counts);
                    let scale = scale(counts);
                    (bins.tasks[task].id, row, scale, peaks::runs(counts, factor))
                })
            })
            .collect();
        let mut made = Self {
            axis,
            ids: Vec::with_capacity(rows.len()),
            first: range.start,
            steps: range.len(),
            series: Vec::with_capacity(rows.len()),
            beyond_lengths: None,
            scales: Vec::with_capacity(rows.len()),
            runs: Vec::with_capacity(rows.len()),
        };
        for (id, row, scale, runs) in rows {
            made.ids.push(id);
            made.series.push(row);
            made.scales.push(scale);
            made.runs.push(runs);
        }
        made
    }

    /// The series that say whether tasks are alike.
    pub(crate) fn telling(&self) -> &[Vec<f32>] {
        self.beyond_lengths.as_ref().unwrap_or(&self.series)
    }

    /// Number of tasks.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }
}

/// The threads that counted anything and lived for long enough.
fn that_live_long(bins: &Bins, selection: Selection) -> Vec<usize> {
    let tasks = bins.threads_that_count(selection);
    let longest = tasks.iter().map(|task| bins.life(*task).1).max();
    let least = longest.unwrap_or(0) as f64 * LIFE_MIN;
    let lives_long = |task: &usize| bins.life(*task).1 as f64 >= least;
    tasks.into_iter().filter(lives_long).collect()
}

/// `series` without what is proportional to `other`; both normalised, as is what is left.
/// Nothing is left of what is all but proportional.
fn without(series: &[f32], other: &[f32]) -> Vec<f32> {
    let part = fourier::product(series, other) as f32;
    let left = (1.0 - part * part).max(0.0).sqrt();
    let scale = if left > 1e-3 { 1.0 / left } else { 0.0 };
    let value = |(value, other): (&f32, &f32)| (value - part * other) * scale;
    series.iter().zip(other).map(value).collect()
}

/// Mean, and the length by which [`fourier::normalised`] divides.
fn scale(counts: &[u64]) -> (f64, f64) {
    let steps = counts.len().max(1) as f64;
    let mean = counts.iter().map(|count| *count as f64).sum::<f64>() / steps;
    let square = |count: &u64| (*count as f64 - mean).powi(2);
    (mean, counts.iter().map(square).sum::<f64>().sqrt())
}
