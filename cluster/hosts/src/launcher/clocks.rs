//! How far the hosts' counters of ticks are apart.
//!
//! Each host is asked what its counter shows, again and again: in quick succession before the
//! program begins, then now and then, and when it has ended. Of a host that answers within `t`
//! the counter showed that at the middle, give or take half of `t` (Cristian, *Probabilistic
//! clock synchronization*, Distributed Computing 3, 1989).

use fathomp_sys::clock;
use fathomp_types::Ticks;
use std::time::{Duration, Instant};

/// Questions in quick succession.
const BURST: u32 = 16;
/// Of later answers, those count that took at most so many times the shortest time.
const SLOWER: u32 = 2;

/// What a host's counter showed at a moment of this one's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The counter here.
    pub launcher: Ticks,
    /// The counter there.
    pub host: Ticks,
    /// How far apart they may have been read.
    pub error: Duration,
}

/// Readings of one host.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clocks {
    asked: Option<(Instant, Ticks)>,
    answers: u32,
    /// The best of the first, and the last good one.
    pub(super) begin: Option<Reading>,
    pub(super) end: Option<Reading>,
}

impl Clocks {
    /// A question leaves now; `false` if another is under way.
    pub(super) fn ask(&mut self) -> bool {
        let idle = self.asked.is_none();
        if idle {
            self.asked = Some((Instant::now(), clock::now()));
        }
        idle
    }

    /// The answer has come. Whether to ask again at once.
    pub(super) fn hear(&mut self, host: Ticks) -> bool {
        let (now, at) = (Instant::now(), clock::now());
        let Some((sent, sent_at)) = self.asked.take() else {
            return false;
        };
        let half = Ticks(sent_at.0 + at.0.saturating_sub(sent_at.0) / 2);
        self.take(Reading {
            launcher: half,
            host,
            error: now.saturating_duration_since(sent) / 2,
        })
    }

    fn take(&mut self, reading: Reading) -> bool {
        self.answers = self.answers.saturating_add(1);
        let best = self.begin.map_or(reading.error, |begin| begin.error);
        if self.answers <= BURST {
            if reading.error <= best {
                self.begin = Some(reading);
            }
            return self.answers < BURST;
        }
        let last = self.end.map_or(best, |end| end.error.max(best));
        if reading.error <= last.max(best * SLOWER) {
            self.end = Some(reading);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(error_us: u64, host: u64) -> Reading {
        Reading {
            launcher: Ticks(host),
            host: Ticks(host),
            error: Duration::from_micros(error_us),
        }
    }

    #[test]
    fn the_quickest_of_the_first_and_the_last_quick_one_count() {
        let mut clocks = Clocks::default();
        for number in 1..u64::from(BURST) {
            assert!(clocks.take(reading(20 - number, number)));
        }
        assert!(!clocks.take(reading(50, 99)));
        assert_eq!(clocks.begin, Some(reading(5, 15)));
        for (error_us, host) in [(9, 100), (500, 101), (8, 102), (40, 103)] {
            assert!(!clocks.take(reading(error_us, host)));
        }
        assert_eq!(clocks.end, Some(reading(8, 102)));
    }

    #[test]
    fn one_question_is_under_way_at_a_time() {
        let mut clocks = Clocks::default();
        assert!(!clocks.hear(Ticks(1)));
        assert!(clocks.ask() && !clocks.ask());
        assert!(clocks.hear(Ticks(1)) && clocks.ask());
    }
}
