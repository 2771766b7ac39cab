//! What the algorithms of this crate are built from. The tests compile the same files
//! against other modules of this name, whose atomics run under a scheduler that explores
//! interleavings.

use fathomp_sys::shared_memory::{Sections, SharedMemory};
use std::io;

pub(crate) use fathomp_sys::process::yield_now;
pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Adds to a word, and then is as a sequentially consistent fence.
#[inline]
pub(crate) fn add_and_fence(word: &AtomicU64, amount: u64) {
    // On x86-64 an instruction with a lock prefix orders all loads and stores as a fence
    // does (Intel, Software Developer's Manual 3A, "Locked instructions have a total
    // order" and "Loads and stores are not reordered with locked instructions"); a second one
    // takes as long again.
    word.fetch_add(amount, Ordering::SeqCst);
    #[cfg(not(target_arch = "x86_64"))]
    fence(Ordering::SeqCst);
}

/// Words, at first all 0.
#[derive(Debug)]
pub(crate) enum Words {
    /// Of one process.
    Own(Box<[AtomicU64]>),
    /// Of all that the process forks afterwards, too. They take space only where they
    /// were touched.
    Shared(SharedMemory),
}

impl Words {
    pub(crate) fn in_process(count: usize) -> Self {
        Self::Own((0..count).map(|_| AtomicU64::new(0)).collect())
    }

    /// # Errors
    /// If there is no memory.
    pub(crate) fn shared(count: usize) -> io::Result<Self> {
        let sections = Sections {
            halves: 0,
            words: count,
            bytes: 0,
        };
        Ok(Self::Shared(SharedMemory::new(sections)?))
    }

    #[inline]
    pub(crate) fn all(&self) -> &[AtomicU64] {
        match self {
            Self::Own(words) => words,
            Self::Shared(memory) => memory.words(),
        }
    }
}
