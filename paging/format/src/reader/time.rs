//! From a process's ticks to the recording's nanoseconds.

use crate::HostClock;
use fathomp_types::{Alignment, Clock, Ticks};

/// How the ticks of one process become times of the recording.
///
/// `time(t) = ` [`Clock::at`]`(t) + offset`, and no time is before 0. The same tick
/// gives the same nanoseconds as in the recording of regions, moved by the offset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Timeline {
    zero: u64,
    nanos_per_tick: f64,
    offset_ns: i64,
}

impl Timeline {
    pub(super) fn new(clock: &Clock, offset_ns: i64) -> Self {
        Self {
            zero: clock.zero.0,
            nanos_per_tick: clock.nanos_per_tick,
            offset_ns,
        }
    }

    /// The recording's time at a tick.
    #[inline]
    pub(super) fn at(&self, tick: Ticks) -> u64 {
        // A tick before the process's zero has a time, too, where another process
        // began earlier.
        let ticks = tick.0.abs_diff(self.zero);
        // As Clock::span rounds, without a call for it.
        let exact = ticks as f64 * self.nanos_per_tick;
        let whole = exact as u64;
        let ns = whole.saturating_add(u64::from(exact - whole as f64 >= 0.5));
        if tick.0 >= self.zero {
            ns.saturating_add_signed(self.offset_ns)
        } else {
            u64::try_from(self.offset_ns)
                .unwrap_or(0)
                .saturating_sub(ns)
        }
    }
}

/// What to add to times of `clock` to get those of `reference`, where both count
/// the same ticks.
pub(super) fn offset_of_ticks(clock: &Clock, reference: &Clock) -> i64 {
    let ticks = i128::from(clock.zero.0) - i128::from(reference.zero.0);
    (ticks as f64 * reference.nanos_per_tick).round() as i64
}

/// The same by the time of day, where they count different ticks.
pub(super) fn offset_of_day(clock: &Clock, reference: &Clock) -> i64 {
    let ns = i128::from(clock.zero_unix_ns) - i128::from(reference.zero_unix_ns);
    i64::try_from(ns).unwrap_or(0)
}

/// The clock of another host by which its ticks keep time with `reference`, what to add to its
/// times, and how far off that may be. `None` if the two were not compared.
pub(super) fn aligned(
    clock: &Clock,
    beside: &HostClock,
    reference: &Clock,
) -> Option<(Clock, i64, u64)> {
    let begin = beside.begin?;
    let rate = clock.nanos_per_tick / reference.nanos_per_tick;
    let rule = Alignment::new(&begin, beside.end.as_ref(), rate)?;
    let zero = Clock {
        zero: rule.moment(clock.zero),
        ..*clock
    };
    let clock = Clock {
        nanos_per_tick: rule.rate() * reference.nanos_per_tick,
        ..*clock
    };
    Some((clock, offset_of_ticks(&zero, reference), begin.error_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn times_are_those_of_the_clock(
            zero: u64, ticks: u64, shift in 0u32..64, nanos_per_tick in 1e-3..1e3,
        ) {
            let clock = Clock { zero: Ticks(zero), zero_unix_ns: 0, nanos_per_tick };
            let tick = Ticks(zero.saturating_add(ticks >> shift));
            let timeline = Timeline::new(&clock, 0);
            prop_assert_eq!(timeline.at(tick), clock.at(tick).0);
            let later = Timeline::new(&clock, 500);
            prop_assert_eq!(later.at(tick), clock.at(tick).0.saturating_add(500));
        }

        #[test]
        fn time_does_not_run_backwards(
            zero: u64, a: u64, b: u64, nanos_per_tick in 1e-3..1e3, offset_ns: i64,
        ) {
            let clock = Clock { zero: Ticks(zero), zero_unix_ns: 0, nanos_per_tick };
            let timeline = Timeline::new(&clock, offset_ns);
            let (early, late) = (Ticks(a.min(b)), Ticks(a.max(b)));
            prop_assert!(timeline.at(early) <= timeline.at(late));
        }
    }

    #[test]
    fn ticks_of_another_host_keep_time_with_the_first() {
        let reference = Clock {
            zero: Ticks(1_000),
            zero_unix_ns: 7_000,
            nanos_per_tick: 0.5,
        };
        // Its counter runs half as fast, and a thousandth slower than it says itself.
        let clock = Clock {
            zero: Ticks(700),
            zero_unix_ns: 9_999_999,
            nanos_per_tick: 1.0,
        };
        let reading = |first, here| fathomp_types::ClockReading {
            first,
            here,
            error_ns: 40,
        };
        let beside = HostClock {
            begin: Some(reading(3_000, 500)),
            end: Some(reading(3_000 + 2_002_000, 500 + 1_000_000)),
        };
        let (clock, offset_ns, error_ns) = aligned(&clock, &beside, &reference).unwrap();
        // Its tick 700 is the first's 3,400.
        assert_eq!((offset_ns, error_ns), (1_200, 40));
        let timeline = Timeline::new(&clock, offset_ns);
        assert_eq!(timeline.at(Ticks(700)), 1_200);
        assert_eq!(timeline.at(Ticks(500 + 1_000_000)), 1_002_000);
        assert_eq!(aligned(&clock, &HostClock::default(), &reference), None);
        let no_length = Clock {
            nanos_per_tick: 0.0,
            ..reference
        };
        assert_eq!(aligned(&clock, &beside, &no_length), None);
    }

    #[test]
    fn processes_of_one_machine_share_one_time() {
        let reference = Clock {
            zero: Ticks(1_000),
            zero_unix_ns: 7_000,
            nanos_per_tick: 0.5,
        };
        let clock = Clock {
            zero: Ticks(3_000),
            zero_unix_ns: 8_001,
            ..reference
        };
        assert_eq!(offset_of_ticks(&clock, &reference), 1_000);
        assert_eq!(offset_of_ticks(&reference, &clock), -1_000);
        assert_eq!(offset_of_day(&clock, &reference), 1_001);
        let timeline = Timeline::new(&clock, 1_000);
        assert_eq!(timeline.at(Ticks(3_000)), 1_000);
        assert_eq!(timeline.at(Ticks(2_000)), 500);
        assert_eq!(timeline.at(Ticks(0)), 0);
    }
}
