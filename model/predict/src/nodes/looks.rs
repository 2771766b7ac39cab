//! How late a thread sees a flag that it waits for.
//!
//! It flushes to look, and between two looks it lets time pass: little at first, twice as much
//! each time, so that what looks cost stays small beside the waiting. So the longer it has waited,
//! the later it sees the flag. The wave that fills a pipeline goes through all threads and comes
//! back: those that it reaches last have waited for all the hops before, and each is late by that
//! again.

use fathomp_types::looking;

const FIRST_NS: f64 = looking::FIRST_NS as f64;
const LONGEST_NS: f64 = looking::LONGEST_NS as f64;
const SHARE: f64 = looking::SHARE as f64;
/// Halvings by which a hop is sought: a nanosecond of a quarter of an hour.
const HALVINGS: u32 = 40;

/// Looks of threads that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Looks {
    /// What one takes.
    pub(super) flush_ns: f64,
    /// What of the time by which flags are seen late is there: all, but for threads that look more
    /// often than others do.
    pub(super) part: f64,
}

impl Looks {
    /// The gap in which it falls that a flag is set, if a thread has waited so long for it. Waits
    /// differ: it grows evenly from one gap to the next, and is as long as each as a mean.
    fn gap_ns(&self, waited_ns: f64) -> f64 {
        let longest_ns = (SHARE * self.flush_ns).clamp(FIRST_NS, LONGEST_NS);
        let (mut gap_ns, mut looked_ns) = (FIRST_NS, self.flush_ns);
        while gap_ns < longest_ns && looked_ns + gap_ns + self.flush_ns < waited_ns {
            looked_ns += gap_ns + self.flush_ns;
            gap_ns *= 2.0;
        }
        let into = (waited_ns - looked_ns) / (gap_ns + self.flush_ns);
        (gap_ns * (1.0 + into.clamp(0.0, 1.0)) / 1.5).min(longest_ns)
    }

    /// How late it is seen, as a mean of any time in a gap and the look before.
    fn late_ns(&self, waited_ns: f64) -> f64 {
        self.part * 0.5 * (self.gap_ns(waited_ns) + self.flush_ns)
    }

    /// What a wave takes to go through so many threads, one after the other, and back, if a hop
    /// takes so long beside what the next one is late. Those ahead wait from the beginning, and
    /// on the way back each since it was left.
    pub(super) fn wave_ns(&self, threads: usize, hop_ns: f64) -> f64 {
        let mut reached_ns = Vec::with_capacity(threads);
        let mut now_ns = 0.0;
        for _ in 0..threads {
            reached_ns.push(now_ns);
            now_ns += hop_ns;
            now_ns += self.late_ns(now_ns);
        }
        for left_ns in reached_ns.into_iter().rev() {
            now_ns += hop_ns;
            now_ns += self.late_ns(now_ns - left_ns);
        }
        now_ns
    }

    /// Such looks, and what a hop takes beside, if a wave through so many threads took so long.
    pub(super) fn of_wave(flush_ns: f64, threads: usize, wave_ns: f64) -> (Self, f64) {
        let all = Self {
            flush_ns,
            part: 1.0,
        };
        let least_ns = all.wave_ns(threads, 0.0);
        if wave_ns <= least_ns {
            let part = wave_ns / least_ns.max(1.0);
            return (Self { part, ..all }, 0.0);
        }
        let (mut low_ns, mut high_ns) = (0.0, wave_ns);
        for _ in 0..HALVINGS {
            let hop_ns = 0.5 * (low_ns + high_ns);
            match all.wave_ns(threads, hop_ns) > wave_ns {
                true => high_ns = hop_ns,
                false => low_ns = hop_ns,
            }
        }
        (all, 0.5 * (low_ns + high_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOKS: Looks = Looks {
        flush_ns: 10_000.0,
        part: 1.0,
    };

    #[test]
    fn who_has_waited_for_long_looks_seldom() {
        // Looks end after 10, 25, 45, 75, 125, 215 and 385 us, with gaps of 5, 10 and 20 between.
        let gaps_us = [25.0, 35.0, 45.0, 60.0, 1e6].map(|us| LOOKS.gap_ns(us * 1e3) * 1.5 / 1e3);
        assert_eq!(gaps_us, [10.0, 15.0, 20.0, 30.0, 300.0]);
        // Never more seldom than that.
        let slow = Looks {
            flush_ns: 1e6,
            ..LOOKS
        };
        assert_eq!(slow.gap_ns(1e9), LONGEST_NS);
        assert_eq!(Looks::default().gap_ns(1e9), FIRST_NS);
        assert_eq!(LOOKS.late_ns(1e9), 105_000.0);
    }

    #[test]
    fn a_wave_comes_late_to_each_again() {
        assert_eq!(LOOKS.wave_ns(0, 1e6), 0.0);
        // There, after a hop; and back, after that and another.
        assert_eq!(LOOKS.wave_ns(1, 1e6), 2.0 * (1e6 + 105_000.0));
        // Short ones are seen sooner by those who wait first.
        let [one_ns, six_ns] = [1, 6].map(|threads| LOOKS.wave_ns(threads, 5_000.0));
        assert!(six_ns > 9.0 * one_ns, "{one_ns} {six_ns}");
    }

    #[test]
    fn hops_are_what_is_left_of_a_wave() {
        let (looks, hop_ns) = Looks::of_wave(10_000.0, 3, LOOKS.wave_ns(3, 700_000.0));
        assert_eq!(looks, LOOKS);
        assert!((hop_ns - 700_000.0).abs() < 10.0, "{hop_ns}");
        // Threads that look all the time.
        let least_ns = LOOKS.wave_ns(3, 0.0);
        let (looks, hop_ns) = Looks::of_wave(10_000.0, 3, 0.25 * least_ns);
        assert_eq!((looks.part, hop_ns), (0.25, 0.0));
        assert_eq!(Looks::of_wave(0.0, 0, 0.0).0.wave_ns(4, 0.0), 0.0);
    }
}
