//! Predictors that know less, and ours.

use super::measured::Case;
use super::rules::Utilisation;
use crate::choose::{Choosing, choose};
use crate::model::{Constants, Model, interval};
use crate::target::Target;

/// Who predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Predictor {
    /// Model 2 with constants fitted to the other benchmarks.
    Ours,
    /// Model 2 with its usual constants.
    Unfitted,
    /// The published static score.
    Score,
    /// The class that most regions of the other benchmarks have.
    Majority,
    /// Their mean speed-up.
    Mean,
    /// Amdahl's law through their mean times.
    Amdahl,
    /// The universal scalability law through their mean times.
    Usl,
}

impl Predictor {
    pub(crate) const ALL: [Self; 7] = [
        Self::Ours,
        Self::Unfitted,
        Self::Score,
        Self::Majority,
        Self::Mean,
        Self::Amdahl,
        Self::Usl,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Unfitted => "ours, unfitted",
            Self::Score => "published score",
            Self::Majority => "majority class",
            Self::Mean => "mean",
            Self::Amdahl => "Amdahl",
            Self::Usl => "USL",
        }
    }
}

/// What a predictor says of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Forecast {
    /// Speed-up of all units over one.
    pub(crate) speedup: f64,
    /// Its interval, if it has one.
    pub(crate) interval: Option<(f64, f64)>,
    /// Threads that it would take.
    pub(crate) threads: u32,
}

/// What is asked of all predictors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) target: &'a Target,
    /// Threads of one unit.
    pub(crate) unit: u32,
    /// Units.
    pub(crate) units: u32,
    /// Numbers of threads that were measured.
    pub(crate) counts: &'a [u32],
    pub(crate) utilisation: Utilisation,
    pub(crate) choosing: Choosing,
}

/// What can be learned from the cases of other benchmarks.
pub(crate) struct Learned {
    pub(crate) constants: Constants,
    majority: u32,
    /// Mean of log(T(1) / T(p)) at each count, ascending.
    gains: Vec<(u32, f64)>,
    amdahl: Vec<(u32, f64)>,
    usl: Vec<(u32, f64)>,
}

impl Learned {
    pub(crate) fn from(cases: &[&Case], asked: &Asked<'_>) -> Self {
        let mut classes = vec![0_u32; asked.units.max(1) as usize];
        for case in cases {
            if let Some(speedup) = case.speedup() {
                classes[asked.utilisation.class(speedup, asked.units) as usize] += 1;
            }
        }
        let majority = (0..classes.len()).max_by_key(|class| (classes[*class], *class));
        let gains: Vec<(u32, f64)> = asked
            .counts
            .iter()
            .map(|&threads| (threads, mean_gain(cases, asked.counts[0], threads)))
            .collect();
        // Times relative to one unit, as simple laws are fitted to.
        let points: Vec<(u32, f64)> = gains
            .iter()
            .map(|(threads, gain)| (*threads, 1e9 / gain.max(1e-9)))
            .collect();
        let fitted = fathomp_predict::baselines(&points, asked.counts);
        let law = |name: &str| {
            let found = fitted.iter().find(|one| one.name == name);
            found.map_or(Vec::new(), |one| one.points.clone())
        };
        Self {
            constants: fit(cases, asked),
            majority: majority.unwrap_or(0) as u32,
            gains,
            amdahl: law("amdahl"),
            usl: law("usl"),
        }
    }

