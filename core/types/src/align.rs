//! Counters of ticks of different hosts, which have nothing to do with each other: moments of
//! one become those of the other.

use crate::Ticks;
use serde::{Deserialize, Serialize};

/// A rate that is this far from what the clocks themselves say is no drift.
const DRIFT_MAX: f64 = 0.01;

/// What the counters of ticks of two hosts showed at the same moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// That of the first host.
    pub first: u64,
    /// That of this one.
    pub here: u64,
    /// How far they may have been apart, in nanoseconds: half of the shortest time in which a
    /// question was answered.
    pub error_ns: u64,
}

/// How ticks of a host become those of the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alignment {
    here: u64,
    first: u64,
    /// Ticks there for one here.
    rate: f64,
}

impl Alignment {
    /// From readings at the begin and at the end; `rate`, ticks there for one here, holds if
    /// there is only one. `None` if that makes no sense.
    #[must_use]
    pub fn new(begin: &ClockReading, end: Option<&ClockReading>, rate: f64) -> Option<Self> {
        if !rate.is_finite() || rate <= 0.0 {
            return None;
        }
        let between = end.and_then(|end| {
            let here = end
                .here
                .checked_sub(begin.here)
                .filter(|ticks| *ticks > 0)?;
            let first = end.first.checked_sub(begin.first)?;
            Some(first as f64 / here as f64)
        });
        Some(Self {
            here: begin.here,
            first: begin.first,
            rate: between
                .filter(|between| (between / rate - 1.0).abs() < DRIFT_MAX)
                .unwrap_or(rate),
        })
    }

    /// Ticks of the first host for one of this.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// So many ticks of this host, in ticks of the first.
    #[must_use]
    pub fn length(&self, ticks: u64) -> u64 {
        (ticks as f64 * self.rate).round() as u64
    }

    /// What the first host's counter showed at a moment of this one's.
    #[must_use]
    pub fn moment(&self, at: Ticks) -> Ticks {
        Ticks(match at.0.checked_sub(self.here) {
            Some(after) => self.first.saturating_add(self.length(after)),
            None => self.first.saturating_sub(self.length(self.here - at.0)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(first: u64, here: u64) -> ClockReading {
        ClockReading {
            first,
            here,
            error_ns: 100,
        }
    }

    #[test]
    fn moments_are_those_of_the_first_host() {
        let rule = Alignment::new(&reading(1_000, 500_000), None, 2.0).unwrap();
        assert_eq!(rule.moment(Ticks(500_100)), Ticks(1_200));
        assert_eq!(rule.moment(Ticks(499_900)), Ticks(800));
        // Before the first host's counter began.
        assert_eq!(rule.moment(Ticks(1)), Ticks(0));
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Alignment::new(&reading(1, 1), None, rate), None);
        }
    }

    #[test]
    fn drift_is_what_two_readings_say_if_that_can_be() {
        let begin = reading(1_000_000, 0);
        let moment = |end, at| {
            let rule = Alignment::new(&begin, Some(&end), 1.0).unwrap();
            rule.moment(Ticks(at)).0
        };
        assert_eq!(moment(reading(2_000_100, 1_000_000), 500_000), 1_500_050);
        // The counter of a virtual machine that was moved begins anew.
        assert_eq!(moment(reading(9_000_000, 1_000_000), 500_000), 1_500_000);
        let rule = Alignment::new(&reading(5, 50), Some(&reading(1, 10)), 1.0).unwrap();
        assert_eq!(rule.rate(), 1.0);
    }
}
