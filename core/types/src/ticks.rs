//! Time: raw counter ticks as recorded, nanoseconds as shown.

use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

/// A reading of the machine's monotonic tick counter, or a difference of two.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Ticks(pub u64);

/// A duration in nanoseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Ticks {
    /// Ticks from `earlier` to `self`; zero if the counter seems to run
    /// backwards (two sockets may disagree by a few ticks).
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl Nanos {
    /// This duration in seconds.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }
}

macro_rules! arithmetic {
    ($name:ident) => {
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }
        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }
        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }
        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
                iter.fold(Self(0), Add::add)
            }
        }
    };
}
arithmetic!(Ticks);
arithmetic!(Nanos);

/// How to turn the ticks of one process into nanoseconds.
///
/// `ns(t) = (t - zero) * nanos_per_tick`, relative to `zero`, the tick at
/// which the process started recording; `zero_unix_ns` places it in wall time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Tick that counts as time zero.
    pub zero: Ticks,
    /// Wall-clock time at `zero`, nanoseconds since the Unix epoch.
    pub zero_unix_ns: u64,
    /// Length of a tick in nanoseconds.
    pub nanos_per_tick: f64,
}

impl Clock {
    /// A clock whose ticks are nanoseconds.
    pub const NANOS: Self = Self {
        zero: Ticks(0),
        zero_unix_ns: 0,
        nanos_per_tick: 1.0,
    };

    /// Time of the reading `at`, relative to [`Clock::zero`].
    #[must_use]
    pub fn at(&self, at: Ticks) -> Nanos {
        self.span(at.since(self.zero))
    }

    /// Length of `ticks` in nanoseconds.
    #[must_use]
    pub fn span(&self, ticks: Ticks) -> Nanos {
        Nanos((ticks.0 as f64 * self.nanos_per_tick).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_runs_backwards_gives_zero() {
        assert_eq!(Ticks(5).since(Ticks(9)), Ticks(0));
    }

    #[test]
    fn ticks_become_nanoseconds_from_zero() {
        let clock = Clock {
            zero: Ticks(100),
            zero_unix_ns: 0,
            nanos_per_tick: 0.5,
        };
        assert_eq!(clock.at(Ticks(300)), Nanos(100));
        assert_eq!(clock.at(Ticks(50)), Nanos(0));
    }
}
