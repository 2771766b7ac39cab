//! Simple models of the whole program, to hold ours against.
//!
//! Each is fitted to the median wall times by least squares in the relative
//! error. They know nothing of regions.

use super::outcome::Baseline;
use crate::numeric::{Equation, Prior, explain};

/// (threads, median wall time in ns), ascending.
pub(crate) type Points = [(u32, f64)];

/// Fits all baselines to (threads, time in ns), ascending in threads, and evaluates them at
/// `at`.
#[must_use]
pub fn baselines(points: &[(u32, f64)], at: &[u32]) -> Vec<Baseline> {
    all(points, at)
}

/// Fits all baselines and evaluates them at `at`.
pub(crate) fn all(points: &Points, at: &[u32]) -> Vec<Baseline> {
    [linear, mean_speedup, amdahl, usl]
        .into_iter()
        .map(|fit: fn(&Points) -> Model| {
            let model = fit(points);
            let validation_error = match points.split_last() {
                Some((last, rest)) if !rest.is_empty() => {
                    Some(fit(rest).time(last.0) / last.1 - 1.0)
                }
                _ => None,
            };
            Baseline {
                name: model.name,
                parameters: model.parameters.clone(),
                points: at.iter().map(|&p| (p, model.time(p))).collect(),
                validation_error,
            }
        })
        .collect()
}

/// A fitted baseline.
struct Model {
    name: &'static str,
    parameters: Vec<(&'static str, f64)>,
    /// Coefficients of 1/p, 1, (p-1)/p and p-1.
    coefficients: [f64; 4],
}

impl Model {
    fn time(&self, threads: u32) -> f64 {
        let p = f64::from(threads.max(1));
        let shapes = [1.0 / p, 1.0, (p - 1.0) / p, p - 1.0];
        crate::numeric::dot(&self.coefficients, &shapes)
    }
}

/// Time with one thread, as measured, or scaled up from the fewest.
fn one_thread(points: &Points) -> f64 {
    points
        .first()
        .map_or(0.0, |(threads, time)| f64::from(*threads) * time)
}

/// Ideal: every thread does its share.
fn linear(points: &Points) -> Model {
    let one = one_thread(points);
    Model {
        name: "linear",
        parameters: vec![("time_1_ns", one)],
        coefficients: [one, 0.0, 0.0, 0.0],
    }
}

/// The mean of the measured speedups, whatever the thread count.
fn mean_speedup(points: &Points) -> Model {
    let one = one_thread(points);
    let speedups: Vec<f64> = points
        .iter()
        .filter(|(threads, _)| *threads > 1)
        .map(|(_, time)| one / time.max(1.0))
        .collect();
    let mean = match speedups.len() {
        0 => 1.0,
        n => speedups.iter().sum::<f64>() / n as f64,
    };
    Model {
        name: "mean_speedup",
        parameters: vec![("speedup", mean)],
        coefficients: [0.0, one / mean, 0.0, 0.0],
    }
}

/// Amdahl's law: T = a/p + b.
fn amdahl(points: &Points) -> Model {
    let c = fit(points, &[0, 1]);
    let one = c[0] + c[1];
    Model {
        name: "amdahl",
        parameters: vec![("time_1_ns", one), ("serial_fraction", c[1] / one.max(1.0))],
        coefficients: c,
    }
}

/// The universal scalability law: T = T1/p (1 + s(p-1) + c p(p-1)).
fn usl(points: &Points) -> Model {
    let c = fit(points, &[0, 2, 3]);
    Model {
        name: "usl",
        parameters: vec![
            ("time_1_ns", c[0]),
            ("contention", c[2] / c[0].max(1.0)),
            ("coherency", c[3] / c[0].max(1.0)),
        ],
        coefficients: c,
    }
}

/// Least squares with coefficients that are not negative: the largest set of
/// `shapes` the points determine, else smaller ones, `shapes[0]` always in it.
fn fit(points: &Points, shapes: &[usize]) -> [f64; 4] {
    let equations: Vec<Equation> = points
        .iter()
        .map(|(threads, time)| {
            let p = f64::from((*threads).max(1));
            let all = [1.0 / p, 1.0, (p - 1.0) / p, p - 1.0];
            Equation {
                shapes: shapes.iter().map(|&shape| all[shape]).collect(),
                observed: *time,
                // Small enough that fit outweighs size: baselines are no
                // mixtures.
                sigma: 1e-4 * time.max(1.0),
            }
        })
        .collect();
    let mut priors = vec![Prior::Possible; shapes.len()];
    priors[0] = Prior::Certain;
    let mean = explain(&equations, &priors).mean(shapes.len());
    let mut coefficients = [0.0; 4];
    for (&shape, value) in shapes.iter().zip(mean) {
        coefficients[shape] = value;
    }
    coefficients
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(of: impl Fn(f64) -> f64) -> Vec<(u32, f64)> {
        [1, 2, 4, 8].map(|p| (p, of(f64::from(p)) * 1e9)).to_vec()
    }

    #[test]
    fn amdahl_finds_the_serial_fraction() {
        let model = amdahl(&times(|p| 0.1 + 0.9 / p));
        assert!((model.parameters[1].1 - 0.1).abs() < 1e-6);
        assert!((model.time(64) / 1e9 - (0.1 + 0.9 / 64.0)).abs() < 1e-6);
    }

    #[test]
    fn usl_finds_contention_and_coherency() {
        let law = |p: f64| (1.0 + 0.05 * (p - 1.0) + 0.01 * p * (p - 1.0)) / p;
        let model = usl(&times(law));
        assert!(
            (model.parameters[1].1 - 0.05).abs() < 1e-6,
            "{:?}",
            model.parameters
        );
        assert!((model.parameters[2].1 - 0.01).abs() < 1e-6);
    }

    #[test]
    fn one_point_is_enough_for_an_answer() {
        for baseline in all(&[(1, 1e9)], &[1, 4]) {
            assert!(
                baseline
                    .points
                    .iter()
                    .all(|(_, t)| t.is_finite() && *t > 0.0)
            );
            assert_eq!(baseline.validation_error, None);
        }
    }
}
