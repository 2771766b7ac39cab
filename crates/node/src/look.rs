//! How often a thread flushes that waits for a plain variable and says so by
//! yielding.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Time between the first two flushes, and longest time between two.
const FIRST: Duration = Duration::from_micros(5);
const LONGEST: Duration = Duration::from_micros(500);
/// Gaps do not grow beyond so many times what a flush takes: it is cheap to look.
const SHARE: u32 = 20;

/// When a thread flushed last while it waited.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Operations of the node when it had.
    activity: u64,
    last: Instant,
    gap: Duration,
}

thread_local! {
    static WAITING: Cell<Option<Waiting>> = const { Cell::new(None) };
}

/// Flushes if it is time for that at this yield of the calling thread, `activity` being
/// the number of operations of its node. The gaps double while nothing else happens, so
/// that waiting takes at most about twice as long as it must.
pub(crate) fn flush_when_due(activity: u64, flush: impl FnOnce()) {
    let begun = Instant::now();
    let before = WAITING.get().filter(|waiting| waiting.activity == activity);
    let gap = match before {
        None => FIRST,
        Some(waiting) if begun.duration_since(waiting.last) < waiting.gap => return,
        Some(waiting) => waiting.gap * 2,
    };
    flush();
    let last = Instant::now();
    let longest = last.duration_since(begun) * SHARE;
    WAITING.set(Some(Waiting {
        // This flush is one more.
        activity: activity + 1,
        last,
        gap: gap.min(longest.clamp(FIRST, LONGEST)),
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap_after(activity: u64, flush: impl FnOnce()) -> Option<Duration> {
        let mut flushed = false;
        flush_when_due(activity, || {
            flush();
            flushed = true;
        });
        WAITING.get().map(|w| w.gap).filter(|_| flushed)
    }

    #[test]
    fn gaps_grow_until_something_happens() {
        let flush = || std::thread::sleep(FIRST * 2);
        assert_eq!(gap_after(7, flush), Some(FIRST));
        // The flush counted.
        std::thread::sleep(FIRST);
        assert_eq!(gap_after(8, flush), Some(FIRST * 2));
        assert_eq!(gap_after(20, flush), Some(FIRST));
        // At once is too early.
        WAITING.set(WAITING.get().map(|waiting| Waiting {
            gap: Duration::from_secs(1000),
            ..waiting
        }));
        assert_eq!(gap_after(21, flush), None);
    }

    #[test]
    fn they_do_not_grow_for_ever() {
        let mut longest = Duration::ZERO;
        for activity in 0..20 {
            WAITING.set(WAITING.get().map(|waiting| Waiting {
                last: waiting.last - LONGEST,
                ..waiting
            }));
            let gap = gap_after(activity, || std::thread::sleep(LONGEST));
            longest = longest.max(gap.unwrap());
        }
        assert_eq!(longest, LONGEST);
    }
}
