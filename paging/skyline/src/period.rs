//! What repeats.

use crate::facts::Period;
use crate::fourier::{Lags, normalised};
use crate::peaks;

/// Steps below which nothing is said of periods.
const STEPS_MIN: usize = 20;
/// Periods that have to fit.
const REPEATS_MIN: usize = 5;
/// The autocorrelation that a period has at least.
const R_MIN: f64 = 0.3;
/// Standard deviations of chance that it exceeds: one of hundreds of lags is the highest.
const DEVIATIONS: f64 = 3.5;
/// Peaks of about equal mass that have to be there: few high ones make autocorrelations
/// of their own.
const PEAKS_MIN: f64 = 4.0;

/// Looks for a period in `counts`; of them all, else without what begins before
/// `settled`, else without the first tenth: a burst at the start hides what follows.
///
/// The autocorrelation, times n / (n - lag) for the shorter overlap, is looked at behind
/// its first zero and as far as five periods fit. Of its local maxima the smallest lag
/// that reaches 0.9 of the highest is the period, refined to the centroid of that maximum.
/// It has to reach 0.3 and 3.5 standard deviations, 3.5 / sqrt(n / z): values correlated
/// over z steps (the first zero) count as one. At twice the lag, half of
/// it has to be left, at three times, a quarter.
pub(crate) fn find(
    counts: &[u64],
    settled: usize,
    step_ns: f64,
    lags: &mut Cache,
) -> Option<Period> {
    let mut tried = None;
    for from in [0, settled, counts.len() / 10] {
        if tried.is_some_and(|before| from <= before) {
            continue;
        }
        tried = Some(from);
        if let Some(found) = find_from(counts.get(from..)?, lags) {
            return Some(Period {
                ns: found.steps * step_ns,
                from_step: from,
                ..found
            });
        }
    }
    None
}

/// Transforms of lengths that were asked for before.
#[derive(Default)]
pub(crate) struct Cache(Vec<(usize, Lags)>);

impl Cache {
    fn lags(&mut self, steps: usize) -> Lags {
        if let Some((_, lags)) = self.0.iter().find(|(of, _)| *of == steps) {
            return lags.clone();
        }
        let lags = Lags::new(steps);
        self.0.push((steps, lags.clone()));
        lags
    }
}

fn find_from(counts: &[u64], cache: &mut Cache) -> Option<Period> {
    let steps = counts.len();
    if steps < STEPS_MIN || effective_peaks(counts) < PEAKS_MIN {
        return None;
    }
    let series = normalised(counts);
    if series.iter().all(|value| *value == 0.0) {
        return None;
    }
    let lags = cache.lags(steps);
    let spectrum = lags.spectrum(series);
    let products = lags.products(&spectrum, &spectrum);
    let last = steps / REPEATS_MIN;
    let r = |lag: usize| {
        let product = products.get(lag).map_or(0.0, |product| f64::from(*product));
        product * steps as f64 / (steps - lag).max(1) as f64
    };
    let zero = (1..=last).find(|lag| r(*lag) <= 0.0)?;
    let is_maximum = |lag: usize| r(lag) > r(lag - 1) && r(lag) >= r(lag + 1);
    let maxima = || (zero.max(1) + 1..=last).filter(|lag| is_maximum(*lag));
    let best = maxima().map(r).fold(0.0, f64::max);
    let lag = maxima().find(|lag| r(*lag) >= 0.9 * best)?;
    let r_first = r(lag);
    let independent = steps as f64 / zero as f64;
    let r_least = R_MIN.max(DEVIATIONS / independent.sqrt());
    // Further repetitions lie near the multiples of the lag, and may fade.
    let fades = |times: usize, part: f64| {
        let (at, slack) = (times * lag, (times * lag / 16).max(1));
        (at - slack..=at + slack).all(|lag| r(lag) < part * r_first)
    };
    if r_first < r_least || fades(2, 0.5) || fades(3, 0.25) {
        return None;
    }
    let exact = centroid(lag, &r);
    Some(Period {
        steps: exact,
        ns: 0.0,
        r: r_first.clamp(-1.0, 1.0),
        r_least,
        repeats: steps as f64 / exact,
        from_step: 0,
    })
}

/// Centroid of what the maximum at `lag` holds above its half.
fn centroid(lag: usize, r: &impl Fn(usize) -> f64) -> f64 {
    let half = r(lag) / 2.0;
    // A maximum is no wider than the period.
    let reach = lag / 2;
    let mut low = lag;
    while low > lag - reach && low > 1 && r(low - 1) > half {
        low -= 1;
    }
    let mut high = lag;
    while high < lag + reach && r(high + 1) > half {
        high += 1;
    }
    // As far on both sides: a maximum that is cut off on one would draw the centroid.
    let reach = (lag - low).min(high - lag);
    let (mut weights, mut sum) = (0.0, 0.0);
    for at in lag - reach..=lag + reach {
        let weight = r(at) - half;
        weights += weight;
        sum += weight * at as f64;
    }
    if weights > 0.0 {
        sum / weights
    } else {
        lag as f64
    }
}

