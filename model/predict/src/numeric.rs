//! Small numerics: least squares in a handful of unknowns, and averages over models.

use fathomp_stats::Random;
use fathomp_stats::linear::solve;

/// One equation: what each shape contributes per unit, what was observed, and
/// how uncertain that is.
#[derive(Clone, Debug)]
pub(crate) struct Equation {
    pub(crate) shapes: Vec<f64>,
    pub(crate) observed: f64,
    pub(crate) sigma: f64,
}

/// Coefficients of the shapes under every explanation that fits, with weights
/// that add up to 1.
#[derive(Clone, Debug)]
pub(crate) struct Explanations {
    pub(crate) weighted: Vec<(f64, Vec<f64>)>,
}

impl Explanations {
    /// The mean coefficients.
    pub(crate) fn mean(&self, shapes: usize) -> Vec<f64> {
        let mut mean = vec![0.0; shapes];
        for (weight, coefficients) in &self.weighted {
            for (sum, value) in mean.iter_mut().zip(coefficients) {
                *sum += weight * value;
            }
        }
        mean
    }

    /// One explanation, drawn by weight.
    pub(crate) fn draw(&self, random: &mut Random, shapes: usize) -> Vec<f64> {
        let mut left = random.uniform();
        for (weight, coefficients) in &self.weighted {
            left -= weight;
            if left <= 0.0 {
                return coefficients.clone();
            }
        }
        self.mean(shapes)
    }
}

/// How readily a shape is believed in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Prior {
    /// It is always there.
    Certain,
    /// It may be there.
    Possible,
    /// It may be there, also in place of the certain shapes: where these would have to be
    /// negative beside it, they are left out.
    Whole,
    /// It is believed if nothing else explains the measurements.
    Reluctant,
    /// There is evidence against it, though not proof: where it and another
    /// shape fit alike, it has a weight of 5 %.
    Unlikely,
    /// Where it and another shape fit alike, it is so many times as likely.
    Odds(f64),
}

impl Prior {
    /// What believing in such a shape adds to the score of an explanation.
    fn penalty(self) -> f64 {
        match self {
            Self::Certain | Self::Possible | Self::Whole => 0.0,
            Self::Reluctant => 4.0,
            Self::Unlikely => 6.0,
            Self::Odds(odds) => -2.0 * odds.max(f64::MIN_POSITIVE).ln(),
        }
    }
}

