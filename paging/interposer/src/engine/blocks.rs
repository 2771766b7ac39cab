//! Memory for what is known of threads.
//!
//! Blocks are never unmapped, only used again, so that any thread may look through all of
//! them at any time. They are wiped in a child of a fork, however it was forked: a block of
//! zeroes tells a thread that it goes on in another process.

use super::thread::Thread;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// Blocks in the first chunk; each further one is twice as large.
const FIRST_CHUNK_BLOCKS: usize = 16;

/// Chunks, enough for a million threads.
const CHUNKS_MAX: usize = 16;

static CHUNKS: [AtomicPtr<Thread>; CHUNKS_MAX] =
    [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS_MAX];

/// Blocks that were ever given out.
static USED: AtomicUsize = AtomicUsize::new(0);

/// First of the blocks that were given back.
static FREE: AtomicPtr<Thread> = AtomicPtr::new(ptr::null_mut());

/// Held while a block is taken or given back.
static LOCK: AtomicBool = AtomicBool::new(false);

fn locked<R>(work: impl FnOnce() -> R) -> R {
    while LOCK
        .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
        .is_err()
    {
        fathomp_sys::process::yield_now();
    }
    let result = work();
    LOCK.store(false, Ordering::Release);
    result
}

/// A block that nobody uses. `None` if there is no memory.
pub(crate) fn take() -> Option<&'static Thread> {
    locked(|| {
        let free = FREE.load(Ordering::Relaxed);
        // SAFETY: only blocks get into the list, and blocks stay for ever.
        if let Some(block) = unsafe { free.as_ref() } {
            FREE.store(block.next_free.load(Ordering::Relaxed), Ordering::Relaxed);
            return Some(block);
        }
        let number = USED.load(Ordering::Relaxed);
        let block = at(number, true)?;
        USED.store(number + 1, Ordering::Relaxed);
        Some(block)
    })
}

/// Gives a block back that its thread uses no more.
pub(super) fn give_back(block: &'static Thread) {
    locked(|| {
        block
            .next_free
            .store(FREE.load(Ordering::Relaxed), Ordering::Relaxed);
        FREE.store(ptr::from_ref(block).cast_mut(), Ordering::Relaxed);
    });
}

/// All blocks that were ever given out.
pub(super) fn all() -> impl Iterator<Item = &'static Thread> {
    (0..USED.load(Ordering::Relaxed)).filter_map(|number| at(number, false))
}

/// In the child of a fork: the blocks are empty, and so is the list of free ones. Another
/// thread may have held the lock when its process was copied.
pub(super) fn after_fork() {
    FREE.store(ptr::null_mut(), Ordering::Relaxed);
    LOCK.store(false, Ordering::Release);
}

/// The block of that number, if its chunk is there or `make` says that it may be made.
fn at(number: usize, make: bool) -> Option<&'static Thread> {
    // Chunk c begins with block FIRST * (2^c - 1).
    let chunk = (number / FIRST_CHUNK_BLOCKS + 1).ilog2() as usize;
    let blocks = FIRST_CHUNK_BLOCKS << chunk;
    let place = CHUNKS.get(chunk)?;
    let mut first = place.load(Ordering::Acquire);
    if first.is_null() && make {
        first = map(blocks)?;
        place.store(first, Ordering::Release);
    }
    if first.is_null() {
        return None;
    }
    // SAFETY: the chunk holds `blocks` blocks and stays for ever; a block of zeroes is valid,
    // and all its parts may be shared between threads.
    Some(unsafe { &*first.add(number - (blocks - FIRST_CHUNK_BLOCKS)) })
}

/// Fresh memory, zeroed, and zeroed again in every child of a fork.
fn map(blocks: usize) -> Option<*mut Thread> {
    let bytes = blocks * mem::size_of::<Thread>();
    // By the system call itself: others stand in front of the C library's function.
    // SAFETY: new memory at an address that the kernel chooses.
    let memory = unsafe {
        libc::syscall(
            libc::SYS_mmap,
            0,
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if memory == -1 {
        return None;
    }
    // SAFETY: the memory was mapped just now, nobody else knows it.
    let wiped = unsafe { libc::syscall(libc::SYS_madvise, memory, bytes, libc::MADV_WIPEONFORK) };
    // Without it (Linux before 4.14) a child would take itself for its parent.
    (wiped == 0).then(|| ptr::with_exposed_provenance_mut(memory as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_different_and_come_back() {
        let taken: Vec<_> = (0..100).map(|_| take().unwrap()).collect();
        let mut places: Vec<_> = taken.iter().map(|block| ptr::from_ref(*block)).collect();
        places.sort();
        places.dedup();
        assert_eq!(places.len(), 100);
        let known: Vec<_> = all().map(ptr::from_ref).collect();
        assert!(places.iter().all(|place| known.contains(place)));
        for block in &taken {
            give_back(block);
        }
        let again = take().unwrap();
        assert!(places.contains(&ptr::from_ref(again)));
        give_back(again);
    }
}
