//! The model of a whole program: its serial part and its regions.

use super::model::{Choice, RegionModel, Setting};
use super::terms::{Term, Terms};
use crate::numeric::{Equation, Prior, dot, explain};
use crate::recorded::{Group, Observed, Runs};
use fathomp_stats::{Random, quantile};
use std::collections::BTreeMap;

/// A fitted program.
#[derive(Clone, Debug)]
pub(crate) struct ProgramModel {
    /// Coefficients of [`serial_shapes`].
    serial: Vec<f64>,
    /// Time blocked outside regions.
    serial_blocked: f64,
    pub(crate) regions: BTreeMap<String, RegionModel>,
    /// Relative error of extrapolation that was drawn, per doubling of the
    /// thread count beyond the largest measured.
    drift: f64,
    largest: f64,
}

/// Time outside regions: constant, growing with each thread, or longer once there are others:
/// what threads wrote lies in other caches, and processors at work slow each other's clocks.
fn serial_shapes(p: f64) -> Vec<f64> {
    vec![1.0, p - 1.0, 1.0 - 1.0 / p]
}

/// So much longer, relatively, serial code may become by the threads' working before it.
const LONGER_ONCE: f64 = 0.5;
/// How likely the less likely of both shapes is: that a smaller change between two numbers of
/// threads, which cannot tell, comes again with each thread; else that it came but once.
const LESS_LIKELY: f64 = 0.01;
/// What the serial parts of two runs differ by, relatively, where there are no two to tell.
const SINGLE_RUN: f64 = 0.05;

/// How likely each of the [`serial_shapes`] is before it is fitted to the samples, which are in
/// order of threads.
fn serial_priors(samples: &[Sample]) -> [Prior; 3] {
    let [Some(first), Some(last)] = [samples.first(), samples.last()] else {
        return [Prior::Certain, Prior::Reluctant, Prior::Unlikely];
    };
    let disturbed = samples.iter().any(|sample| sample.disturbed);
    // Programs that take processors meanwhile make the serial part longer, too, and now
    // more and now less: that is no growth with the threads.
    let (each, once) = match disturbed {
        true => (Prior::Unlikely, Prior::Unlikely),
        false if samples.len() < 3 && last.serial <= (1.0 + LONGER_ONCE) * first.serial => {
            (Prior::Odds(LESS_LIKELY), Prior::Reluctant)
        }
        false if samples.len() < 3 => (Prior::Reluctant, Prior::Reluctant),
        false => (Prior::Reluctant, Prior::Odds(LESS_LIKELY)),
    };
    [Prior::Certain, each, once]
}

/// Relative standard deviation by which reality departs from any of the
/// shapes with each doubling beyond what was measured.
const DRIFT: f64 = 0.03;

/// What one run more or less takes in its serial part, in nanoseconds, whatever it does there:
/// interrupts, pages paged in, files that are cached or not.
const HICCUP_NS: f64 = 300_000.0;

/// Terms of the program and of its parts at one thread count, in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Terms1 {
    pub(crate) serial: f64,
    pub(crate) serial_blocked: f64,
    pub(crate) regions: BTreeMap<String, [f64; Term::COUNT]>,
}

impl Terms1 {
    /// The whole program's terms.
    pub(crate) fn program(&self, on: Terms) -> [f64; Term::COUNT] {
        let mut sum = [0.0; Term::COUNT];
        if on.contains(Term::Serial) {
            sum[Term::Serial as usize] = self.serial;
        }
        if on.contains(Term::Blocked) {
            sum[Term::Blocked as usize] = self.serial_blocked;
        }
        for terms in self.regions.values() {
            for (sum, term) in sum.iter_mut().zip(terms) {
                *sum += term;
            }
        }
        sum
    }
}

