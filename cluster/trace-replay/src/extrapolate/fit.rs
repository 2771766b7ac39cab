//! Numbers as a law of a thread's number i among p: a + b i/p + c/p, by least
//! squares.
//!
//! Among such laws are the ends of a thread's part of an array (b is its length), of
//! its neighbours' parts (c moves them by one), of the whole array and of one page
//! (b and c are 0).

use fathomp_stats::linear::solve;

/// A law.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Law([f64; 3]);

/// What was observed of thread `i` among `p`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Observed {
    pub(super) i: f64,
    pub(super) p: f64,
    pub(super) value: f64,
}

/// Which of the laws are considered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// All.
    Thread,
    /// Those without i: of threads that have the same place among any number.
    Number,
}

impl Basis {
    fn terms(self, i: f64, p: f64) -> ([f64; 3], usize) {
        match self {
            Self::Thread => ([1.0, 1.0 / p, i / p], 3),
            Self::Number => ([1.0, 1.0 / p, 0.0], 2),
        }
    }

    /// How many observations leave something to be checked.
    pub(super) fn least(self) -> usize {
        match self {
            Self::Thread => 4,
            Self::Number => 3,
        }
    }
}

impl Law {
    /// The law that fits best; none if what was observed does not tell.
    pub(super) fn fit(observed: &[Observed], basis: Basis) -> Option<Self> {
        let (_, terms) = basis.terms(0.0, 1.0);
        let mut rows = vec![vec![0.0; terms + 1]; terms];
        for Observed { i, p, value } in observed {
            let (x, _) = basis.terms(*i, *p);
            for (row, of) in rows.iter_mut().zip(x) {
                for (sum, right) in row.iter_mut().zip(x[..terms].iter().chain([value])) {
                    *sum += of * right;
                }
            }
        }
        let mut law = [0.0; 3];
        law[..terms].copy_from_slice(&solve(rows)?);
        Some(Self(law))
    }

    pub(super) fn at(&self, i: f64, p: f64) -> f64 {
        let (x, _) = Basis::Thread.terms(i, p);
        self.0.iter().zip(x).map(|(law, x)| law * x).sum()
    }

    /// What a thread's part is long.
    pub(super) fn part(&self, p: f64) -> f64 {
        (self.0[2].abs() / p).max(self.0[1].abs() / p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(law: impl Fn(f64, f64) -> f64, numbers: &[u32]) -> Vec<Observed> {
        let threads = numbers
            .iter()
            .flat_map(|p| (0..*p).map(move |i| (f64::from(i), f64::from(*p))));
        threads
            .map(|(i, p)| Observed {
                i,
                p,
                value: law(i, p),
            })
            .collect()
    }

    #[test]
    fn the_end_of_a_part_is_found() {
        let end = |i: f64, p: f64| 100.0 + 640.0 * (i + 1.0) / p;
        let law = Law::fit(&observed(end, &[2, 4, 8]), Basis::Thread).unwrap();
        assert!((law.at(999.0, 1024.0) - end(999.0, 1024.0)).abs() < 1e-6);
        assert!((law.part(64.0) - 10.0).abs() < 1e-6);
    }

    #[test]
    fn one_number_of_threads_tells_nothing_about_others() {
        let constant = |_: f64, _: f64| 3.0;
        assert_eq!(Law::fit(&observed(constant, &[4]), Basis::Thread), None);
        assert_eq!(Law::fit(&[], Basis::Number), None);
    }
}
