//! How long to look for messages before sleeping.

use fathomp_sys::clock::monotonic_ns;
use fathomp_sys::process::yield_now;
use std::time::Duration;

/// Bounds the time spent looking. With a processor for each thread, looking for
/// some tens of microseconds costs less than to sleep and be woken; where threads
/// share processors, each look offers the processor to the thread that is waited
/// for.
#[derive(Clone, Debug)]
pub struct Spin {
    limit_ns: u64,
    crowded: bool,
    looks: u32,
    began_ns: u64,
}

impl Spin {
    /// Looks done back to back before each is followed by a pause: an answer
    /// from another core can take less time than a pause.
    const EAGER: u32 = 64;
    /// Looks between two readings of the clock, or two offers of the processor
    /// to programs that keep the thread that is waited for from running.
    const STRIDE: u32 = 64;
    /// Looks where threads share processors: by then all others have been
    /// offered the processor many times.
    const CROWDED_LOOKS: u32 = 32;

    /// Looks for at most about `limit`. `crowded` says that there are more
    /// threads at work than processors.
    #[must_use]
    pub fn new(limit: Duration, crowded: bool) -> Self {
        Self {
            limit_ns: u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX),
            crowded,
            looks: 0,
            began_ns: 0,
        }
    }

    /// Something was found: starts anew.
    #[inline]
    pub fn reset(&mut self) {
        self.looks = 0;
    }

    /// Nothing was found: rests a little. Says whether to look again; if not, it
    /// is time to sleep.
    #[inline]
    #[must_use]
    pub fn again(&mut self) -> bool {
        self.looks = self.looks.saturating_add(1);
        if self.crowded {
            yield_now();
            return self.looks < Self::CROWDED_LOOKS;
        }
        if self.looks < Self::EAGER {
            return true;
        }
        std::hint::spin_loop();
        !self.looks.is_multiple_of(Self::STRIDE) || self.is_early()
    }

    #[cold]
    fn is_early(&mut self) -> bool {
        let now_ns = monotonic_ns();
        if self.looks == Self::EAGER {
            self.began_ns = now_ns;
        } else {
            yield_now();
        }
        now_ns.saturating_sub(self.began_ns) < self.limit_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_ends() {
        for crowded in [false, true] {
            let mut spin = Spin::new(Duration::from_micros(20), crowded);
            let mut looks = 0_u64;
            while spin.again() {
                looks += 1;
                assert!(looks < 1 << 30);
            }
            spin.reset();
            assert!(spin.again());
        }
    }
}
