//! The tick counter every time stamp of a recording comes from.
//!
//! Where the processor's counter runs at a constant rate and never stops, a
//! time stamp is one instruction; elsewhere it is a nanosecond of
//! `CLOCK_MONOTONIC`. Ticks of all processes of a machine compare.

use fathomp_types::Ticks;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

#[cfg(target_arch = "x86_64")]
#[path = "clock/x86_64.rs"]
mod counter;
#[cfg(not(target_arch = "x86_64"))]
#[path = "clock/portable.rs"]
mod counter;

/// What a tick is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Source {
    /// The processor's own counter.
    Processor = 1,
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    Monotonic = 2,
}

/// The source chosen, 0 before the first reading.
static SOURCE: AtomicU8 = AtomicU8::new(0);

/// The present moment.
#[inline]
#[must_use]
pub fn now() -> Ticks {
    match SOURCE.load(Ordering::Relaxed) {
        1 => Ticks(counter::read()),
        2 => Ticks(monotonic_ns()),
        _ => first(),
    }
}

#[cold]
fn first() -> Ticks {
    match source() {
        Source::Processor => Ticks(counter::read()),
        Source::Monotonic => Ticks(monotonic_ns()),
    }
}

/// Where ticks come from in this process.
#[must_use]
pub fn source() -> Source {
    let chosen = if counter::is_constant() {
        Source::Processor
    } else {
        Source::Monotonic
    };
    SOURCE.store(chosen as u8, Ordering::Relaxed);
    chosen
}

/// The same moment on both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// On the tick counter.
    pub ticks: Ticks,
    /// On `CLOCK_MONOTONIC`, in nanoseconds.
    pub monotonic_ns: u64,
}

/// Reads both clocks as close together as can be had: the tightest of a few
/// tries, because a try may be interrupted.
#[must_use]
pub fn pair() -> Pair {
    let attempt = || {
        let before = now();
        let monotonic_ns = monotonic_ns();
        let width = now().since(before).0;
        let pair = Pair {
            ticks: Ticks(before.0 + width / 2),
            monotonic_ns,
        };
        (width, pair)
    };
    let mut best = attempt();
    for _ in 0..7 {
        let next = attempt();
        if next.0 < best.0 {
            best = next;
        }
    }
    best.1
}

impl Pair {
    /// Length of a tick in nanoseconds, from this moment and a later one.
    /// `None` if they are too close together to tell.
    #[must_use]
    pub fn nanos_per_tick(&self, later: &Self) -> Option<f64> {
        let ticks = later.ticks.since(self.ticks).0;
        let nanos = later.monotonic_ns.saturating_sub(self.monotonic_ns);
        (ticks >= 1000 && nanos >= 1000).then(|| nanos as f64 / ticks as f64)
    }
}

/// Measures the length of a tick for about `period`, busily. A hundred
/// microseconds give three to four digits.
#[must_use]
pub fn measure(from: &Pair, period: Duration) -> f64 {
    if source() != Source::Processor {
        return 1.0;
    }
    let target = from
        .monotonic_ns
        .saturating_add(u64::try_from(period.as_nanos()).unwrap_or(u64::MAX));
    while monotonic_ns() < target {
        std::hint::spin_loop();
    }
    from.nanos_per_tick(&pair()).unwrap_or(1.0)
}

/// `CLOCK_MONOTONIC` in nanoseconds.
#[must_use]
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// Processor time of the calling thread in nanoseconds.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Wall-clock time in nanoseconds since the Unix epoch.
#[must_use]
pub fn unix_ns() -> u64 {
    clock_ns(libc::CLOCK_REALTIME)
}

/// Resolution of `CLOCK_MONOTONIC` in nanoseconds.
#[must_use]
pub fn monotonic_resolution_ns() -> u64 {
    let mut step = libc::timespec {
        tv_sec: 0,
        tv_nsec: 1,
    };
    // SAFETY: as in `clock_ns`.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC, &raw mut step) };
    (step.tv_nsec as u64).max(1)
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid, writable timespec for the duration of the
    // call. The clocks used exist on every Linux, so the call cannot fail;
    // if it did, `time` stays zero.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    (time.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_do_not_run_backwards_on_one_thread() {
        let mut last = now();
        for _ in 0..10_000 {
            let next = now();
            assert!(next >= last);
            last = next;
        }
    }

    #[test]
    fn the_measured_tick_agrees_with_the_monotonic_clock() {
        let from = pair();
        let rough = measure(&from, Duration::from_millis(1));
        std::thread::sleep(Duration::from_millis(20));
        let fine = from.nanos_per_tick(&pair()).unwrap();
        assert!((rough / fine - 1.0).abs() < 0.05, "{rough} and {fine}");
    }

    #[test]
    fn moments_too_close_give_no_rate() {
        let moment = Pair {
            ticks: Ticks(10),
            monotonic_ns: 10,
        };
        assert_eq!(moment.nanos_per_tick(&moment), None);
    }
}