impl ProgramModel {
    /// The best account of the measurements in `groups`.
    pub(crate) fn central(runs: &Runs<'_>, groups: &[Group<'_>], setting: &Setting<'_>) -> Self {
        let picked: Vec<Sample> = groups.iter().map(Sample::middle).collect();
        Self::fit(runs, &picked, setting, &mut Choice::Mean)
    }

    /// An account of measurements that might have been: runs drawn again,
    /// disturbed by their noise, and one of the explanations drawn. What the best
    /// account, `central`, leaves unexplained stays so, and makes it less certain
    /// beyond what was measured.
    pub(crate) fn replicate(
        runs: &Runs<'_>,
        groups: &[Group<'_>],
        setting: &Setting<'_>,
        central: &Self,
        random: &mut Random,
    ) -> Self {
        let picked: Vec<Sample> = groups
            .iter()
            .map(|group| Sample::drawn(group, random))
            .collect();
        let mut model = Self::fit(runs, &picked, setting, &mut Choice::Draw(random));
        for (key, region) in &mut model.regions {
            if let Some(best) = central.regions.get(key) {
                region.unexplained.clone_from(&best.unexplained);
            }
        }
        model.drift = (DRIFT + 0.5 * central.unexplained()) * random.normal();
        model
    }

    /// By how much the model misses the measurements of any region, as a logarithm, at
    /// most 1.
    fn unexplained(&self) -> f64 {
        let all = self.regions.values().map(RegionModel::most_unexplained);
        all.fold(0.0, f64::max).min(1.0)
    }

    fn fit(
        runs: &Runs<'_>,
        samples: &[Sample],
        setting: &Setting<'_>,
        choice: &mut Choice<'_>,
    ) -> Self {
        // Nor is it growth what single runs differ by on a quiet machine.
        let part = match samples.iter().any(|sample| sample.disturbed) {
            true => 0.5,
            false => samples.iter().map(|one| one.scatter).fold(0.02, f64::max),
        };
        let equations: Vec<Equation> = samples
            .iter()
            .map(|sample| Equation {
                shapes: serial_shapes(sample.threads),
                observed: sample.serial,
                sigma: (part * sample.serial)
                    .max(0.002 * sample.wall)
                    .max(HICCUP_NS),
            })
            .collect();
        let priors = serial_priors(samples);
        let explanations = explain(&equations, &priors);
        let serial = match choice {
            Choice::Mean => explanations.mean(priors.len()),
            Choice::Draw(random) => explanations.draw(random, priors.len()),
        };
        let mut regions = BTreeMap::new();
        for key in runs.keys() {
            let points: Vec<(f64, Observed)> = samples
                .iter()
                .filter_map(|sample| Some((sample.threads, *sample.regions.get(key)?)))
                .collect();
            if !points.is_empty() {
                regions.insert(key.to_owned(), RegionModel::fit(&points, setting, choice));
            }
        }
        let blocked: Vec<f64> = samples.iter().map(|one| one.serial_blocked).collect();
        Self {
            serial,
            serial_blocked: quantile(&blocked, 0.5).unwrap_or_default(),
            regions,
            drift: 0.0,
            largest: samples.last().map_or(1.0, |sample| sample.threads),
        }
    }

    /// All terms with `threads` threads.
    pub(crate) fn at(&self, threads: u32, setting: &Setting<'_>, on: Terms) -> Terms1 {
        let p = f64::from(threads);
        let beyond = (p / self.largest).log2().max(0.0);
        let factor = (self.drift * beyond).exp();
        let regions = self
            .regions
            .iter()
            .map(|(key, model)| {
                let mut terms = model.terms(p, setting, on);
                for term in &mut terms {
                    *term *= factor;
                }
                (key.clone(), terms)
            })
            .collect();
        Terms1 {
            serial: dot(&self.serial, &serial_shapes(p)),
            serial_blocked: self.serial_blocked,
            regions,
        }
    }
}

/// What one run, real or drawn, says.
struct Sample {
    threads: f64,
    wall: f64,
    serial: f64,
    serial_blocked: f64,
    /// Half of what the serial parts of runs with as many threads differ by, relatively.
    scatter: f64,
    /// Other programs had a part in its times.
    disturbed: bool,
    regions: BTreeMap<String, Observed>,
}

impl Sample {
    fn middle(group: &Group<'_>) -> Self {
        let run = group.typical_run();
        let serials = || group.runs.iter().map(|run| run.serial);
        let (least, most) = (
            serials().fold(f64::MAX, f64::min),
            serials().fold(0.0, f64::max),
        );
        Self {
            threads: f64::from(group.threads),
            wall: run.wall,
            serial: run.serial,
            serial_blocked: run.serial_blocked,
            scatter: match group.runs.len() {
                1 => SINGLE_RUN,
                _ => (most - least).max(0.0) / (most + least).max(1.0),
            },
            disturbed: run.analysis.program.disturbed(),
            regions: run.regions.clone(),
        }
    }

    fn drawn(group: &Group<'_>, random: &mut Random) -> Self {
        let mut sample = Self::middle(group);
        let again = group.runs.len() >= 3;
        if again {
            let run = &group.runs[random.below(group.runs.len())];
            sample.wall = run.wall;
            sample.serial = run.serial;
            sample.serial_blocked = run.serial_blocked;
            sample.disturbed = run.analysis.program.disturbed();
            sample.regions.clone_from(&run.regions);
        }
        // Runs drawn again bring their own noise; the rest is the scatter of
        // the region within a run.
        let common = if again {
            1.0
        } else {
            (group.noise * random.normal()).exp()
        };
        sample.serial *= common;
        if !again {
            sample.serial = (sample.serial + HICCUP_NS * random.normal()).max(0.0);
        }
        for observed in sample.regions.values_mut() {
            let own = (observed.noise.min(0.2) * random.normal()).exp();
            *observed = observed.scaled(common * if again { 1.0 } else { own });
        }
        sample
    }
}
