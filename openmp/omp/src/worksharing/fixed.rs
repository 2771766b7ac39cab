//! Loops with a static schedule whose share compiled code asks for once and then runs alone.

use super::iterations::{Iterations, share};
use super::wanted::{Dealing, Loop};
use crate::observer;
use crate::team::Member;

/// What one of several is given of a loop with a static schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// Number of its first iteration.
    pub from: u64,
    /// Number of the iteration after its first chunk; no further than the loop's end.
    pub to: u64,
    /// Iterations from one chunk of its to the next.
    pub stride: u64,
    /// Whether the loop's last iteration is in one of its chunks.
    pub has_last: bool,
}

/// What `who` of `size` is given of `count` iterations: chunks of `chunk` in turn or, with
/// chunk 0, one share.
#[inline]
#[must_use]
pub fn fixed(count: u64, chunk: u64, who: u32, size: u32) -> Fixed {
    let (who, size) = (u64::from(who), u64::from(size.max(1)));
    if chunk == 0 {
        let (from, to) = share(count, who, size);
        return Fixed {
            from,
            to,
            stride: count,
            has_last: from < to && to == count,
        };
    }
    let from = chunk.saturating_mul(who).min(count);
    Fixed {
        from,
        to: from.saturating_add(chunk).min(count),
        stride: chunk.saturating_mul(size),
        has_last: count != 0 && (count - 1) / chunk % size == who,
    }
}

/// Iterations of each of `size` equal shares of whole vectors.
#[must_use]
pub fn equal_vectors(count: u64, size: u32, width: u64) -> u64 {
    let share = count.div_ceil(u64::from(size.max(1))).max(1);
    share.div_ceil(width.max(1)).saturating_mul(width.max(1))
}

/// Iterations in all chunks of `who`.
fn all_of(count: u64, chunk: u64, share: &Fixed) -> u64 {
    if chunk == 0 || share.from >= count {
        return share.to - share.from;
    }
    let rounds = (count - share.from).div_ceil(share.stride);
    let full = rounds.saturating_mul(chunk);
    let last_end = share.from + (rounds - 1) * share.stride + chunk;
    full - last_end.saturating_sub(count)
}

/// The member begins its share of a loop that was met at `call`; only a recording is
/// interested.
#[inline]
pub fn begin_fixed(
    member: &'static Member,
    iterations: Iterations,
    chunk: u64,
    share: &Fixed,
    call: usize,
) {
    if observer::is_there() {
        let wanted = Loop {
            iterations,
            dealing: Dealing::Static { chunk },
            ordered: false,
            sections: false,
            call,
        };
        let mine = all_of(iterations.count(), chunk, share);
        observer::fixed_loop(member, &wanted, mine);
    }
}

/// The member has run its share.
#[inline]
pub fn end_fixed(member: &'static Member) {
    observer::left_loop(member);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shares_of_loops_of_vectors_are_whole_vectors() {
        assert_eq!(equal_vectors(27, 2, 4), 16);
        assert_eq!(equal_vectors(32, 2, 8), 16);
        assert_eq!(equal_vectors(1, 8, 1), 1);
    }

    proptest! {
        #[test]
        fn everybody_together_runs_everything_once(count in 0_u64..300, chunk in 0_u64..9, size in 1_u32..7) {
            let mut seen = vec![0; count as usize];
            let mut last = 0;
            for who in 0..size {
                let mine = fixed(count, chunk, who, size);
                let mut total = 0;
                let (mut from, mut to) = (mine.from, mine.to);
                let mut has_last = false;
                while from < count && from < to {
                    for number in from..to {
                        seen[number as usize] += 1;
                        has_last |= number + 1 == count;
                    }
                    total += to - from;
                    from += mine.stride;
                    if chunk == 0 {
                        break;
                    }
                    to = (from + chunk).min(count);
                }
                prop_assert_eq!(total, all_of(count, chunk, &mine));
                prop_assert_eq!(has_last, mine.has_last);
                last += u32::from(mine.has_last);
            }
            prop_assert!(seen.iter().all(|&times| times == 1));
            prop_assert_eq!(last, u32::from(count > 0));
        }
    }
}
