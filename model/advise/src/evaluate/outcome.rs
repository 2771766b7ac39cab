//! The evaluation itself.

use super::baselines::{Asked, Forecast, Learned, Predictor};
use super::measured::Case;
use super::rules::Utilisation;
use super::statistics::{Rate, line, wilson};
use crate::choose::Choosing;
use crate::model::Constants;
use crate::target::Target;
use fathomp_score::Change;
use fathomp_stats::quantile;
use serde::Serialize;
use std::collections::BTreeSet;

/// Name of the schema in JSON.
const SCHEMA: &str = "fathomp.evaluation";
/// Version of the schema in JSON.
const VERSION: u32 = 1;
/// A miss whose measured utilisation is nearer to a border than this lies at the border.
const BORDER: f64 = 0.1;

/// How good advice is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// `fathomp.evaluation`.
    pub schema: &'static str,
    /// 1.
    pub version: u32,
    /// The machine.
    pub machine: String,
    /// Threads of a unit: 1, or as many as a package has cores.
    pub unit_threads: u32,
    /// Units that were decided about.
    pub units: u32,
    /// How utilisation is defined.
    pub utilisation: Utilisation,
    /// Benchmarks.
    pub benchmarks: u32,
    /// Regions that were judged.
    pub regions: u32,
    /// Runs of regions that others disturbed: left out.
    pub disturbed: u32,
    /// Regions without a sound time at one unit or at all: left out.
    pub left_out: u32,
    /// Predictors, ours first.
    pub predictors: Vec<PredictorResult>,
    /// Constants of ours, fitted without each benchmark.
    pub fitted: Vec<Fitted>,
    /// What becomes of the published score's classes if one of its weights is another.
    pub sensitivity: Vec<Change>,
    /// Published results of the static score.
    pub published: Vec<Published>,
    /// Every region.
    pub cases: Vec<Judged>,
}

/// How good a predictor is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PredictorResult {
    /// Its name.
    pub name: &'static str,
    /// Regions whose predicted and measured utilisation are of one class.
    pub success: Rate,
    /// The same with utilisation as the other definition has it.
    pub success_other: Rate,
    /// Regions of which it says nothing.
    pub silent: u32,
    /// Time lost by following it against the best choice of each region, all regions
    /// together: part of the best time.
    pub regret: f64,
    /// The same as a mean over regions.
    pub regret_mean: f64,
    /// Median of |predicted / measured speed-up - 1|.
    pub error_median: f64,
    /// 90 % of these errors are below.
    pub error_90: f64,
    /// Misses that promise too many units.
    pub too_many: u32,
    /// Misses that promise too few.
    pub too_few: u32,
    /// Misses whose measured utilisation lies within 0.1 of a border.
    pub at_border: u32,
    /// Measured speed-ups inside the 90 % interval, if it has one.
    pub inside: Option<Rate>,
    /// Line through (predicted, measured utilisation): slope and intercept.
    pub trend: Option<(f64, f64)>,
}

/// Constants fitted without a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fitted {
    /// The benchmark left out.
    pub without: String,
    /// What the others say.
    pub constants: Constants,
}

/// A published result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Published {
    /// Programs.
    pub suite: &'static str,
    /// Machine.
    pub machine: &'static str,
    /// Packages decided about.
    pub packages: u32,
    /// Regions of one class, with the interval that their number implies.
    pub success: Rate,
}

/// A region, measured and predicted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// Benchmark.
    pub benchmark: String,
    /// Size.
    pub size: String,
    /// Region.
    pub region: String,
    /// Time with one unit, nanoseconds.
    pub alone_ns: f64,
    /// Measured speed-up of all units over one.
    pub speedup: f64,
    /// Measured utilisation.
    pub utilisation: f64,
    /// Its class.
    pub class: u32,
    /// Threads with the least measured time.
    pub best_threads: u32,
    /// Time with one unit over that.
    pub best_gain: f64,
    /// Predictions in the order of [`Evaluation::predictors`].
    pub said: Vec<Option<Prediction>>,
}

