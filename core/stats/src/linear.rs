//! A few linear equations.

/// A pivot this small means that the equations do not determine a solution.
const SINGULAR: f64 = 1e-9;

/// Solves linear equations, each a row with its right side behind it, by Gauss's elimination
/// with pivoting; none if they do not determine a solution.
///
/// # Panics
/// If a row has not one value more than there are rows.
#[must_use]
pub fn solve(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let n = rows.len();
    assert!(rows.iter().all(|row| row.len() == n + 1), "a square system");
    for column in 0..n {
        let pivot =
            (column..n).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
        if rows[pivot][column].abs() < SINGULAR || !rows[pivot][column].is_finite() {
            return None;
        }
        rows.swap(column, pivot);
        let pivot_row = rows[column].clone();
        for (index, row) in rows.iter_mut().enumerate() {
            if index != column {
                let factor = row[column] / pivot_row[column];
                for (value, pivot) in row.iter_mut().zip(&pivot_row) {
                    *value -= factor * pivot;
                }
            }
        }
    }
    Some((0..n).map(|i| rows[i][n] / rows[i][i]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_are_solved_in_any_order() {
        let rows = vec![vec![0.0, 2.0, 4.0], vec![3.0, 1.0, 5.0]];
        assert_eq!(solve(rows), Some(vec![1.0, 2.0]));
    }

    #[test]
    fn equations_that_say_the_same_have_no_solution() {
        let rows = vec![vec![1.0, 2.0, 3.0], vec![2.0, 4.0, 6.0]];
        assert_eq!(solve(rows), None);
        assert_eq!(solve(vec![vec![f64::NAN, 1.0]]), None);
        assert_eq!(solve(Vec::new()), Some(Vec::new()));
    }
}
