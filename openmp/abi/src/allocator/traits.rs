//! What an allocator is: its traits and how much of its pool is taken.

use super::spaces::is_memory_space;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `omp_alloctrait_t`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Trait {
    /// `omp_alloctrait_key_t`
    pub key: i32,
    /// `omp_alloctrait_value_t`, or a number.
    pub value: usize,
}

/// `omp_atv_default`
const DEFAULT: usize = usize::MAX;

/// What happens when an allocator cannot serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fallback {
    /// Ask `omp_default_mem_alloc`.
    Default,
    /// Return a null pointer.
    Null,
    /// End the program.
    Abort,
    /// Ask the allocator with this handle.
    Allocator(usize),
}

/// An allocator.
#[derive(Debug)]
pub(super) struct Allocator {
    /// Alignment of everything it allocates, a power of two.
    pub(super) alignment: usize,
    /// Memory must stay resident.
    pub(super) pinned: bool,
    pub(super) fallback: Fallback,
    /// Most bytes it may have allocated at a time.
    pool_bytes: usize,
    used_bytes: AtomicUsize,
}

impl Allocator {
    /// One of the predefined ones: they differ in nothing that a host has.
    pub(super) const fn predefined() -> Self {
        Self {
            alignment: 1,
            pinned: false,
            fallback: Fallback::Null,
            pool_bytes: usize::MAX,
            used_bytes: AtomicUsize::new(0),
        }
    }

    /// That of memory which stays where it is.
    pub(super) const fn pinned() -> Self {
        let mut allocator = Self::predefined();
        allocator.pinned = true;
        allocator
    }

    /// An allocator with these traits; `None` if one of them makes no sense.
    pub(super) fn new(memspace: usize, traits: impl IntoIterator<Item = Trait>) -> Option<Self> {
        if !is_memory_space(memspace) {
            return None;
        }
        let mut allocator = Self {
            fallback: Fallback::Default,
            ..Self::predefined()
        };
        let mut fallback_handle = None;
        let mut to_handle = false;
        for Trait { key, value } in traits {
            match (key, value) {
                // sync_hint: contended, uncontended, serialized, private
                (1, 3..=6 | DEFAULT) => {}
                (2, DEFAULT) => allocator.alignment = 1,
                (2, alignment) if alignment.is_power_of_two() => allocator.alignment = alignment,
                // access: all, thread, pteam, cgroup
                (3, 7..=10 | DEFAULT) => {}
                (4, DEFAULT) => allocator.pool_bytes = usize::MAX,
                (4, bytes) if bytes > 0 => allocator.pool_bytes = bytes,
                (5, 11..=14 | DEFAULT) => {
                    to_handle = value == 14;
                    allocator.fallback = match value {
                        12 => Fallback::Null,
                        13 => Fallback::Abort,
                        _ => Fallback::Default,
                    };
                }
                (6, handle) => fallback_handle = Some(handle),
                (7, 0 | DEFAULT) => allocator.pinned = false,
                (7, 1) => allocator.pinned = true,
                // partition: environment, nearest, blocked, interleaved
                (8, 15..=18 | DEFAULT) => {}
                _ => return None,
            }
        }
        if to_handle {
            let handle = fallback_handle.filter(|&handle| handle != 0)?;
            allocator.fallback = Fallback::Allocator(handle);
        }
        Some(allocator)
    }

    /// Takes `bytes` out of the pool; false if there are not so many left.
    pub(super) fn reserve(&self, bytes: usize) -> bool {
        self.pool_bytes == usize::MAX
            || self
                .used_bytes
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                    used.checked_add(bytes)
                        .filter(|&used| used <= self.pool_bytes)
                })
                .is_ok()
    }

    /// Puts `bytes` back into the pool.
    pub(super) fn release(&self, bytes: usize) {
        if self.pool_bytes != usize::MAX {
            self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(traits: &[(i32, usize)]) -> Option<Allocator> {
        Allocator::new(0, traits.iter().map(|&(key, value)| Trait { key, value }))
    }

    #[test]
    fn senseless_traits_are_refused() {
        for bad in [
            (0, 1),
            (9, 1),
            (1, 7),
            (2, 3),
            (2, 0),
            (3, 3),
            (4, 0),
            (5, 10),
            (7, 2),
            (8, 14),
        ] {
            assert!(with(&[bad]).is_none(), "{bad:?}");
        }
        assert!(
            with(&[(5, 14)]).is_none(),
            "a fallback allocator is missing"
        );
        assert!(
            Allocator::new(5, []).is_none(),
            "there is no such memory space"
        );
    }

    #[test]
    fn traits_are_understood() {
        let allocator = with(&[(2, 64), (5, 14), (6, 2), (7, 1), (1, DEFAULT)]);
        let allocator = allocator.as_ref();
        assert_eq!(allocator.map(|a| a.alignment), Some(64));
        assert_eq!(allocator.map(|a| a.pinned), Some(true));
        assert_eq!(allocator.map(|a| a.fallback), Some(Fallback::Allocator(2)));
    }

    #[test]
    fn a_pool_gives_what_it_has() {
        let Some(pool) = with(&[(4, 100)]) else {
            panic!("a pool size is a valid trait");
        };
        assert!(pool.reserve(60));
        assert!(!pool.reserve(60));
        assert!(!pool.reserve(usize::MAX));
        pool.release(60);
        assert!(pool.reserve(100));
    }
}
