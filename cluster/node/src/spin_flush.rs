//! How often a thread flushes that waits for a plain variable and says so, by
//! yielding or by a branch of its loop.

use fathomp_sys::clock::monotonic_ns;
use fathomp_types::looking::{FIRST_NS, LONGEST_NS, SHARE};
use std::cell::Cell;

/// Time to the second look of a thread that looks again only if it waits for long.
const LATE_NS: u64 = 100_000;

/// When a thread flushed last while it waited.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Operations of the node when it had.
    activity: u64,
    last_ns: u64,
    gap_ns: u64,
}

thread_local! {
    static WAITING: Cell<Option<Waiting>> = const { Cell::new(None) };
}

/// When a thread looks for the second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Second {
    Soon,
    /// Only if it waits for long.
    Late,
}

/// Flushes if it is time for that when the calling thread says that it waits, `activity` being
/// the number of operations of its node. The gaps double while nothing else happens, so
/// that waiting takes at most about twice as long as it must. `flush` is told whether it is the first one, and
/// says whether it was an operation of the node.
pub(crate) fn flush_when_due(activity: u64, second: Second, flush: impl FnOnce(bool) -> bool) {
    let begun_ns = monotonic_ns();
    let before = WAITING.get().filter(|waiting| waiting.activity == activity);
    let gap_ns = match before {
        None if second == Second::Late => LATE_NS,
        None => FIRST_NS,
        Some(waiting) => {
            let due_ns = waiting.last_ns.saturating_add(waiting.gap_ns);
            if begun_ns < due_ns {
                return;
            }
            waiting.gap_ns * 2
        }
    };
    let begun_ns = monotonic_ns();
    let operations = u64::from(flush(before.is_none()));
    let last_ns = monotonic_ns();
    let longest_ns = last_ns.saturating_sub(begun_ns).saturating_mul(SHARE);
    WAITING.set(Some(Waiting {
        activity: activity + operations,
        last_ns,
        gap_ns: match before {
            None => gap_ns,
            Some(_) => gap_ns.min(longest_ns.clamp(FIRST_NS, LONGEST_NS)),
        },
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn gap_after(activity: u64, flush: impl FnOnce()) -> Option<u64> {
        let mut flushed = false;
        let flush = |_| {
            flush();
            flushed = true;
            true
        };
        flush_when_due(activity, Second::Soon, flush);
        WAITING.get().map(|w| w.gap_ns).filter(|_| flushed)
    }

    #[test]
    fn gaps_grow_until_something_happens() {
        let flush = || std::thread::sleep(Duration::from_nanos(2 * FIRST_NS));
        assert_eq!(gap_after(7, flush), Some(FIRST_NS));
        // The flush counted.
        std::thread::sleep(Duration::from_nanos(FIRST_NS));
        assert_eq!(gap_after(8, flush), Some(2 * FIRST_NS));
        assert_eq!(gap_after(20, flush), Some(FIRST_NS));
        // At once is too early.
        WAITING.set(WAITING.get().map(|waiting| Waiting {
            gap_ns: u64::MAX / 2,
            ..waiting
        }));
        assert_eq!(gap_after(21, flush), None);
    }

    #[test]
    fn they_do_not_grow_for_ever() {
        let mut longest_ns = 0;
        for activity in 0..20 {
            WAITING.set(WAITING.get().map(|waiting| Waiting {
                last_ns: waiting.last_ns - LONGEST_NS,
                ..waiting
            }));
            let gap = gap_after(activity, || {
                std::thread::sleep(Duration::from_nanos(LONGEST_NS))
            });
            longest_ns = longest_ns.max(gap.unwrap());
        }
        assert_eq!(longest_ns, LONGEST_NS);
    }
}
