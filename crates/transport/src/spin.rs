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
/// So a thread that got the processor back late sleeps for the next few times at once,
/// and for more of them if that happens again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offers {
    /// Times to wait without an offer.
    pass: u32,
    /// How often it came back late, less how often it did not for [`Self::EARLY`] times.
    late: u32,
    /// Offers in a row after which it came back early.
    early: u32,
}

impl Offers {
    const NONE: Self = Self {
        pass: 0,
        late: 0,
        early: 0,
    };
    /// Longer than this is late. A thread of ours that answers takes tens of
    /// microseconds, a program that computes takes milliseconds.
    const LATE_NS: u64 = 500_000;
    const EARLY: u32 = 8;
    /// At most 2 to the power of this many times without an offer.
    const LATE_MAX: u32 = 6;

    /// A thread begins to wait; whether it keeps the processor until it sleeps.
    fn keep(&mut self) -> bool {
        let keep = self.pass > 0;
        self.pass = self.pass.saturating_sub(1);
        keep
    }

    /// The processor came back. Whether it pays to offer it again.
    fn back_after(&mut self, took_ns: u64) -> bool {
        let late = took_ns > Self::LATE_NS;
        if late {
            self.early = 0;
            self.late = (self.late + 1).min(Self::LATE_MAX);
            self.pass = 1 << self.late;
        } else {
            self.early += 1;
            if self.early >= Self::EARLY {
                self.early = 0;
                self.late = self.late.saturating_sub(1);
            }
        }
        !late
    }
}

thread_local! {
    static OFFERS: Cell<Offers> = const { Cell::new(Offers::NONE) };
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
    let took_ns = monotonic_ns().saturating_sub(before_ns);
    with_offers(|offers| offers.back_after(took_ns))
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
            keeps: with_offers(Offers::keep),
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
        let mut offers = Offers::NONE;
        let kept = |offers: &mut Offers| (0..1000).filter(|_| offers.keep()).count();
        assert_eq!(kept(&mut offers), 0);
        let late = |offers: &mut Offers| {
            assert!(!offers.back_after(Offers::LATE_NS + 1));
            kept(offers)
        };
        assert_eq!([late(&mut offers), late(&mut offers)], [2, 4]);
        let many = (0..20).map(|_| late(&mut offers)).max();
        assert_eq!(many, Some(1 << Offers::LATE_MAX));
        // And offers it as before once it comes back early again.
        let early = Offers::EARLY * Offers::LATE_MAX;
        assert!((0..early).all(|_| offers.back_after(Offers::LATE_NS)));
        assert_eq!((kept(&mut offers), late(&mut offers)), (0, 2));
    }

    #[test]
    fn who_keeps_the_processor_looks_a_few_times_nevertheless() {
        with_offers(|offers| offers.pass = 2);
        for crowded in [false, true] {
            let mut spin = Spin::new(Duration::from_secs(1000), crowded);
            let looks = (1..).take_while(|_| spin.again()).count();
            assert_eq!(looks, Spin::EAGER as usize - 1);
        }
    }
}
