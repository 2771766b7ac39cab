//! The one that is unlike the others (Grubbs 1950).

use crate::facts::{Matrix, Unlike};
use fathomp_paging::TaskId;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Probability of naming one among equals.
const CHANCE: f64 = 0.01;
/// Mean similarity that the one lacks at least, to be worth a word.
const LACK_MIN: f64 = 0.1;

/// The place of the value that lies apart from the others, by Grubbs's test for one
/// outlier on either side; none if there are fewer than four.
pub(crate) fn outlier(values: &[f64]) -> Option<usize> {
    let number = values.len();
    if number < 4 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let n = number as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / (n - 1.0);
    let deviation = variance.sqrt();
    if deviation <= 1e-9 * mean.abs().max(1e-9) {
        return None;
    }
    let (place, furthest) = values
        .iter()
        .map(|value| (value - mean).abs() / deviation)
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    let t = StudentsT::new(0.0, 1.0, n - 2.0).ok()?;
    let t = t.inverse_cdf(1.0 - CHANCE / (2.0 * n));
    let critical = (n - 1.0) / n.sqrt() * (t * t / (n - 2.0 + t * t)).sqrt();
    (furthest > critical).then_some(place)
}

/// The task whose mean similarity with the others lies apart below theirs.
pub(crate) fn unlike(similarity: &Matrix, ids: &[TaskId]) -> Option<Unlike> {
    let tasks = similarity.tasks();
    let mut sums = vec![0.0; tasks];
    for ((one, other), value) in Matrix::pairs(tasks).zip(similarity.values()) {
        sums[one] += f64::from(*value);
        sums[other] += f64::from(*value);
    }
    let others = tasks.checked_sub(1).filter(|others| *others > 0)? as f64;
    let means: Vec<f64> = sums.iter().map(|sum| sum / others).collect();
    // Correlations are bounded; their hyperbolic tangents' arguments are not.
    let open: Vec<f64> = means
        .iter()
        .map(|mean| mean.clamp(-0.999, 0.999).atanh())
        .collect();
    let place = outlier(&open)?;
    let among_others = (sums.iter().sum::<f64>() - 2.0 * sums[place]) / (others * (others - 1.0));
    (means[place] + LACK_MIN < among_others).then_some(Unlike {
        task: *ids.get(place)?,
        similarity: means[place],
        others: among_others,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn one_apart_is_found() {
        assert_eq!(outlier(&[1.0, 1.1, 0.9, 1.0, 5.0]), Some(4));
        assert_eq!(outlier(&[1.0, -3.0, 1.05, 0.95, 1.0, 0.9, 1.1]), Some(1));
        assert_eq!(outlier(&[1.0, 1.0, 1.0, 1.0]), None);
        assert_eq!(outlier(&[1.0, 9.0, 1.0]), None);
        assert_eq!(outlier(&[1.0, f64::NAN, 1.0, 1.0]), None);
    }

    #[test]
    fn equals_are_seldom_told_apart() {
        let mut random = StdRng::seed_from_u64(9);
        let mut normal = || (0..12).map(|_| random.random::<f64>()).sum::<f64>();
        let named = (0..2_000).filter(|_| {
            let values: Vec<f64> = (0..8).map(|_| normal()).collect();
            outlier(&values).is_some()
        });
        let named = named.count();
        assert!(named <= 40, "{named} of 2000");
    }

    #[test]
    fn the_unlike_task_is_named_with_its_numbers() {
        let of = |one: usize, other: usize| if one == 3 || other == 3 { 0.2 } else { 0.8 };
        let values = Matrix::pairs(6).map(|(one, other)| of(one, other) + 0.01 * (one % 2) as f32);
        let matrix = Matrix::new(6, values.collect());
        let ids: Vec<TaskId> = (10..16).map(TaskId).collect();
        let found = unlike(&matrix, &ids).unwrap();
        assert_eq!(found.task, TaskId(13));
        assert!((found.similarity - 0.2).abs() < 0.02 && (found.others - 0.8).abs() < 0.02);
        let equal = Matrix::new(6, vec![0.8; 15]);
        assert_eq!(unlike(&equal, &ids), None);
    }
}
