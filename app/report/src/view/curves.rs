//! Curves of speedup: of the program and of single regions.

use crate::chart::{Chart, Series, line_chart};
use fathomp_analysis::Analysis;
use fathomp_predict::{Point, Prediction, RegionPrediction};

/// More runs with one thread count than can be told apart.
const RUNS_MAX: usize = 30;

/// The program: measured, predicted, and what simple models say.
pub(crate) fn program(prediction: &Prediction) -> Chart {
    let points = &prediction.points;
    let threads = points
        .iter()
        .map(|point| point.threads)
        .chain(prediction.measured.iter().map(|one| one.threads));
    let mut series = vec![ideal(threads)];
    if let Some(reference_ns) = reference_ns(points) {
        for (name, title) in [("amdahl", "Amdahl"), ("usl", "USL")] {
            let found = prediction.baselines.iter().find(|one| one.name == name);
            series.extend(found.map(|baseline| {
                Series {
                    name: title.to_owned(),
                    class: name,
                    points: baseline
                        .points
                        .iter()
                        .map(|(threads, ns)| (f64::from(*threads), reference_ns / ns))
                        .collect(),
                    band: Vec::new(),
                    measured: false,
                }
            }));
        }
    }
    series.push(predicted(points));
    let runs = prediction
        .measured
        .iter()
        .filter(|one| one.runs_ns.len() > 1)
        .flat_map(|one| {
            let one_thread_ns = one.speedup * one.median_ns;
            one.runs_ns
                .iter()
                .take(RUNS_MAX)
                .map(move |ns| (f64::from(one.threads), one_thread_ns / (*ns).max(1) as f64))
        });
    series.push(dots("single run", "run", runs));
    let medians = prediction
        .measured
        .iter()
        .map(|one| (f64::from(one.threads), one.speedup));
    series.push(dots("measured", "measured", medians));
    line_chart(
        "Speedup over threads, measured and predicted".to_owned(),
        "speedup",
        &series,
    )
}

/// A region, where there is more than one thread count.
pub(crate) fn region(region: &RegionPrediction) -> Option<Chart> {
    let reference_ns = reference_ns(&region.points)?;
    if region.points.len() < 2 {
        return None;
    }
    let threads = region
        .points
        .iter()
        .map(|point| point.threads)
        .chain(region.measured.iter().map(|one| one.0));
    let measured = region
        .measured
        .iter()
        .filter(|(_, ns)| *ns > 0.0)
        .map(|(threads, ns)| (f64::from(*threads), reference_ns / ns));
    let series = [
        ideal(threads),
        predicted(&region.points),
        dots("measured", "measured", measured),
    ];
    Some(line_chart(
        "Speedup of this region over threads, measured and predicted".to_owned(),
        "speedup of this region",
        &series,
    ))
}

/// Measured runs alone, and the thread count they are compared with.
pub(crate) fn measured(analyses: &[Analysis]) -> Option<(Chart, u32)> {
    let mut runs: Vec<(u32, f64)> = analyses
        .iter()
        .filter(|one| !one.program.rehearsal)
        .map(|one| (one.team_size, one.wall_ns as f64))
        .collect();
    runs.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let (base_threads, base_ns) = *runs.first()?;
    if runs.iter().all(|(threads, _)| *threads == base_threads) {
        return None;
    }
    let points = runs
        .iter()
        .filter(|(_, ns)| *ns > 0.0)
        .map(|(threads, ns)| (f64::from(*threads), base_ns / ns * f64::from(base_threads)));
    let series = [
        ideal(runs.iter().map(|(threads, _)| *threads)),
        dots("measured", "measured", points),
    ];
    let chart = line_chart(
        "Speedup over threads, measured".to_owned(),
        "speedup",
        &series,
    );
    Some((chart, base_threads))
}

/// The time with one thread that predicted speedups refer to.
fn reference_ns(points: &[Point]) -> Option<f64> {
    let first = points.first()?;
    let reference_ns = first.speedup * first.time_ns;
    (reference_ns.is_finite() && reference_ns > 0.0).then_some(reference_ns)
}

fn predicted(points: &[Point]) -> Series {
    let at = |point: &Point| f64::from(point.threads);
    Series {
        name: "predicted".to_owned(),
        class: "predicted",
        points: points
            .iter()
            .map(|point| (at(point), point.speedup))
            .collect(),
        band: points
            .iter()
            .map(|point| (at(point), point.speedup_low, point.speedup_high))
            .collect(),
        measured: false,
    }
}

pub(crate) fn dots(
    name: &str,
    class: &'static str,
    points: impl Iterator<Item = (f64, f64)>,
) -> Series {
    Series {
        name: name.to_owned(),
        class,
        points: points.collect(),
        band: Vec::new(),
        measured: true,
    }
}

fn ideal(threads: impl Iterator<Item = u32>) -> Series {
    let last = f64::from(threads.max().unwrap_or(1));
    // On a logarithmic axis the ideal is a curve: give it enough points.
    let points = (0..=32)
        .map(|step| last.max(1.0).powf(f64::from(step) / 32.0))
        .map(|threads| (threads, threads))
        .collect();
    Series {
        name: "ideal".to_owned(),
        class: "ideal",
        points,
        band: Vec::new(),
        measured: false,
    }
}