/// A prediction of a region.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// Speed-up of all units over one.
    pub speedup: f64,
    /// Utilisation.
    pub utilisation: f64,
    /// Whether its class is the measured one.
    pub right: bool,
    /// Threads that it would take.
    pub threads: u32,
    /// Time lost by that against the best, as a part of it.
    pub regret: f64,
    /// Whether the measured speed-up is inside its interval, if it has one.
    pub inside: Option<bool>,
}

/// Regions that the published percentages imply, and those right (figures 6.3 to 6.7).
const PUBLISHED: [(&str, &str, u32, u32, u32); 5] = [
    ("PolyBench", "Clovertown", 2, 32, 41),
    ("PolyBench", "Dunnington", 2, 36, 41),
    ("PolyBench", "Dunnington", 4, 32, 41),
    ("NPB", "Dunnington", 2, 36, 39),
    ("NPB", "Dunnington", 4, 35, 39),
];

/// Holds predictions of all predictors against what was measured with `unit` and up to
/// `units` times as many threads.
#[must_use]
pub fn evaluate(
    cases: &[Case],
    target: &Target,
    unit: u32,
    units: u32,
    utilisation: Utilisation,
    choosing: Choosing,
) -> Evaluation {
    let counts: BTreeSet<u32> = cases
        .iter()
        .flat_map(|case| case.times.iter().map(|times| times.threads))
        .filter(|threads| *threads >= unit && *threads <= unit * units)
        .chain([unit, unit * units])
        .collect();
    let counts: Vec<u32> = counts.into_iter().collect();
    let asked = Asked {
        target,
        unit,
        units,
        counts: &counts,
        utilisation,
        choosing,
    };
    let sound: Vec<&Case> = cases
        .iter()
        .filter(|case| case.time(unit).is_some() && case.time(unit * units).is_some())
        .collect();
    let benchmarks: BTreeSet<&str> = sound.iter().map(|case| &case.benchmark[..]).collect();
    let mut judged = Vec::new();
    let mut fitted = Vec::new();
    for benchmark in &benchmarks {
        let others: Vec<&Case> = sound
            .iter()
            .copied()
            .filter(|case| case.benchmark != *benchmark)
            .collect();
        let learned = Learned::from(&others, &asked);
        fitted.push(Fitted {
            without: (*benchmark).to_owned(),
            constants: learned.constants,
        });
        for case in sound.iter().filter(|case| case.benchmark == *benchmark) {
            judged.extend(judge(case, &learned, &asked));
        }
    }
    let times = || cases.iter().flat_map(|case| &case.times);
    Evaluation {
        schema: SCHEMA,
        version: VERSION,
        machine: target.name.clone(),
        unit_threads: unit,
        units,
        utilisation,
        benchmarks: benchmarks.len() as u32,
        regions: judged.len() as u32,
        disturbed: times().map(|times| times.disturbed).sum(),
        left_out: (cases.len() - sound.len()) as u32,
        predictors: (0..Predictor::ALL.len())
            .map(|index| result(index, &judged, &asked))
            .collect(),
        fitted,
        sensitivity: Vec::new(),
        published: PUBLISHED
            .map(|(suite, machine, packages, right, all)| Published {
                suite,
                machine,
                packages,
                success: wilson(right, all),
            })
            .to_vec(),
        cases: judged,
    }
}

