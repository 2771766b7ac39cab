//! From predicted times to a recommendation: threads, what is lost otherwise, steps by trips.

use crate::advice::{Advised, Confidence, Loss, PointAdvice, Step, Term};
use crate::model::{Constants, Model, Predicted, interval};
use crate::profile::Profile;
use crate::target::Target;
use fathomp_stats::quantile;

/// Trips are looked at from this part of those measured,
const FEWEST: f64 = 1e-7;
/// to so many times as many,
const TRIPS_FACTOR_MAX: f64 = 1e3;
/// in steps of this factor; where the choice changes, more finely.
const FACTOR: f64 = 4.0;
/// A list of steps that is longer than this says nothing that people can read.
const STEPS_MOST: usize = 12;
/// A step is worth a line if it holds for this many times as many trips as it begins with.
const NARROW: f64 = 1.5;
/// A gain that people see as none is not advised, however small a saving is worthwhile.
const SEEN: f64 = 0.005;
/// Measured gains may be so much above one for each thread without a word.
const SCATTER: f64 = 0.05;
/// Loss that no advised choice should exceed to be called certain, and to be called likely.
const CERTAIN: f64 = 0.05;
const LIKELY: f64 = 0.25;

/// How to choose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choosing {
    /// Part of the best time that is given away for fewer threads.
    pub worthwhile: f64,
    /// Saving below which more threads count as saturated.
    pub saturated: f64,
    /// Constants of the model.
    pub constants: Constants,
    /// Seed of the intervals.
    pub seed: u64,
}

impl Default for Choosing {
    fn default() -> Self {
        Self {
            worthwhile: 0.02,
            saturated: 0.05,
            constants: Constants::default(),
            seed: 1,
        }
    }
}

/// What is recommended for a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The recommendation.
    pub advised: Advised,
    /// What is lost otherwise.
    pub loss: Loss,
    /// Predictions at the threads asked about.
    pub points: Vec<PointAdvice>,
    /// See [`crate::RegionAdvice::saturates_at`].
    pub saturates_at: Option<u32>,
    /// Steps by multiples of the profile's trips, or a single one from 0 on without trips.
    pub steps: Vec<Step>,
    /// How far this may be trusted.
    pub confidence: Confidence,
    /// What limits it where it stops, or at the most threads, and the share of time.
    pub limit: (Term, f64),
    /// Threads of that.
    pub limit_threads: u32,
    /// The times' gain where it is clearly more than one for each thread, and whether the
    /// caches explain that. Without an explanation it is no gain that anybody is promised.
    pub beyond: Option<(f64, bool)>,
}

