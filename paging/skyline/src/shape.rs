//! The shape of a profile: early, flat, or neither.

use crate::facts::{Shape, Window};
use crate::peaks::rate;

/// Counts below which nothing is said of a shape.
pub(crate) const COUNTS_MIN: u64 = 200;
/// Part of the counts that may lie in intervals too long to say when.
pub(crate) const VAGUE_MAX: f64 = 0.5;

/// By how much the part of counts has to be ahead of the part of time.
const AHEAD_MIN: f64 = 0.6;
/// Where the first counts have to be at the latest, for a burst to be at the start.
const START: f64 = 0.05;
/// Where the burst has to end at the latest.
const EARLY: f64 = 0.5;
/// Part of the mean rate that is next to nothing.
const OVER: f64 = 0.05;

/// Counts from which on a rate can be called constant.
const FLAT_COUNTS_MIN: u64 = 500;
/// Parts of the run that are compared.
const PARTS: usize = 32;
/// Relative deviation of these that still is constant.
const FLAT_MAX: f64 = 0.1;
/// Deviation of the cumulative profile from a straight line.
const STRAIGHT_MAX: f64 = 0.05;

/// The shape of counts per bin of the window, so large a part of which lies in intervals that say
/// little of when. Few intervals that are short say it well.
pub(crate) fn shape(counts: &[u64], vague_share: f64, window: &Window) -> Shape {
    let total: f64 = counts.iter().map(|count| *count as f64).sum();
    if total < COUNTS_MIN as f64 {
        return Shape::TooFew;
    }
    if vague_share > VAGUE_MAX {
        return Shape::Unknown;
    }
    early(counts, total, window)
        .or_else(|| flat(counts, total, window))
        .unwrap_or(Shape::Peaked)
}

/// The burst at the start: where the cumulative profile is furthest ahead of a straight
/// line. Few peaks at random times may be far ahead, too, but seldom begin at the start.
fn early(counts: &[u64], total: f64, window: &Window) -> Option<Shape> {
    let bins = counts.len() as f64;
    let first = counts.iter().position(|count| *count > 0)?;
    if first as f64 > START * bins {
        return None;
    }
    let mut sum = 0.0;
    let (mut furthest, mut share, mut until) = (0.0, 0.0, 0);
    for (bin, &count) in counts.iter().enumerate() {
        sum += count as f64;
        let ahead = sum / total - (bin + 1) as f64 / bins;
        if ahead > furthest {
            (furthest, share, until) = (ahead, sum / total, bin + 1);
        }
    }
    if furthest < AHEAD_MIN || until as f64 > EARLY * bins {
        return None;
    }
    let later_ns = (counts.len() - until) as f64 * window.bin_ns as f64;
    let later = rate((1.0 - share).max(0.0) * total, later_ns);
    Some(Shape::Early {
        share,
        by_ns: window.bin_begin_ns(until),
        later_per_second: later,
        is_over: later <= OVER * rate(total, window.ns() as f64),
    })
}