/// Explains the observations by every subset of shapes, the certain ones
/// always included, with coefficients that are not negative, and weighs the
/// subsets by fit and size (Akaike's criterion) and prior.
pub(crate) fn explain(equations: &[Equation], priors: &[Prior]) -> Explanations {
    let shapes = priors.len();
    let always: u32 = priors
        .iter()
        .enumerate()
        .filter(|(_, prior)| **prior == Prior::Certain)
        .map(|(index, _)| 1 << index)
        .sum();
    let mut found: Vec<(f64, Vec<f64>)> = Vec::new();
    for subset in 0..1_u32 << shapes {
        let size = subset.count_ones() as usize;
        if subset & always != always || size > equations.len().max(1) {
            continue;
        }
        let mut members: Vec<usize> = (0..shapes).filter(|i| subset >> i & 1 == 1).collect();
        let Some(mut solution) = least_squares(equations, &members) else {
            continue;
        };
        if members.iter().any(|&one| priors[one] == Prior::Whole) {
            let mut signs = solution.iter().map(|value| *value < 0.0);
            members.retain(|&one| signs.next() == Some(false) || priors[one] != Prior::Certain);
            if members.len() < solution.len() {
                let Some(rest) = least_squares(equations, &members) else {
                    continue;
                };
                solution = rest;
            }
        }
        if solution.iter().any(|value| *value < 0.0) {
            continue;
        }
        let mut coefficients = vec![0.0; shapes];
        for (member, value) in members.iter().zip(&solution) {
            coefficients[*member] = *value;
        }
        let misfit: f64 = equations
            .iter()
            .map(|equation| {
                let residual = equation.observed - dot(&equation.shapes, &coefficients);
                (residual / equation.sigma).powi(2)
            })
            .sum();
        let disbelief: f64 = members.iter().map(|&one| priors[one].penalty()).sum();
        let score = misfit + 2.0 * size as f64 + disbelief;
        found.push((score, coefficients));
    }
    let best = found
        .iter()
        .map(|(score, _)| *score)
        .fold(f64::MAX, f64::min);
    let mut sum = 0.0;
    for (score, _) in &mut found {
        *score = (-0.5 * (*score - best)).exp();
        sum += *score;
    }
    if found.is_empty() || !sum.is_finite() {
        return Explanations {
            weighted: vec![(1.0, vec![0.0; shapes])],
        };
    }
    for (weight, _) in &mut found {
        *weight /= sum;
    }
    Explanations { weighted: found }
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Weighted least squares in the shapes `members`, by the normal equations;
/// none if they do not determine a solution.
fn least_squares(equations: &[Equation], members: &[usize]) -> Option<Vec<f64>> {
    let n = members.len();
    // Columns are scaled to length one, so that a pivot near zero means that
    // the shapes cannot be told apart and not that they are small.
    let scale: Vec<f64> = members
        .iter()
        .map(|&member| {
            let column = equations.iter().map(|e| e.shapes[member] / e.sigma);
            column.map(|value| value * value).sum::<f64>().sqrt()
        })
        .collect();
    if scale
        .iter()
        .any(|scale| *scale <= 0.0 || !scale.is_finite())
    {
        return None;
    }
    let mut matrix = vec![vec![0.0; n + 1]; n];
    for equation in equations {
        let row: Vec<f64> = members
            .iter()
            .zip(&scale)
            .map(|(&member, scale)| equation.shapes[member] / equation.sigma / scale)
            .collect();
        let observed = equation.observed / equation.sigma;
        for i in 0..n {
            for j in 0..n {
                matrix[i][j] += row[i] * row[j];
            }
            matrix[i][n] += row[i] * observed;
        }
    }
    let solution = solve(matrix)?;
    Some(
        solution
            .iter()
            .zip(&scale)
            .map(|(x, scale)| x / scale)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn equation(shapes: &[f64], observed: f64) -> Equation {
        Equation {
            shapes: shapes.to_vec(),
            observed,
            sigma: 0.01,
        }
    }

    #[test]
    fn the_true_shapes_are_found() {
        let equations: Vec<Equation> = [1.0, 2.0, 4.0, 8.0]
            .map(|p| equation(&[1.0, 1.0 / p, p], 3.0 + 2.0 / p))
            .to_vec();
        let mean = explain(
            &equations,
            &[Prior::Certain, Prior::Possible, Prior::Possible],
        )
        .mean(3);
        assert!((mean[0] - 3.0).abs() < 0.05, "{mean:?}");
        assert!((mean[1] - 2.0).abs() < 0.05, "{mean:?}");
        assert!(mean[2] < 0.01, "{mean:?}");
    }

    #[test]
    fn shapes_that_cannot_be_told_apart_share_the_blame() {
        let equations = [equation(&[0.5, 0.25], 1.0)];
        let explanations = explain(&equations, &[Prior::Possible; 2]);
        let mean = explanations.mean(2);
        assert!((mean[0] - 1.0).abs() < 1e-3, "{mean:?}");
        assert!((mean[1] - 2.0).abs() < 1e-3, "{mean:?}");
    }

    #[test]
    fn what_may_be_all_leaves_nothing_of_the_certain() {
        // Grows slightly more than the second shape does.
        let equations = [equation(&[1.0, 1.0], 1.0), equation(&[0.5, 1.0], 1.004)];
        let priors = [Prior::Certain, Prior::Whole];
        let mean = explain(&equations, &priors).mean(2);
        assert!(mean[0] < 1e-6 && (mean[1] - 1.002).abs() < 1e-6, "{mean:?}");
        // One equation does not tell that.
        let mean = explain(&equations[..1], &priors).mean(2);
        assert!((mean[0] - 1.0).abs() < 1e-9 && mean[1] == 0.0, "{mean:?}");
    }

    #[test]
    fn normal_numbers_are_normal() {
        let mut random = Random(7);
        let values: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
        let mean = values.iter().sum::<f64>() / 20_000.0;
        let variance = values.iter().map(|v| v * v).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05);
    }

    proptest! {
        #[test]
        fn any_observations_give_finite_coefficients_and_whole_weights(
            rows in proptest::collection::vec(
                (proptest::collection::vec(-1e12..1e12_f64, 3), -1e12..1e12_f64, 1e-3..1e6_f64),
                0..6,
            ),
        ) {
            let equations: Vec<Equation> = rows
                .into_iter()
                .map(|(shapes, observed, sigma)| Equation { shapes, observed, sigma })
                .collect();
            let explanations = explain(&equations, &[Prior::Certain, Prior::Possible, Prior::Possible]);
            let sum: f64 = explanations.weighted.iter().map(|(w, _)| w).sum();
            prop_assert!((sum - 1.0).abs() < 1e-9);
            for value in explanations.mean(3) {
                prop_assert!(value.is_finite() && value >= 0.0);
            }
        }
    }
}
