//! Words that only one thread writes.

use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

/// A word of a thread's own, kept where others may see it. Because nobody else
/// writes it, adding needs no read-modify-write instruction.
pub(crate) trait Own {
    fn read(&self) -> u64;
    fn write(&self, value: u64);
    fn add(&self, value: u64);
}

impl Own for AtomicU64 {
    #[inline(always)]
    fn read(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }
    #[inline(always)]
    fn write(&self, value: u64) {
        self.store(value, Ordering::Relaxed);
    }
    #[inline(always)]
    fn add(&self, value: u64) {
        self.write(self.read().wrapping_add(value));
    }
}

/// Something alone on its cache lines: two of them, because processors fetch
/// lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct OwnLine<T>(pub(crate) T);

impl<T> Deref for OwnLine<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}