    pub(crate) fn say(&self, who: Predictor, case: &Case, asked: &Asked<'_>) -> Option<Forecast> {
        let by_class = |class: u32, speedup: f64| Forecast {
            speedup,
            interval: None,
            threads: ((class + 1) * asked.unit).min(asked.unit * asked.units),
        };
        Some(match who {
            Predictor::Ours => ours(case, asked, self.constants),
            Predictor::Unfitted => ours(case, asked, asked.choosing.constants),
            Predictor::Score => {
                let score = case.score?;
                let class = fathomp_score::class(score, asked.units);
                by_class(class, asked.utilisation.speedup(score, asked.units))
            }
            Predictor::Majority => {
                // The middle of its class.
                let middle = (f64::from(self.majority) + 0.5) / f64::from(asked.units.max(1));
                by_class(
                    self.majority,
                    asked.utilisation.speedup(middle, asked.units),
                )
            }
            Predictor::Mean => by_times(&inverse(&self.gains), asked),
            Predictor::Amdahl => by_times(&self.amdahl, asked),
            Predictor::Usl => by_times(&self.usl, asked),
        })
    }
}

fn inverse(gains: &[(u32, f64)]) -> Vec<(u32, f64)> {
    gains
        .iter()
        .map(|(threads, gain)| (*threads, 1.0 / gain.max(1e-9)))
        .collect()
}

fn by_times(times: &[(u32, f64)], asked: &Asked<'_>) -> Forecast {
    let first = times.first().map_or(1.0, |one| one.1);
    let last = times.last().map_or(1.0, |one| one.1);
    let best = times
        .iter()
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map_or(asked.unit, |one| one.0);
    Forecast {
        speedup: crate::choose::ratio(first, last),
        interval: None,
        threads: best,
    }
}

/// The geometric mean of measured gains.
fn mean_gain(cases: &[&Case], one: u32, threads: u32) -> f64 {
    let gains: Vec<f64> = cases
        .iter()
        .filter_map(|case| Some((case.time(one)? / case.time(threads)?).ln()))
        .collect();
    match gains.len() {
        0 => 1.0,
        n => (gains.iter().sum::<f64>() / n as f64).exp(),
    }
}

fn ours(case: &Case, asked: &Asked<'_>, constants: Constants) -> Forecast {
    let choosing = Choosing {
        constants,
        ..asked.choosing
    };
    let choice = choose(&case.profile, asked.target, &choosing, asked.counts);
    let model = Model::new(&case.profile, asked.target, constants);
    let ends = [asked.unit, asked.unit * asked.units];
    let predicted = model.predict(&ends, choosing.seed);
    let speedups: Vec<f64> = predicted[0]
        .draws
        .iter()
        .zip(&predicted[1].draws)
        .map(|(one, all)| crate::choose::ratio(*one, *all))
        .collect();
    let speedup = crate::choose::ratio(predicted[0].time, predicted[1].time);
    // The measured number of threads that is nearest to what is advised.
    let nearest = asked
        .counts
        .iter()
        .min_by_key(|count| count.abs_diff(choice.advised.threads));
    Forecast {
        speedup,
        interval: Some(interval(&speedups, speedup)),
        threads: nearest.copied().unwrap_or(asked.unit),
    }
}

/// Constants with the least squared error of the logarithm of speed-ups.
fn fit(cases: &[&Case], asked: &Asked<'_>) -> Constants {
    const OVERLAP: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
    const CORE_LOSS: [f64; 5] = [0.0, 0.02, 0.05, 0.1, 0.2];
    const REACH: [f64; 5] = [0.6, 0.8, 1.0, 1.25, 1.6];
    let ends = [asked.unit, asked.unit * asked.units];
    let error = |constants: Constants| -> f64 {
        let of = |case: &&Case| {
            let measured = case.speedup()?;
            let times = Model::new(&case.profile, asked.target, constants).times(&ends);
            let predicted = crate::choose::ratio(times[0], times[1]);
            Some((predicted / measured).ln().abs().min(1.0).powi(2))
        };
        cases.iter().filter_map(of).sum()
    };
    let mut best = (f64::INFINITY, asked.choosing.constants);
    for overlap in OVERLAP {
        for core_loss in CORE_LOSS {
            for reach in REACH {
                let constants = Constants {
                    overlap,
                    core_loss,
                    reach,
                };
                let error = error(constants);
                if error < best.0 - 1e-12 {
                    best = (error, constants);
                }
            }
        }
    }
    best.1
}
