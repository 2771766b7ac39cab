//! A number inside a shared object that one thread keeps for itself.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Written by its owner only; anybody may read it, without any ordering.
/// Compiles to plain loads and stores.
#[derive(Debug, Default)]
pub(crate) struct Own(AtomicU32);

impl Own {
    pub(crate) const fn new(value: u32) -> Self {
        Self(AtomicU32::new(value))
    }

    #[inline]
    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn set(&self, value: u32) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// A 64-bit [`Own`].
#[derive(Debug)]
pub(crate) struct OwnWord(AtomicU64);

impl OwnWord {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}
