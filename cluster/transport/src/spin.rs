//! How long to look for messages before sleeping.

use fathomp_sys::clock::monotonic_ns;
use fathomp_sys::process::yield_now;
use std::cell::Cell;
use std::time::Duration;

/// Bounds the time spent looking. With a processor for each thread, looking for
/// some tens of microseconds costs less than to sleep and be woken; where threads
/// share processors, each look offers the processor to the thread that is waited
/// for, as long as [that pays](Offers).
#[derive(Clone, Debug)]
pub struct Spin {
    limit_ns: u64,
    crowded: bool,
    /// Nothing is offered this time.
    keeps: bool,
    looks: u32,
    began_ns: u64,
}

/// What offering the processor has cost a thread lately.
///
/// The kernel takes an offer for a wish to come last: where other programs want the
/// processor as well, it comes back after tens of milliseconds, and whoever offers it at
/// each look does nothing else. Who sleeps and is woken comes first, after one or two.
/// So a thread that got the processor back late sleeps at once for a while: so much longer
/// than it went without that little of its time is lost so, if that goes on, and little is
/// lost by sleeping, if it was an accident.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Offers {
    /// Until then nothing is offered; 0 if something is.
    none_until_ns: u64,
}

impl Offers {
    /// Longer than this is late. A thread of ours that answers takes tens of
    /// microseconds, a program that computes takes milliseconds.
    const LATE_NS: u64 = 2_000_000;
    /// For so many times as long as it went without, a thread keeps the processor.
    const KEEP_FACTOR: u64 = 8;

    /// A thread begins to wait; whether it keeps the processor until it sleeps.
    fn keep(&mut self, now_ns: impl FnOnce() -> u64) -> bool {
        if self.none_until_ns > 0 && now_ns() >= self.none_until_ns {
            self.none_until_ns = 0;
        }
        self.none_until_ns > 0
    }

    /// The processor was offered at one time and came back at another. Whether it pays to
    /// offer it again.
    fn back(&mut self, before_ns: u64, now_ns: u64) -> bool {
        let took_ns = now_ns.saturating_sub(before_ns);
        let late = took_ns > Self::LATE_NS;
        if late {
            self.none_until_ns = now_ns.saturating_add(took_ns.saturating_mul(Self::KEEP_FACTOR));
        }
        !late
    }
}

thread_local! {
    static OFFERS: Cell<Offers> = const { Cell::new(Offers { none_until_ns: 0 }) };
}

/// Looks at what the calling thread knows of offers, or changes it.
fn with_offers<T>(look: impl FnOnce(&mut Offers) -> T) -> T {
    let mut offers = OFFERS.get();
    let seen = look(&mut offers);
    OFFERS.set(offers);
    seen
}

/// Offers the processor. Whether it pays to do so again.
#[cold]
fn offer() -> bool {
    let before_ns = monotonic_ns();
    yield_now();
    with_offers(|offers| offers.back(before_ns, monotonic_ns()))
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
            keeps: with_offers(|offers| offers.keep(monotonic_ns)),
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
        if self.keeps {
            return self.looks < Self::EAGER;
        }
        if self.crowded {
            return offer() && self.looks < Self::CROWDED_LOOKS;
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
        } else if !offer() {
            return false;
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
            assert!(spin.again() || crowded);
        }
    }

    #[test]
    fn who_gets_the_processor_back_late_keeps_it_for_a_while() {
        let mut offers = Offers::default();
        assert!(!offers.keep(|| unreachable!("nothing was late")));
        assert!(offers.back(1_000, 1_000 + Offers::LATE_NS) && !offers.keep(|| 2));
        let back_ns = 1_001 + Offers::LATE_NS;
        assert!(!offers.back(1_000, back_ns));
        let until_ns = back_ns + Offers::KEEP_FACTOR * (Offers::LATE_NS + 1);
        assert!(
            [back_ns, until_ns - 1]
                .iter()
                .all(|now| offers.keep(|| *now))
        );
        assert!(!offers.keep(|| until_ns) && !offers.keep(|| back_ns));
    }

    #[test]
    fn who_keeps_the_processor_looks_a_few_times_nevertheless() {
        with_offers(|offers| offers.none_until_ns = u64::MAX);
        for crowded in [false, true] {
            let mut spin = Spin::new(Duration::from_secs(1000), crowded);
            let looks = (1..).take_while(|_| spin.again()).count();
            assert_eq!(looks, Spin::EAGER as usize - 1);
        }
    }
}
