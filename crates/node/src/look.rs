//! How often a thread flushes that waits for a plain variable and says so by
//! yielding.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Time between the first two flushes, and longest time between two.
const FIRST: Duration = Duration::from_micros(5);
const LONGEST: Duration = Duration::from_micros(500);

/// When a thread flushed last while it waited.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Operations of the node when it did.
    activity: u64,
    last: Instant,
    gap: Duration,
}

thread_local! {
    static WAITING: Cell<Option<Waiting>> = const { Cell::new(None) };
}

/// Whether the calling thread should flush at this yield, `activity` being the
/// number of operations of its node. The gaps double while nothing else happens,
/// so that waiting takes at most about twice as long as it must.
pub(crate) fn is_due(activity: u64) -> bool {
    let now = Instant::now();
    let before = WAITING.get().filter(|waiting| waiting.activity == activity);
    let (due, gap) = match before {
        None => (true, FIRST),
        Some(waiting) => (
            now.duration_since(waiting.last) >= waiting.gap,
            (waiting.gap * 2).min(LONGEST),
        ),
    };
    if due {
        WAITING.set(Some(Waiting {
            // The flush that follows is one more.
            activity: activity + 1,
            last: now,
            gap,
        }));
    }
    due
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_grow_until_something_happens() {
        assert!(is_due(7));
        // The flush counted; at once is too early.
        assert!(!is_due(8));
        std::thread::sleep(FIRST);
        assert!(is_due(8));
        assert_eq!(WAITING.get().map(|waiting| waiting.gap), Some(FIRST * 2));
        assert!(is_due(20));
        assert_eq!(WAITING.get().map(|waiting| waiting.gap), Some(FIRST));
    }
}
