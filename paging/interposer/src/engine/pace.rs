//! When a thread's counters are read, which costs as much as several changes of state.
//!
//! Nothing has risen in a stay that is shorter than the cheapest page fault. What may have risen
//! in several such stays is read at the end of a later one, a few microseconds displaced.

use fathomp_sys::clock::{self, Pair};
use fathomp_types::Ticks;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Ticks of a nanosecond that are assumed before they could be measured: few, so that
/// rather too much is read than too little.
const TICKS_PER_NS_FIRST: u64 = 2;

/// Time after which the length of a tick is known to two or three digits.
const MEASURE_NS: u64 = 2_000_000;

/// When this process began to be recorded.
static BEGIN: OnceLock<(Pair, u64)> = OnceLock::new();

/// Ticks of the shortest stay whose counters are read.
static SHORTEST: AtomicU64 = AtomicU64::new(0);

/// Ticks after which that is to be computed from the length of a tick; never again if 0.
static MEASURE_AT: AtomicU64 = AtomicU64::new(0);

/// Stays shorter than `shortest_ns` are ended without reading counters.
pub(super) fn begin(shortest_ns: u64) {
    let pair = clock::pair();
    if BEGIN.set((pair, shortest_ns)).is_err() {
        return;
    }
    SHORTEST.store(
        shortest_ns.saturating_mul(TICKS_PER_NS_FIRST),
        Ordering::Relaxed,
    );
    // As if there were five ticks to a nanosecond: not too soon.
    MEASURE_AT.store(pair.ticks.0 + 5 * MEASURE_NS, Ordering::Relaxed);
}

/// Stays in calls are worth a reading at their end if they lasted so many times as long as
/// others must have: the thread was read when the call began, and most calls that end at once
/// touch no new page.
const CALLS: u64 = 2;

/// What is longer ago than this many of the shortest stays that are read is read again.
const LONG_AGO: u64 = 20;

/// The readings of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    last: Ticks,
}

impl Pace {
    /// Read last at that moment.
    pub(super) fn from(last: Ticks) -> Self {
        Self { last }
    }

    /// Whether to read at the end of a stay from `begin` to `end`, because the thread enters
    /// a call. If so, it is taken to be read now.
    #[inline]
    pub(super) fn reads_before_call(&mut self, begin: Ticks, end: Ticks) -> bool {
        self.reads(begin, end, shortest(end))
    }

    /// The same for a stay in a call.
    #[inline]
    pub(super) fn reads_after_call(&mut self, begin: Ticks, end: Ticks) -> bool {
        self.reads(begin, end, CALLS * shortest(end))
    }

    #[inline]
    fn reads(&mut self, begin: Ticks, end: Ticks, shortest: u64) -> bool {
        let long_ago = end.since(self.last).0 >= LONG_AGO * shortest;
        let reads = end.since(begin).0 >= shortest || long_ago;
        if reads {
            self.last = end;
        }
        reads
    }
}

/// Ticks of the shortest stay whose counters are read.
#[inline]
fn shortest(now: Ticks) -> u64 {
    let at = MEASURE_AT.load(Ordering::Relaxed);
    if at != 0 && now.0 > at {
        measure();
    }
    SHORTEST.load(Ordering::Relaxed)
}

#[cold]
fn measure() {
    MEASURE_AT.store(0, Ordering::Relaxed);
    let Some((begin, shortest_ns)) = BEGIN.get() else {
        return;
    };
    if let Some(nanos_per_tick) = begin.nanos_per_tick(&clock::pair()) {
        let ticks = *shortest_ns as f64 / nanos_per_tick;
        SHORTEST.store(ticks as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_stays_are_read_together() {
        // Not begun: every stay is long enough.
        let mut pace = Pace::from(Ticks(0));
        assert!(pace.reads_before_call(Ticks(10), Ticks(10)));
        let mut reads = |begin, end| pace.reads(Ticks(begin), Ticks(end), 100);
        assert!(!reads(10, 20));
        assert!(reads(20, 120));
        let often = (0..1000).filter(|step| reads(120 + step * 10, 130 + step * 10));
        // 10,000 ticks, once in 2,000.
        assert_eq!(often.count(), 5);
    }
}
