//! How much of a stream may be under way, so that nobody has to keep what a slow reader has
//! not taken yet.

use crate::process::lock;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Bytes of a stream that may be under way.
pub(crate) const WINDOW_BYTES: u32 = 128 << 10;
/// The longest piece of a stream.
pub(crate) const PIECE_BYTES: usize = 32 << 10;

/// What one side may still send.
#[derive(Clone, Debug)]
pub(crate) struct Credits(Arc<(Mutex<State>, Condvar)>);

#[derive(Debug)]
struct State {
    left: u32,
    closed: bool,
}

impl Credits {
    /// As many as there are at the beginning.
    pub(crate) fn new() -> Self {
        let state = State {
            left: WINDOW_BYTES,
            closed: false,
        };
        Self(Arc::new((Mutex::new(state), Condvar::new())))
    }

    /// Waits until something may be sent; takes all of what may, up to a piece. None if nothing
    /// is wanted any more.
    pub(crate) fn take(&self) -> Option<usize> {
        let (state, changed) = &*self.0;
        let mut state = changed
            .wait_while(lock(state), |state| state.left == 0 && !state.closed)
            .unwrap_or_else(PoisonError::into_inner);
        if state.closed {
            return None;
        }
        let taken = PIECE_BYTES.min(state.left as usize);
        state.left -= u32::try_from(taken).unwrap_or(state.left);
        Some(taken)
    }

    /// Gives back what was taken and not needed, or what the other side has done with.
    pub(crate) fn give(&self, bytes: u32) {
        let (state, changed) = &*self.0;
        let mut state = lock(state);
        state.left = state.left.saturating_add(bytes).min(WINDOW_BYTES);
        changed.notify_all();
    }

    /// Nothing is wanted any more.
    pub(crate) fn close(&self) {
        let (state, changed) = &*self.0;
        lock(state).closed = true;
        changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn no_more_is_sent_than_the_other_side_takes() {
        let credits = Credits::new();
        let mut sent = 0;
        while sent < WINDOW_BYTES as usize {
            sent += credits.take().unwrap();
        }
        assert_eq!(sent, WINDOW_BYTES as usize);
        let waits = thread::spawn({
            let credits = credits.clone();
            move || [credits.take(), credits.take()]
        });
        credits.give(5);
        thread::yield_now();
        credits.close();
        let [first, second] = waits.join().unwrap();
        assert!(matches!(first, Some(5) | None));
        assert_eq!(second, None);
        credits.give(u32::MAX);
    }
}
