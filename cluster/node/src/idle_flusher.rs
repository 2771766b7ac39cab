//! When a node's threads have not been heard of for a while.
//!
//! A thread that waits for a plain variable never enters the runtime and has no
//! faults, and a copy of the variable's page stays valid as long as nobody
//! flushes. So the service thread flushes now and then. That makes pages that are
//! being written trap again and sends home what will be written again: so it is
//! not done while threads move through memory, more and more rarely while a
//! thread computes, and rarely at all if the program seems to have no loop that
//! waits.

use crate::waits::Waits;
use fathomp_types::ThreadId;
use std::time::{Duration, Instant};

/// Time without a fault or an operation until the first flush, and longest time
/// between two.
const FLUSH_INTERVAL_MIN: Duration = Duration::from_millis(20);
const FLUSH_INTERVAL_MAX: Duration = Duration::from_secs(1);

/// Time between two looks.
pub(crate) const REST: Duration = Duration::from_millis(10);

/// A thread, and since when it has been doing the same.
#[derive(Clone, Copy, Debug)]
struct Watched {
    asked: u32,
    since: Instant,
    patience: Duration,
}

/// Watches what threads ask for.
#[derive(Debug)]
pub(crate) struct IdleFlusher {
    first: Duration,
    /// By number.
    threads: Vec<Option<Watched>>,
    /// Operations of the node, and since when there was none: threads that have
    /// faults all the time may have written what another node waits for.
    operations: u64,
    since: Instant,
}

impl IdleFlusher {
    pub(crate) fn new(waits: Waits) -> Self {
        Self {
            first: match waits {
                Waits::Never => FLUSH_INTERVAL_MAX,
                Waits::ThenFlushes | Waits::Plainly => FLUSH_INTERVAL_MIN,
            },
            threads: Vec::new(),
            operations: 0,
            since: Instant::now(),
        }
    }

    /// Looks at the threads at work, with how often each has asked, and at the
    /// number of operations: whether it is time to flush.
    pub(crate) fn lasts(
        &mut self,
        threads: impl Iterator<Item = (ThreadId, u32)>,
        operations: u64,
    ) -> bool {
        let now = Instant::now();
        let mut lasts = false;
        let mut known = std::mem::take(&mut self.threads);
        for (thread, asked) in threads {
            let number = thread.0 as usize;
            let before = known.get_mut(number).and_then(Option::take);
            let mut watched = before.filter(|w| w.asked == asked).unwrap_or(Watched {
                asked,
                since: now,
                patience: self.first,
            });
            if now.duration_since(watched.since) >= watched.patience {
                lasts = true;
                watched.since = now;
                watched.patience = (watched.patience * 2).min(FLUSH_INTERVAL_MAX);
            }
            if self.threads.len() <= number {
                self.threads.resize(number + 1, None);
            }
            self.threads[number] = Some(watched);
        }
        if operations != self.operations {
            self.operations = operations;
            self.since = now;
        } else if now.duration_since(self.since) >= FLUSH_INTERVAL_MAX {
            self.since = now;
            lasts |= self.threads.iter().any(Option::is_some);
        }
        lasts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(quiet: &mut IdleFlusher, asked: [u32; 2], operations: u64) -> bool {
        let threads = [(ThreadId(3), asked[0]), (ThreadId(0), asked[1])];
        quiet.lasts(threads.into_iter(), operations)
    }

    fn let_pass(quiet: &mut IdleFlusher, time: Duration) {
        quiet.since -= time;
        for watched in quiet.threads.iter_mut().flatten() {
            watched.since -= time;
        }
    }

    #[test]
    fn one_quiet_thread_among_busy_ones_is_noticed_ever_more_rarely() {
        let mut quiet = IdleFlusher::new(Waits::Plainly);
        assert!(!look(&mut quiet, [1, 1], 1));
        let_pass(&mut quiet, FLUSH_INTERVAL_MIN);
        assert!(look(&mut quiet, [1, 2], 2));
        let_pass(&mut quiet, FLUSH_INTERVAL_MIN);
        assert!(!look(&mut quiet, [1, 3], 3));
        let_pass(&mut quiet, FLUSH_INTERVAL_MIN);
        assert!(look(&mut quiet, [1, 4], 4));
    }

    #[test]
    fn faults_without_operations_are_enough_for_a_while_only() {
        let mut quiet = IdleFlusher::new(Waits::Plainly);
        assert!(!look(&mut quiet, [1, 1], 1));
        let_pass(&mut quiet, FLUSH_INTERVAL_MAX / 2);
        assert!(!look(&mut quiet, [2, 2], 1));
        let_pass(&mut quiet, FLUSH_INTERVAL_MAX / 2);
        assert!(look(&mut quiet, [3, 3], 1));
        assert!(!look(&mut quiet, [4, 4], 1));
    }

    #[test]
    fn threads_that_wait_are_not_quiet() {
        let mut quiet = IdleFlusher::new(Waits::Plainly);
        assert!(!look(&mut quiet, [1, 1], 1));
        let_pass(&mut quiet, FLUSH_INTERVAL_MAX);
        assert!(!quiet.lasts(std::iter::empty(), 1));
    }
}