/// Number of peaks, counted by mass: (sum of masses)^2 / sum of squares. One peak that
/// holds nearly all counts as one, however many small ones there are.
fn effective_peaks(counts: &[u64]) -> f64 {
    let runs = peaks::runs(counts, 1_000);
    let mass: f64 = runs.iter().map(|run| run.mass as f64).sum();
    let squares: f64 = runs.iter().map(|run| (run.mass as f64).powi(2)).sum();
    if squares > 0.0 {
        mass * mass / squares
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    fn of(counts: &[u64]) -> Option<Period> {
        find(counts, 0, 10.0, &mut Cache::default())
    }

    /// Peaks of `width` every `period` steps, each moved by up to `jitter`, over noise.
    fn train(
        steps: usize,
        period: f64,
        width: usize,
        jitter: f64,
        random: &mut StdRng,
    ) -> Vec<u64> {
        let mut counts: Vec<u64> = (0..steps).map(|_| random.random_range(0..3)).collect();
        let mut at = period / 2.0;
        while (at as usize) < steps {
            let moved = at + jitter * (random.random::<f64>() - 0.5);
            for bin in 0..width {
                if let Some(count) = counts.get_mut(moved as usize + bin) {
                    *count += 20;
                }
            }
            at += period;
        }
        counts
    }

    #[test]
    fn periods_are_found_to_a_hundredth() {
        let mut random = StdRng::seed_from_u64(1);
        for (period, width) in [(12.2, 3), (37.0, 5), (100.5, 10), (400.0, 40), (4.0, 1)] {
            let found = of(&train(4_096, period, width, 0.0, &mut random)).unwrap();
            assert!(
                (found.steps / period - 1.0).abs() < 0.02,
                "{period} {found:?}"
            );
            assert!((found.ns / found.steps - 10.0).abs() < 1e-9);
            assert!(found.r > 0.5 && found.repeats > 9.0, "{found:?}");
        }
    }

    #[test]
    fn jitter_and_a_burst_at_the_start_are_no_obstacle() {
        let mut random = StdRng::seed_from_u64(2);
        let mut counts = train(4_096, 100.0, 10, 6.0, &mut random);
        assert!((of(&counts).unwrap().steps - 100.0).abs() < 4.0);
        for count in &mut counts[..200] {
            *count += 4_000;
        }
        let found = of(&counts).unwrap();
        assert!(
            (found.steps - 100.0).abs() < 4.0 && found.from_step > 0,
            "{found:?}"
        );
    }

    #[test]
    fn phases_of_few_steps_have_periods() {
        let counts: Vec<u64> = (0..60)
            .map(|phase| [90, 5, 7, 40, 6, 5][phase % 6])
            .collect();
        let found = of(&counts).unwrap();
        assert!(
            (found.steps - 6.0).abs() < 0.1 && found.r > 0.95,
            "{found:?}"
        );
        let alternating: Vec<u64> = (0..40).map(|phase| 10 + 50 * (phase % 2)).collect();
        assert!((of(&alternating).unwrap().steps - 2.0).abs() < 0.1);
    }

    #[test]
    fn chance_has_no_period() {
        let mut random = StdRng::seed_from_u64(3);
        let mut found = 0;
        for round in 0..400 {
            let steps = [40, 100, 1_000, 4_096][round % 4];
            let counts: Vec<u64> = match round / 4 % 4 {
                // Independent counts.
                0 => (0..steps).map(|_| random.random_range(0..9)).collect(),
                // Few counts.
                1 => (0..steps)
                    .map(|_| u64::from(random.random::<f64>() < 0.05))
                    .collect(),
                // Peaks of some width at random times.
                2 => {
                    let mut counts = vec![0; steps];
                    for _ in 0..12 {
                        let at = random.random_range(0..steps);
                        for count in counts.iter_mut().skip(at).take(steps / 60 + 1) {
                            *count += 10;
                        }
                    }
                    counts
                }
                // A walk.
                _ => {
                    let mut level = 500_i64;
                    let mut step = || {
                        level = (level + random.random_range(-9..=9)).max(0);
                        level as u64
                    };
                    (0..steps).map(|_| step()).collect()
                }
            };
            found += usize::from(of(&counts).is_some());
        }
        assert!(found <= 2, "{found} of 400");
    }

    #[test]
    fn nothing_and_constants_have_no_period() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[3; 1_000]), None);
        assert_eq!(of(&[u64::MAX; 100]), None);
        let mut one = vec![0; 1_000];
        one[500] = 9;
        assert_eq!(of(&one), None);
        let extreme: Vec<u64> = (0..100)
            .map(|at| if at % 5 == 0 { u64::MAX } else { 0 })
            .collect();
        assert!(of(&extreme).is_some_and(|found| (found.steps - 5.0).abs() < 0.1));
    }
}
