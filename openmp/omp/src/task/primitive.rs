//! What the lock-free parts of this module are built from. The model tests
//! compile the same files against another module of this name.

use super::block::Task;
use fathomp_sys::static_ref::AtomicRef;

pub(crate) use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering, fence};
pub(crate) use std::sync::{Mutex, MutexGuard};

/// Lets time pass, the more the longer it has been asked for.
#[inline]
pub(crate) fn pause(polls: u32) {
    if polls.is_multiple_of(64) {
        std::thread::yield_now();
    } else {
        std::hint::spin_loop();
    }
}

/// What a deque holds.
pub(crate) type Item = &'static Task;

/// A place in a deque. What is stored is published by the deque's own
/// positions.
#[derive(Debug)]
pub(crate) struct Shelf(AtomicRef<Task>);

impl Default for Shelf {
    fn default() -> Self {
        Self(AtomicRef::new(None))
    }
}

impl Shelf {
    #[inline]
    pub(crate) fn put(&self, item: Item) {
        self.0.store(Some(item), Ordering::Release);
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<Item> {
        self.0.load(Ordering::Acquire)
    }
}