/// Chooses threads for a region among those of `target`; `shown` are the numbers of threads
/// that predictions are given for (empty: a readable few).
#[must_use]
pub fn choose(profile: &Profile, target: &Target, how: &Choosing, shown: &[u32]) -> Choice {
    let model = Model::new(profile, target, how.constants);
    let mut counts = target.candidates();
    let choices = counts.clone();
    counts.extend(shown.iter().copied().filter(|threads| *threads > 0));
    counts.sort_unstable();
    counts.dedup();
    let predicted = model.predict(&counts, how.seed);
    let among: Vec<&Predicted> = predicted
        .iter()
        .filter(|one| choices.contains(&one.threads))
        .collect();
    let advised = best(&among, how.worthwhile);
    let find = |threads: u32| predicted.iter().find(|one| one.threads == threads);
    let one = &predicted[0];
    let at = find(advised).unwrap_or(one);
    let all = among.last().copied().unwrap_or(one);
    let gains: Vec<f64> = one
        .draws
        .iter()
        .zip(&at.draws)
        .map(|(one, at)| ratio(*one, *at))
        .collect();
    let timed = ratio(one.time, at.time);
    let p = f64::from(advised);
    let fits = gathered(profile, target, advised);
    let beyond = (timed > p * (1.0 + SCATTER)).then_some((timed, fits));
    let most = |threads: u32| match gathered(profile, target, threads) {
        true => f64::INFINITY,
        false => f64::from(threads),
    };
    let gain = timed.min(most(advised));
    let (gain_low, gain_high) = match advised {
        1 => (gain, gain),
        _ => interval(&gains, timed),
    };
    let central: Vec<f64> = among.iter().map(|one| one.time).collect();
    let least = central.iter().copied().fold(f64::INFINITY, f64::min);
    let saturates = among
        .iter()
        .find(|one| one.time <= least * (1.0 + how.saturated))
        .map_or(1, |one| one.threads)
        .max(advised);
    let stops = saturates < all.threads;
    // What it costs shows one choice further.
    let limit_threads = match stops {
        true => among
            .iter()
            .map(|one| one.threads)
            .find(|threads| *threads > advised)
            .unwrap_or(all.threads),
        false => all.threads,
    };
    let limit = find(limit_threads).map_or((Term::Work, 1.0), |one| one.dominating);
    let shown: Vec<u32> = match shown.is_empty() {
        true => readable(&choices, advised),
        false => shown.to_vec(),
    };
    let absolute = profile.timed.is_some();
    let unit = if absolute { 1.0 } else { one.time };
    Choice {
        advised: Advised {
            threads: advised,
            packages: target.packages_of(advised),
            gain,
            gain_low: gain_low.min(gain),
            gain_high: gain_high.min(most(advised)),
        },
        loss: Loss {
            all: ratio(all.time, at.time) - 1.0,
            one: gain - 1.0,
        },
        points: predicted
            .iter()
            .filter(|point| shown.contains(&point.threads))
            .map(|point| PointAdvice {
                threads: point.threads,
                packages: target.packages_of(point.threads),
                time: point.time / unit,
                low: point.low / unit,
                high: point.high / unit,
                speedup: ratio(one.time, point.time).min(most(point.threads)),
                dominating: point.dominating.0,
                share: point.dominating.1,
            })
            .collect(),
        saturates_at: stops.then_some(saturates),
        steps: steps(&model, profile, &choices, advised, how.worthwhile),
        confidence: match beyond {
            Some((_, false)) => confidence(&among, at, profile, target).min(Confidence::Medium),
            _ => confidence(&among, at, profile, target),
        },
        limit,
        limit_threads,
        beyond,
    }
}

/// Whether so many threads have their data in caches, where those of one are too small: that
/// makes them more than so many times as fast.
fn gathered(profile: &Profile, target: &Target, threads: u32) -> bool {
    let footprint = profile.demand.as_ref().map_or(0.0, |one| one.footprint);
    target.machine.caches.iter().any(|cache| {
        let caches = threads.div_ceil(cache.shared_by.max(1));
        footprint > cache.bytes as f64 && footprint <= cache.bytes as f64 * f64::from(caches)
    })
}

/// The fewest threads whose expected loss, over all that may be so, is hardly above the
/// least, among those that gain something. More than one thread that is likely to be slower
/// than one is no advice, though it may be what loses least on average.
fn best(among: &[&Predicted], worthwhile: f64) -> u32 {
    let draws = among.iter().map(|one| one.draws.len()).min().unwrap_or(0);
    let mut losses = vec![0.0; among.len()];
    for draw in 0..draws {
        let times = || among.iter().map(|one| one.draws[draw]);
        let least = times().fold(f64::INFINITY, f64::min);
        for (loss, time) in losses.iter_mut().zip(times()) {
            *loss += (ratio(time, least) - 1.0) / draws as f64;
        }
    }
    let alone = among.first().map_or(0.0, |one| one.time);
    let gaining = || {
        let least = 1.0 + worthwhile.max(SEEN);
        among
            .iter()
            .zip(&losses)
            .filter(move |(one, _)| one.threads == 1 || ratio(alone, one.time) >= least)
    };
    let least = gaining()
        .map(|(_, loss)| *loss)
        .fold(f64::INFINITY, f64::min);
    gaining()
        .find(|(_, loss)| **loss <= least + worthwhile)
        .map_or(1, |(one, _)| one.threads)
}

/// The fewest threads hardly slower than the quickest.
fn quickest(counts: &[u32], times: &[f64], worthwhile: f64) -> u32 {
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    counts
        .iter()
        .zip(times)
        .find(|(_, time)| **time <= least * (1.0 + worthwhile))
        .map_or(1, |(threads, _)| *threads)
}

