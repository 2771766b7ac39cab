//! A member's part of a `taskloop`, from which others may steal.
//!
//! The owner takes numbers from the front with one uncontended addition; a member without work
//! takes the rear half of what is left, so every task that has not begun can be stolen at any
//! time. Thieves exclude each other, and the owner when it opens or closes the portion, by a
//! lock: what the numbers are of cannot change between the look at it and the theft. So the word
//! needs no tag, and a loop may have nearly 2^32 tasks.

use super::primitive::{AtomicU64, Mutex, MutexGuard, Ordering};

/// Largest number of tasks of a loop: the front may pass the end by one.
pub(crate) const NUMBERS_MAX: u64 = u32::MAX as u64 - 1;

const FRONT: u32 = 32;

/// See the module's documentation.
#[repr(align(128))]
#[derive(Debug)]
pub(crate) struct Portion<T> {
    /// `front << 32 | end`: numbers that have not been taken; none if `front >= end`.
    left: AtomicU64,
    /// What they are of; none while the portion is closed.
    of: Mutex<Option<T>>,
}

/// Numbers that somebody has, `from..to`, at least one, and what they are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loot<T> {
    pub(crate) of: T,
    pub(crate) from: u32,
    pub(crate) to: u32,
}

impl<T: Copy> Portion<T> {
    pub(crate) fn new() -> Self {
        Self {
            left: AtomicU64::new(0),
            of: Mutex::new(None),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.of
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Owner: these are mine now. The portion was closed. Returns the first of them, which nobody
    /// can steal: so the owner runs at least one, and what they are of is not complete before the
    /// portion is closed.
    ///
    /// The store is `SeqCst`: a member that registers as a sleeper afterwards and looks once
    /// more sees the numbers, one that registered before is seen by the ring that follows.
    pub(crate) fn open(&self, loot: Loot<T>) -> u32 {
        let mut of = self.lock();
        *of = Some(loot.of);
        self.left
            .store(word(loot.from + 1, loot.to), Ordering::SeqCst);
        loot.from
    }

    /// Owner: the next number. After the first `None` the portion is to be closed.
    #[inline]
    pub(crate) fn take(&self) -> Option<u32> {
        let (front, end) = fields(self.left.fetch_add(1 << FRONT, Ordering::Relaxed));
        (front < end).then_some(front)
    }

    /// Owner: all are taken, and nobody looks at what they were of any more.
    pub(crate) fn close(&self) {
        *self.lock() = None;
    }

    /// Whether there seems to be something to steal.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        let (front, end) = fields(self.left.load(Ordering::SeqCst));
        front < end
    }

    /// Others: the rear half of what is left, at least one, if `wanted` says so of what the
    /// numbers are of. It cannot be closed meanwhile.
    pub(crate) fn steal(&self, wanted: impl FnOnce(T) -> bool) -> Option<Loot<T>> {
        if !self.has_work() {
            return None;
        }
        let open = self.lock();
        let of = (*open).filter(|&of| wanted(of))?;
        let mut seen = self.left.load(Ordering::Relaxed);
        loop {
            let (front, end) = fields(seen);
            if front >= end {
                return None;
            }
            let middle = front + (end - front) / 2;
            // What was written for the numbers was published by the lock.
            match self.left.compare_exchange(
                seen,
                word(front, middle),
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    return Some(Loot {
                        of,
                        from: middle,
                        to: end,
                    });
                }
                Err(now) => seen = now,
            }
        }
    }
}

#[inline]
const fn word(front: u32, end: u32) -> u64 {
    (front as u64) << FRONT | end as u64
}

#[inline]
const fn fields(word: u64) -> (u32, u32) {
    ((word >> FRONT) as u32, word as u32)
}
