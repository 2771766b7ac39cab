//! A `Cell` inside a shared object that only one thread uses.

use crate::thread_slot::thread_token;
use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A cell that belongs to one thread although the object around it is shared.
///
/// The first thread to touch it owns it until [`OwnCell::disown`]. Any other
/// thread's access panics, which keeps the type sound without the caller's
/// promise; the check is one load and one compare.
pub struct OwnCell<T> {
    owner: AtomicUsize,
    value: Cell<T>,
}

// SAFETY: `value` is reached only through `cell`, which admits the owner alone,
// and ownership changes hands only through `disown` (by the owner) or after
// the owner's end (its token is then free to be taken by a new thread, whose
// creation the kernel and libc order after the old thread's end). `T: Send`
// because the value may be dropped or taken by the next owner.
unsafe impl<T: Send> Sync for OwnCell<T> {}

impl<T> OwnCell<T> {
    /// A cell nobody owns yet.
    pub const fn new(value: T) -> Self {
        Self {
            owner: AtomicUsize::new(0),
            value: Cell::new(value),
        }
    }

    /// Gives the cell up; the next thread to touch it owns it.
    pub fn disown(&self) {
        let _ = self.cell();
        self.owner.store(0, Ordering::Release);
    }

    /// Stores `value`.
    #[inline]
    pub fn set(&self, value: T) {
        self.cell().set(value);
    }

    /// Stores `value` and returns what was there.
    #[inline]
    pub fn replace(&self, value: T) -> T {
        self.cell().replace(value)
    }

    #[inline]
    fn cell(&self) -> &Cell<T> {
        if self.owner.load(Ordering::Relaxed) != thread_token() {
            self.claim();
        }
        &self.value
    }

    #[cold]
    fn claim(&self) {
        let claimed =
            self.owner
                .compare_exchange(0, thread_token(), Ordering::Acquire, Ordering::Relaxed);
        assert!(
            claimed.is_ok(),
            "a thread used another thread's private state"
        );
    }
}

impl<T: Copy> OwnCell<T> {
    /// A copy of the value.
    #[inline]
    pub fn get(&self) -> T {
        self.cell().get()
    }
}

impl<T: Default> OwnCell<T> {
    /// Takes the value out, leaving the default.
    #[inline]
    pub fn take(&self) -> T {
        self.cell().take()
    }

    /// Lets `use_it` change the value in place. A nested call on the same cell
    /// sees the default and its result is lost, so do not nest.
    #[inline]
    pub fn with<R>(&self, use_it: impl FnOnce(&mut T) -> R) -> R {
        let mut value = self.take();
        let result = use_it(&mut value);
        self.set(value);
        result
    }
}

impl<T> fmt::Debug for OwnCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnCell(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn another_thread_is_refused_until_disowned() {
        let cell = Arc::new(OwnCell::new(1));
        cell.set(2);
        let other = Arc::clone(&cell);
        assert!(std::thread::spawn(move || other.get()).join().is_err());
        cell.disown();
        let other = Arc::clone(&cell);
        assert_eq!(std::thread::spawn(move || other.get()).join().unwrap(), 2);
    }
}
