//! Waiting for a critical section or lock, as a closed queue.
//!
//! `p` threads alternate between work outside the section and a passage
//! through it, one at a time. One number says how long they wait for any `p`:
//! the fraction of application time spent inside the section. With few threads
//! hardly anyone waits; with more than the reciprocal of that fraction,
//! everyone stands in line. In between it depends on how regular the passages
//! are: mean value analysis has the wait if they come at random
//! ([`wait_ratio`]); if each thread always comes at its moment, no one waits
//! before the section is full ([`regular_wait_ratio`]).

/// Mean wait per thread over mean application time per thread, for a team of
/// `threads` that spends the fraction `inside` of its application time in the
/// section.
pub(super) fn wait_ratio(inside: f64, threads: f64) -> f64 {
    let inside = inside.clamp(0.0, 1.0);
    if inside <= 0.0 || threads <= 1.0 {
        return 0.0;
    }
    let whole = threads.floor();
    let below = ratio_of_whole(inside, whole as u32);
    if threads > whole {
        let above = ratio_of_whole(inside, whole as u32 + 1);
        below + (above - below) * (threads - whole)
    } else {
        below
    }
}

/// The same where passages are regular.
pub(super) fn regular_wait_ratio(inside: f64, threads: f64) -> f64 {
    (inside * threads - 1.0).max(0.0)
}

/// The fraction inside that makes `threads` regular threads wait `ratio` times
/// their application time.
pub(super) fn regular_inside_from_ratio(ratio: f64, threads: f64) -> f64 {
    if ratio > 0.0 && threads > 1.0 {
        ((ratio + 1.0) / threads).min(1.0)
    } else {
        0.0
    }
}

/// How many times likelier a wait of `ratio` is from regular passages than from
/// random ones, at most 1, if any fraction inside is as likely as another: the
/// density of the ratio is `1/p` for the former, `1/(2 sqrt(r (p - 1)))` where
/// it is small for the latter. A team that hardly waits would have to be at the
/// very edge of standing in line.
pub(super) fn regular_odds(ratio: f64, threads: f64) -> f64 {
    if ratio > 0.0 && threads > 1.0 {
        (2.0 * (ratio * (threads - 1.0)).sqrt() / threads).min(1.0)
    } else {
        0.0
    }
}

/// Exact mean value analysis with a cycle of length 1, `inside` of it served.
fn ratio_of_whole(inside: f64, threads: u32) -> f64 {
    let outside = 1.0 - inside;
    let mut in_line = 0.0;
    let mut passage = inside;
    // Beyond this the line only grows by `inside` per thread.
    let exact = threads.min(4096);
    for n in 1..=exact {
        passage = inside * (1.0 + in_line);
        let rate = f64::from(n) / (outside + passage);
        in_line = rate * passage;
    }
    passage += inside * f64::from(threads - exact);
    outside + passage - 1.0
}

/// The fraction inside the section that makes `threads` threads wait `ratio`
/// times their application time.
pub(super) fn inside_from_ratio(ratio: f64, threads: f64) -> f64 {
    if ratio.is_nan() || ratio <= 0.0 || threads <= 1.0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if wait_ratio(middle, threads) < ratio {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_forms_when_the_section_is_busy_all_the_time() {
        // Half the time inside: two threads keep the section nearly busy, and
        // eight need four times as long as the ideal.
        let ratio = wait_ratio(0.5, 8.0);
        assert!((ratio - 3.0).abs() < 0.1, "{ratio}");
        assert_eq!(wait_ratio(0.5, 1.0), 0.0);
        assert_eq!(wait_ratio(0.0, 64.0), 0.0);
    }

    #[test]
    fn a_team_that_hardly_waits_does_not_stand_in_line() {
        assert_eq!(regular_odds(0.0, 2.0), 0.0);
        assert!(regular_odds(1e-4, 2.0) < 0.011);
        assert_eq!(regular_odds(1.0, 2.0), 1.0);
        assert_eq!(regular_odds(7.0, 8.0), 1.0);
    }

    proptest! {
        #[test]
        fn the_fraction_is_recovered(inside in 0.001..0.999_f64, threads in 2..64_u32) {
            let ratio = wait_ratio(inside, f64::from(threads));
            let back = inside_from_ratio(ratio, f64::from(threads));
            prop_assert!((back - inside).abs() < 1e-6, "{back} {inside}");
        }

        #[test]
        fn more_threads_wait_longer(inside in 0.0..1.0_f64, threads in 1.0..100.0_f64) {
            prop_assert!(wait_ratio(inside, threads) <= wait_ratio(inside, threads + 1.0) + 1e-12);
        }
    }
}
