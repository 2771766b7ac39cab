//! How often to look, if looking takes longer than there is time for.

use std::time::Duration;

/// Looks by which it is judged whether the interval can be kept.
const LOOKS: u32 = 64;
/// Of these, so many may come late.
const LATE_MAX: u32 = 16;

/// Shortest interval of a sampler that chooses it by itself.
const OWN_MIN: Duration = Duration::from_millis(20);
/// It takes a part of a processor's time that is no more than one in so many,
const OWN_COST: u64 = 100;
/// and looks no oftener than so many times while the time since its begin doubles, about.
const OWN_LOOKS: u32 = 1000;

/// An interval that is chosen by what looking costs, and by how long the program has run: a
/// thousandth of a run is as good as can be seen in a picture of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OwnPace {
    looks: u64,
    spent_ns: u64,
}

impl OwnPace {
    /// A look took so much time of a processor.
    pub(super) fn looked(&mut self, cost_ns: u64) {
        self.looks += 1;
        self.spent_ns += cost_ns;
    }

    /// How long to wait for the next, so long after the first.
    pub(super) fn interval(&self, elapsed: Duration) -> Duration {
        let cost_ns = self.spent_ns / self.looks.max(1);
        let by_cost = Duration::from_nanos(cost_ns.saturating_mul(OWN_COST));
        by_cost.max(elapsed / OWN_LOOKS).max(OWN_MIN)
    }
}

/// An interval that is lengthened when it cannot be kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    asked: Duration,
    interval: Duration,
    looks: u32,
    late: u32,
}

impl Pace {
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            asked: interval,
            interval,
            looks: 0,
            late: 0,
        }
    }

    /// The interval as it is now.
    pub(super) fn interval(&self) -> Duration {
        self.interval
    }

    /// The interval that was asked for, if it could not be kept.
    pub(super) fn given_up(&self) -> Option<Duration> {
        (self.interval > self.asked).then_some(self.asked)
    }

    /// A look ended so long after it should have begun. Says how long to wait from the
    /// time when it should have begun until the next should.
    pub(super) fn looked(&mut self, after: Duration) -> Duration {
        self.looks += 1;
        self.late += u32::from(after > self.interval);
        if self.late > LATE_MAX {
            self.interval *= 2;
            (self.looks, self.late) = (0, 0);
        } else if self.looks >= LOOKS {
            (self.looks, self.late) = (0, 0);
        }
        // Looks that were missed are not made up for.
        let missed = after.as_nanos() / self.interval.as_nanos().max(1);
        let count = u32::try_from(missed).unwrap_or(u32::MAX).saturating_add(1);
        self.interval.saturating_mul(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn an_own_interval_follows_from_cost_and_time() {
        let mut pace = OwnPace::default();
        assert_eq!(pace.interval(Duration::ZERO), MS * 20);
        assert_eq!(pace.interval(Duration::from_secs(60)), MS * 60);
        for _ in 0..10 {
            pace.looked(300_000);
        }
        assert_eq!(pace.interval(Duration::from_secs(1)), MS * 30);
    }

    #[test]
    fn an_interval_that_is_kept_stays() {
        let mut pace = Pace::new(MS);
        for look in 0..1000 {
            // One look in ten comes late.
            let after = if look % 10 == 0 { MS * 3 / 2 } else { MS / 2 };
            let wait = pace.looked(after);
            assert_eq!(wait, if look % 10 == 0 { MS * 2 } else { MS });
        }
        assert_eq!((pace.interval(), pace.given_up()), (MS, None));
    }

    #[test]
    fn an_interval_that_cannot_be_kept_is_lengthened_until_it_can() {
        let mut pace = Pace::new(MS);
        for _ in 0..1000 {
            pace.looked(MS * 5);
        }
        assert_eq!((pace.interval(), pace.given_up()), (MS * 8, Some(MS)));
    }
}
