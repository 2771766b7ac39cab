//! A cache, and how likely a line is still there after others were touched.

use serde::{Deserialize, Serialize};

/// A cache with least recently used lines replaced, or a translation buffer (whose lines
/// are pages).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// Bytes that it holds.
    pub bytes: u64,
    /// Bytes of a line.
    pub line: u32,
    /// Lines of a set; 0 if any line may lie anywhere.
    pub ways: u32,
}

impl Cache {
    /// A cache of lines of 64 bytes.
    #[must_use]
    pub fn new(bytes: u64, ways: u32) -> Self {
        Self {
            bytes,
            line: 64,
            ways,
        }
    }

    /// A translation buffer of so many pages of 4 KiB.
    #[must_use]
    pub fn pages(entries: u32, ways: u32) -> Self {
        Self {
            bytes: u64::from(entries) << 12,
            line: 1 << 12,
            ways,
        }
    }

    /// Lines that it holds.
    #[must_use]
    pub fn lines(&self) -> f64 {
        (self.bytes / u64::from(self.line.max(1))) as f64
    }

    /// Lines of a set.
    pub(crate) fn lines_of_set(&self) -> f64 {
        if self.ways == 0 {
            self.lines()
        } else {
            f64::from(self.ways).min(self.lines())
        }
    }

    /// Sets.
    pub(crate) fn sets(&self) -> f64 {
        (self.lines() / self.lines_of_set().max(1.0)).max(1.0)
    }

    /// The probability that a line of array `own` is still there, when since its last use
    /// what `between` says was touched, itself included.
    ///
    /// Contiguous lines fill all sets alike, so that a set gets the mean number of lines
    /// rounded up or down. Distances that share a factor with the number of sets use some
    /// sets only: the line's own array then certainly uses the line's set, another one
    /// perhaps. Arrays are taken as placed independently of each other.
    pub(crate) fn survival(&self, between: &[Piece], own: u32) -> f64 {
        let (sets, ways) = (self.sets(), self.lines_of_set());
        if ways < 1.0 {
            return 0.0;
        }
        let mut own_line_counted = false;
        let loads = between.iter().map(|piece| {
            let used = piece.used_sets(sets, f64::from(self.line.max(1)));
            let mut load = piece.lines / (sets * used);
            if piece.base != own {
                return (used, load);
            }
            if !own_line_counted {
                own_line_counted = true;
                load = load.max(1.0);
            }
            (1.0, load)
        });
        if ways <= EXACT_WAYS && between.len() <= EXACT_PIECES {
            at_most(ways as usize, loads)
        } else {
            let (mut mean, mut variance) = (0.0, VARIANCE_MIN);
            for (used, load) in loads {
                let up = load - load.floor();
                mean += used * load;
                variance += used * up * (1.0 - up) + used * (1.0 - used) * load * load;
            }
            normal((ways + 0.5 - mean) / variance.sqrt())
        }
    }
}

/// Sets and numbers of pieces for which every sum is looked at.
const EXACT_WAYS: f64 = 64.0;
const EXACT_PIECES: usize = 64;

/// The probability that lines of all pieces together are `most` at the most: each brings
/// its load, rounded up or down at random, with a probability, and otherwise none.
fn at_most(most: usize, loads: impl Iterator<Item = (f64, f64)>) -> f64 {
    let mut chances = vec![0.0; most + 1];
    chances[0] = 1.0;
    for (used, load) in loads {
        if load > (most + 1) as f64 && used >= 1.0 {
            return 0.0;
        }
        let (whole, up) = (load.floor(), load - load.floor());
        let whole = whole.min((most + 1) as f64) as usize;
        let mut next = vec![0.0; most + 1];
        for (lines, chance) in chances.iter().enumerate() {
            let mut add = |more: usize, share: f64| {
                if let Some(entry) = next.get_mut(lines + more) {
                    *entry += chance * share;
                }
            };
            add(0, 1.0 - used);
            add(whole, used * (1.0 - up));
            add(whole + 1, used * up);
        }
        chances = next;
    }
    chances.iter().sum::<f64>().min(1.0)
}

/// So that a set that is exactly full is no cliff.
const VARIANCE_MIN: f64 = 0.01;

/// Lines of one array that were touched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Piece {
    /// Number of the array.
    pub(crate) base: u32,
    /// Lines.
    pub(crate) lines: f64,
    /// Lines that lie side by side.
    pub(crate) run: f64,
    /// Bytes from one run to the next; 0 if there is one run.
    pub(crate) stride: f64,
}

impl Piece {
    /// The share of the sets that its lines fall into.
    fn used_sets(&self, sets: f64, line: f64) -> f64 {
        let lines = self.stride / line;
        if lines < 1.0 || lines.fract() != 0.0 || lines > 1e15 || sets.fract() != 0.0 {
            return 1.0;
        }
        let shared = gcd(lines as u64, sets as u64) as f64;
        (self.run.max(1.0) / shared).min(1.0)
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

/// The standard normal distribution (Abramowitz and Stegun 26.2.17, error below 1e-7).
fn normal(x: f64) -> f64 {
    if x.is_nan() {
        return 0.5;
    }
    let t = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let polynomial = t
        * (0.319_381_530
            + t * (-0.356_563_782
                + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    let tail = (-0.5 * x * x).exp() * 0.398_942_280_4 * polynomial;
    if x >= 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(base: u32, lines: f64) -> Piece {
        Piece {
            base,
            lines,
            run: lines,
            stride: 0.0,
        }
    }

    #[test]
    fn what_fits_stays_and_what_does_not_goes() {
        let cache = Cache::new(32 << 10, 8);
        assert!(cache.survival(&[run(0, 500.0)], 0) > 0.99);
        assert!(cache.survival(&[run(0, 600.0)], 0) < 0.01);
        assert!(cache.survival(&[run(0, 200.0), run(1, 200.0)], 0) > 0.99);
        assert_eq!(Cache::new(0, 8).survival(&[run(0, 1.0)], 0), 0.0);
    }

    #[test]
    fn a_column_of_a_power_of_two_falls_into_few_sets() {
        let cache = Cache::new(32 << 10, 8);
        let column = |stride: f64| Piece {
            base: 0,
            lines: 100.0,
            run: 1.0,
            stride,
        };
        assert!(cache.survival(&[column(4096.0)], 0) < 0.01);
        assert!(cache.survival(&[column(4096.0 + 64.0)], 0) > 0.99);
        assert!(cache.survival(&[run(1, 10.0), column(4096.0)], 1) > 0.9);
    }

    #[test]
    fn the_normal_distribution() {
        assert!((normal(0.0) - 0.5).abs() < 1e-6);
        assert!((normal(1.96) - 0.975).abs() < 1e-4);
        assert!(normal(-40.0) < 1e-9 && normal(f64::INFINITY) > 0.999);
    }
}