/// Threads by trips. What is measured has its own choice around it; elsewhere the model's.
fn steps(
    model: &Model<'_>,
    profile: &Profile,
    counts: &[u32],
    advised: u32,
    worthwhile: f64,
) -> Vec<Step> {
    let trips = profile.work.as_ref().map_or(0.0, |work| work.trips);
    let step = |from_trips: u64, threads: u32| Step {
        from_trips,
        from_iterations: profile
            .work
            .as_ref()
            .filter(|work| work.divided >= 1.0)
            .map(|work| {
                let part = from_trips as f64 / trips.max(1.0);
                let power = 1.0 / f64::from(work.degree.max(1));
                (part.powf(power) * work.divided).ceil() as u64
            }),
        threads,
    };
    let always = vec![step(0, advised)];
    // A guess of the trips would give steps in the wrong place.
    if trips < 1.0 || !profile.facts {
        return always;
    }
    let at = |scale: f64| match (0.9..=1.1).contains(&scale) {
        true => advised,
        false => quickest(counts, &model.scaled(scale).times(counts), worthwhile),
    };
    let mut steps = vec![step(0, at(FEWEST.max(1.0 / trips)))];
    let mut scale = FEWEST.max(1.0 / trips);
    let mut current = steps[0].threads;
    while scale < TRIPS_FACTOR_MAX {
        let next = scale * FACTOR;
        let threads = at(next);
        if threads != current {
            let (mut low, mut high) = (scale, next);
            for _ in 0..12 {
                let middle = (low * high).sqrt();
                if at(middle) == current {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            let from_trips = (high * trips).ceil().clamp(1.0, 1e18) as u64;
            let threads = at(high);
            if steps
                .last()
                .is_some_and(|last| last.from_trips < from_trips && last.threads != threads)
            {
                steps.push(step(from_trips, threads));
            }
            current = threads;
            // What changes twice between two looks is found at the next.
            scale = high.max(scale * 1.01);
            continue;
        }
        scale = next;
    }
    // What holds for hardly any trips is only a way to the next.
    let narrow = |pair: &[Step]| (pair[1].from_trips as f64) < NARROW * pair[0].from_trips as f64;
    let mut kept: Vec<Step> = steps
        .windows(2)
        .filter(|pair| !narrow(pair))
        .map(|pair| pair[0])
        .collect();
    kept.extend(steps.last());
    if kept.len() > STEPS_MOST {
        kept = thinned(&kept);
    }
    kept.dedup_by_key(|step| step.threads);
    kept
}

/// Every so many steps, the last one always.
fn thinned(steps: &[Step]) -> Vec<Step> {
    let every = steps.len().div_ceil(STEPS_MOST);
    let last = steps.len() - 1;
    let kept = steps.iter().enumerate();
    kept.filter(|(index, _)| index % every == 0 || *index == last)
        .map(|(_, step)| *step)
        .collect()
}

/// How often, over all that may be so, the advised choice loses little.
fn confidence(
    among: &[&Predicted],
    at: &Predicted,
    profile: &Profile,
    target: &Target,
) -> Confidence {
    let draws = at.draws.len();
    let losses: Vec<f64> = (0..draws)
        .map(|draw| {
            let times = among.iter().filter_map(|one| one.draws.get(draw));
            let least = times.copied().fold(f64::INFINITY, f64::min);
            ratio(at.draws[draw], least) - 1.0
        })
        .collect();
    let loss = quantile(&losses, 0.95).unwrap_or_default();
    let measured = profile.timed.is_some();
    let several = profile.measured_counts > 1;
    let known = several || (profile.facts && profile.work.is_some() && profile.understood > 0.8);
    if !measured || loss > LIKELY {
        Confidence::Low
    } else if loss > CERTAIN || !known || !target.measured || profile.disturbed {
        Confidence::Medium
    } else {
        Confidence::High
    }
}

/// Powers of two, all cores, and the advised number.
fn readable(choices: &[u32], advised: u32) -> Vec<u32> {
    let last = choices.last().copied().unwrap_or(1);
    let few = choices.len() <= 8;
    choices
        .iter()
        .copied()
        .filter(|n| few || n.is_power_of_two() || *n == last || *n == advised)
        .collect()
}

pub(crate) fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 && a.is_finite() && b.is_finite() {
        a / b
    } else {
        1.0
    }
}