/// A constant rate: the cumulative profile is straight, and parts of the run deviate by no
/// more than random arrival explains and a tenth.
fn flat(counts: &[u64], total: f64, window: &Window) -> Option<Shape> {
    if total < FLAT_COUNTS_MIN as f64 || counts.len() < PARTS {
        return None;
    }
    let bins = counts.len() as f64;
    let straight = STRAIGHT_MAX + 1.36 / total.sqrt();
    let mut sum = 0.0;
    for (bin, &count) in counts.iter().enumerate() {
        sum += count as f64;
        if (sum / total - (bin + 1) as f64 / bins).abs() > straight {
            return None;
        }
    }
    let rates: Vec<f64> = (0..PARTS)
        .map(|part| {
            let (from, to) = (
                part * counts.len() / PARTS,
                (part + 1) * counts.len() / PARTS,
            );
            let sum: f64 = counts[from..to].iter().map(|count| *count as f64).sum();
            sum / (to - from) as f64
        })
        .collect();
    let mean = total / bins;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (PARTS - 1) as f64;
    // Random arrival gives a part as much variance as it holds counts.
    let by_chance = mean * PARTS as f64 / bins;
    let variation = (variance - by_chance).max(0.0).sqrt() / mean;
    // The estimate itself varies by chance: of few counts, more is allowed.
    let allowed = FLAT_MAX + (by_chance * 0.4).sqrt() / mean;
    (variation <= allowed).then(|| Shape::Flat {
        per_second: rate(total, window.ns() as f64),
        variation,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    fn of(counts: &[u64]) -> Shape {
        let window = Window {
            from_ns: 0,
            to_ns: counts.len() as u64 * 1_000_000,
            bin_ns: 1_000_000,
            bins: counts.len(),
            is_whole: true,
        };
        shape(counts, 0.0, &window)
    }

    fn scattered(bins: usize, number: usize, random: &mut StdRng) -> Vec<u64> {
        let mut counts = vec![0; bins];
        for _ in 0..number {
            counts[random.random_range(0..bins)] += 1;
        }
        counts
    }

    #[test]
    fn bursts_at_the_start_are_early() {
        let mut random = StdRng::seed_from_u64(1);
        let mut counts = scattered(4_000, 300, &mut random);
        for count in &mut counts[20..400] {
            *count += 10;
        }
        let Shape::Early {
            share,
            by_ns,
            later_per_second,
            is_over,
        } = of(&counts)
        else {
            panic!("{:?}", of(&counts));
        };
        assert!(share > 0.9 && by_ns == 400_000_000 && !is_over);
        assert!((later_per_second - 75.0).abs() < 15.0);
        counts[400..].fill(0);
        assert!(matches!(of(&counts), Shape::Early { is_over: true, share, .. } if share == 1.0));
        // The same in the middle is not at the start.
        counts.rotate_right(1_500);
        assert_eq!(of(&counts), Shape::Peaked);
    }

    #[test]
    fn random_arrival_at_a_constant_rate_is_flat() {
        let mut random = StdRng::seed_from_u64(2);
        for number in [600, 5_000, 400_000] {
            for _ in 0..20 {
                let found = of(&scattered(4_096, number, &mut random));
                let Shape::Flat { per_second, .. } = found else {
                    panic!("{number} {found:?}");
                };
                assert!((per_second / (number as f64 / 4.096) - 1.0).abs() < 1e-9);
            }
        }
        assert!(matches!(of(&[3; 4_096]), Shape::Flat { variation, .. } if variation == 0.0));
    }

    #[test]
    fn what_grows_or_comes_in_lumps_is_not_flat() {
        let growing: Vec<u64> = (0..4_096).map(|bin| bin / 400).collect();
        assert_eq!(of(&growing), Shape::Peaked);
        let mut random = StdRng::seed_from_u64(3);
        let lumps: Vec<u64> = scattered(4_096, 60, &mut random)
            .iter()
            .map(|n| n * 100)
            .collect();
        assert_eq!(of(&lumps), Shape::Peaked);
    }

    #[test]
    fn chance_is_seldom_early() {
        let mut random = StdRng::seed_from_u64(4);
        let early = (0..1_000).filter(|round| {
            let lumps = scattered(4_096, 1 + round % 12, &mut random);
            let counts: Vec<u64> = lumps.iter().map(|lump| lump * 500).collect();
            matches!(of(&counts), Shape::Early { .. })
        });
        let early = early.count();
        assert!(early <= 30, "{early} of 1000");
    }

    #[test]
    fn too_few_and_unknown_are_said_to_be() {
        assert_eq!(of(&[1; 102]), Shape::TooFew);
        assert_eq!(of(&[]), Shape::TooFew);
        let window = Window {
            from_ns: 0,
            to_ns: 100,
            bin_ns: 1,
            bins: 100,
            is_whole: true,
        };
        assert_eq!(shape(&[90; 100], 0.9, &window), Shape::Unknown);
        assert_ne!(shape(&[90; 100], 0.1, &window), Shape::Unknown);
    }
}