fn judge(case: &Case, learned: &Learned, asked: &Asked<'_>) -> Option<Judged> {
    let alone_ns = case.time(asked.unit)?;
    let speedup = alone_ns / case.time(asked.unit * asked.units)?;
    let utilisation = asked.utilisation.of(speedup, asked.units);
    let class = asked.utilisation.class(speedup, asked.units);
    let measured = asked
        .counts
        .iter()
        .filter_map(|&threads| Some((threads, case.time(threads)?)));
    let best = measured.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let said = |who: Predictor| {
        let said: Forecast = learned.say(who, case, asked)?;
        // Of what was not measured, the nearest that was.
        let taken = case.time(said.threads).or_else(|| {
            let mut counts = asked.counts.to_vec();
            counts.sort_by_key(|count| count.abs_diff(said.threads));
            counts.iter().find_map(|count| case.time(*count))
        })?;
        Some(Prediction {
            speedup: said.speedup,
            utilisation: asked.utilisation.of(said.speedup, asked.units),
            right: asked.utilisation.class(said.speedup, asked.units) == class,
            threads: said.threads,
            regret: taken / best.1 - 1.0,
            inside: said
                .interval
                .map(|(low, high)| (low..=high).contains(&speedup)),
        })
    };
    Some(Judged {
        benchmark: case.benchmark.clone(),
        size: case.size.clone(),
        region: case.region.clone(),
        alone_ns,
        speedup,
        utilisation,
        class,
        best_threads: best.0,
        best_gain: alone_ns / best.1,
        said: Predictor::ALL.map(said).to_vec(),
    })
}

fn result(index: usize, cases: &[Judged], asked: &Asked<'_>) -> PredictorResult {
    let said: Vec<(&Judged, Prediction)> = cases
        .iter()
        .filter_map(|case| Some((case, case.said.get(index).copied().flatten()?)))
        .collect();
    let right = said.iter().filter(|(_, one)| one.right).count();
    let other = match asked.utilisation {
        Utilisation::Added => Utilisation::Share,
        Utilisation::Share => Utilisation::Added,
    };
    let alike = said.iter().filter(|(case, one)| {
        // A score is a utilisation itself, whatever the definition.
        let predicted = match Predictor::ALL.get(index) {
            Some(Predictor::Score) => fathomp_score::class(one.utilisation, asked.units),
            _ => other.class(one.speedup, asked.units),
        };
        predicted == other.class(case.speedup, asked.units)
    });
    let alike = alike.count();
    let (mut lost, mut best) = (0.0, 0.0);
    for (case, one) in &said {
        let least = case.alone_ns / case.best_gain.max(f64::MIN_POSITIVE);
        lost += one.regret * least;
        best += least;
    }
    let errors: Vec<f64> = said
        .iter()
        .map(|(case, one)| (one.speedup / case.speedup - 1.0).abs())
        .collect();
    let misses = || said.iter().filter(|(_, one)| !one.right);
    let predicted = |one: &Prediction| asked.utilisation.class(one.speedup, asked.units);
    let border = |case: &Judged| {
        (1..asked.units).any(|border| {
            (case.utilisation - f64::from(border) / f64::from(asked.units)).abs() < BORDER
        })
    };
    let inside: Vec<bool> = said.iter().filter_map(|(_, one)| one.inside).collect();
    let regrets: f64 = said.iter().map(|(_, one)| one.regret).sum();
    let points: Vec<(f64, f64)> = said
        .iter()
        .map(|(case, one)| (one.utilisation, case.utilisation))
        .collect();
    PredictorResult {
        name: Predictor::ALL.get(index).map_or("", |one| one.name()),
        success: wilson(right as u32, said.len() as u32),
        success_other: wilson(alike as u32, said.len() as u32),
        silent: (cases.len() - said.len()) as u32,
        regret: if best > 0.0 { lost / best } else { 0.0 },
        regret_mean: regrets / said.len().max(1) as f64,
        error_median: quantile(&errors, 0.5).unwrap_or_default(),
        error_90: quantile(&errors, 0.9).unwrap_or_default(),
        too_many: misses()
            .filter(|(case, one)| predicted(one) > case.class)
            .count() as u32,
        too_few: misses()
            .filter(|(case, one)| predicted(one) < case.class)
            .count() as u32,
        at_border: misses().filter(|(case, _)| border(case)).count() as u32,
        inside: (!inside.is_empty()).then(|| {
            let hits = inside.iter().filter(|one| **one).count();
            wilson(hits as u32, inside.len() as u32)
        }),
        trend: line(&points),
    }
}
