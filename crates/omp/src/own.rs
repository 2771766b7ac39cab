//! A number inside a shared object that one thread keeps for itself.

use std::sync::atomic::{AtomicU32, Ordering};

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
