//! Executions as spans of time: whether they overlap, what they cover, how their lengths
//! are distributed.

use crate::facts::Spread;
use crate::sums::saturating_sum;

/// Whether executions by different threads overlap.
pub(crate) fn overlapping(spans: &[(u64, u64, (usize, usize))]) -> bool {
    let mut spans = spans.to_vec();
    spans.sort_unstable();
    let mut latest: Option<(u64, (usize, usize))> = None;
    for (from, to, thread) in spans {
        if latest.is_some_and(|(end, other)| from < end && other != thread) {
            return true;
        }
        if latest.is_none_or(|(end, _)| to > end) {
            latest = Some((to, thread));
        }
    }
    false
}

/// Time covered by at least one of these spans.
pub(crate) fn covered(mut spans: Vec<(u64, u64)>) -> u64 {
    spans.sort_unstable();
    let (mut covered, mut reached) = (0_u64, 0_u64);
    for (from, to) in spans {
        covered = covered.saturating_add(to.saturating_sub(from.max(reached)));
        reached = reached.max(to);
    }
    covered
}

/// Distribution of lengths, each the sum of a number of executions.
pub(crate) fn spread(lengths: &[(u64, u64)]) -> Spread {
    let mut sorted: Vec<(u64, u64)> = lengths
        .iter()
        .map(|&(sum, n)| (sum / n.max(1), n.max(1)))
        .collect();
    sorted.sort_unstable();
    let count = saturating_sum(sorted.iter().map(|(_, n)| *n));
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
        return Spread::default();
    };
    let sum_ns = saturating_sum(lengths.iter().map(|(sum, _)| *sum));
    let mut passed = 0_u64;
    let mut median_ns = first.0;
    for (ns, n) in &sorted {
        median_ns = *ns;
        passed = passed.saturating_add(*n);
        if passed >= count.div_ceil(2) {
            break;
        }
    }
    let mean = sum_ns as f64 / count as f64;
    let squares: f64 = sorted
        .iter()
        .map(|(ns, n)| (*ns as f64 - mean).powi(2) * *n as f64)
        .sum();
    Spread {
        count,
        sum_ns,
        min_ns: first.0,
        median_ns,
        max_ns: last.0,
        sd_ns: if count > 1 {
            (squares / (count - 1) as f64).sqrt()
        } else {
            0.0
        },
    }
}
