//! A heap of our own inside the program that is recorded.
//!
//! What glibc gives back to the system depends on the highest block of its heap that is in use. A
//! small block of ours above the arrays that a program allocates and frees in turn keeps their
//! pages: LULESH faulted 254,711 times by itself and 10,063 times while it was recorded, and took
//! 0.7 of the time. So what is kept for a recording lies in memory of its own.

use dlmalloc::{Allocator, Dlmalloc};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Address space that is reserved; memory is taken of it as it is needed.
const RESERVED: usize = 64 << 20;
/// Attempts to get the lock, which is held for less than a microsecond. In a child of a fork it may
/// be held for ever, by a thread that the child does not have.
const ATTEMPTS: u32 = 1_000;

thread_local! {
    static IS_WANTED: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, its thread allocates from the private heap.
#[derive(Debug)]
pub struct OnPrivateHeap {
    before: bool,
}

impl OnPrivateHeap {
    /// From now on.
    #[must_use]
    pub fn begin() -> Self {
        Self {
            before: IS_WANTED.replace(true),
        }
    }
}

impl Drop for OnPrivateHeap {
    fn drop(&mut self) {
        IS_WANTED.set(self.before);
    }
}

/// All threads allocate from the private heap.
static IS_ALWAYS_WANTED: AtomicBool = AtomicBool::new(false);

/// From now on everything in this library is allocated on the private heap, for a library that does
/// nothing but record.
pub fn use_always() {
    IS_ALWAYS_WANTED.store(true, Ordering::Relaxed);
}

fn is_wanted() -> bool {
    IS_WANTED.get() || IS_ALWAYS_WANTED.load(Ordering::Relaxed)
}

/// The allocator of a library that is loaded into programs: the private heap where that is wanted,
/// as long as it has memory, and else the program's.
#[derive(Debug)]
pub struct PrivateHeap;

/// The heap, and who uses it.
struct Locked {
    is_locked: AtomicBool,
    heap: UnsafeCell<Dlmalloc<Region>>,
}

// SAFETY: `heap` is used by the thread alone that has set `is_locked`.
unsafe impl Sync for Locked {}

static HEAP: Locked = Locked {
    is_locked: AtomicBool::new(false),
    heap: UnsafeCell::new(Dlmalloc::new_with_allocator(Region)),
};

/// Where the region begins, 0 before its first use, and how many bytes of it are in use. Both are
/// written with the lock held.
static BEGIN: AtomicUsize = AtomicUsize::new(0);
static USED: AtomicUsize = AtomicUsize::new(0);

/// Works on the heap; nothing if others keep it.
fn with_heap<T>(work: impl FnOnce(&mut Dlmalloc<Region>) -> T) -> Option<T> {
    let free = (0..ATTEMPTS).any(|_| {
        let got = HEAP.is_locked.compare_exchange_weak(
            false,
            true,
            // Pairs with the release below: what the last user has written is seen.
            Ordering::Acquire,
            Ordering::Relaxed,
        );
        if got.is_err() {
            std::thread::yield_now();
        }
        got.is_ok()
    });
    if !free {
        return None;
    }
    // SAFETY: this thread has set the lock.
    let result = work(unsafe { &mut *HEAP.heap.get() });
    HEAP.is_locked.store(false, Ordering::Release);
    Some(result)
}

/// Whether that was allocated here. Blocks that a thread gives back it has got after the region's
/// begin was written.
fn is_ours(block: *mut u8) -> bool {
    let begin = BEGIN.load(Ordering::Relaxed);
    begin != 0 && (begin..begin + RESERVED).contains(&block.addr())
}

// SAFETY: a block is given back to the heap that it came from, which its address tells; both heaps
// keep what the trait demands.
unsafe impl GlobalAlloc for PrivateHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_wanted() {
            // SAFETY: promised by our caller: the size is not 0.
            let block = with_heap(|heap| unsafe { heap.malloc(layout.size(), layout.align()) });
            if let Some(block) = block.filter(|block| !block.is_null()) {
                return block;
            }
        }
        // SAFETY: promised by our caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_wanted() {
            // SAFETY: promised by our caller: the size is not 0.
            let block = with_heap(|heap| unsafe { heap.calloc(layout.size(), layout.align()) });
            if let Some(block) = block.filter(|block| !block.is_null()) {
                return block;
            }
        }
        // SAFETY: promised by our caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if is_ours(block) {
            // Where the lock cannot be had, the block is lost.
            // SAFETY: it came from there, with this layout.
            let _ = with_heap(|heap| unsafe { heap.free(block, layout.size(), layout.align()) });
        } else {
            // SAFETY: promised by our caller.
            unsafe { System.dealloc(block, layout) };
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !is_ours(block) {
            // SAFETY: promised by our caller.
            return unsafe { System.realloc(block, layout, size) };
        }
        let (old, align) = (layout.size(), layout.align());
        // SAFETY: it came from there, with this layout.
        let moved = with_heap(|heap| unsafe { heap.realloc(block, old, align, size) });
        if let Some(moved) = moved.filter(|moved| !moved.is_null()) {
            return moved;
        }
        // SAFETY: promised by our caller: the size is not 0, and valid with this alignment.
        let moved = unsafe { System.alloc(Layout::from_size_align_unchecked(size, align)) };
        if !moved.is_null() {
            // SAFETY: both have so many bytes, and do not overlap.
            unsafe { ptr::copy_nonoverlapping(block, moved, old.min(size)) };
            // SAFETY: it is not used any more.
            unsafe { self.dealloc(block, layout) };
        }
        moved
    }
}

/// Where the heap gets memory. It gives none back.
struct Region;

// SAFETY: each call gives memory that was given to nobody before, and stays.
unsafe impl Allocator for Region {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        const NOTHING: (*mut u8, usize, u32) = (ptr::null_mut(), 0, 0);
        let used = USED.load(Ordering::Relaxed);
        if size > RESERVED - used {
            return NOTHING;
        }
        if BEGIN.load(Ordering::Relaxed) == 0 {
            // SAFETY: new address space.
            let begin = unsafe {
                libc::mmap(
                    ptr::null_mut(),
                    RESERVED,
                    libc::PROT_NONE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                    -1,
                    0,
                )
            };
            if begin == libc::MAP_FAILED {
                return NOTHING;
            }
            BEGIN.store(begin.expose_provenance(), Ordering::Relaxed);
        }
        let at: *mut u8 = ptr::with_exposed_provenance_mut(BEGIN.load(Ordering::Relaxed) + used);
        // SAFETY: this part of the region is nobody's yet. The heap asks for whole pages.
        let usable =
            unsafe { libc::mprotect(at.cast(), size, libc::PROT_READ | libc::PROT_WRITE) } == 0;
        if !usable {
            return NOTHING;
        }
        USED.store(used + size, Ordering::Relaxed);
        (at, size, 0)
    }

    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        ptr::null_mut()
    }

    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }

    fn free(&self, _: *mut u8, _: usize) -> bool {
        false
    }

    fn can_release_part(&self, _: u32) -> bool {
        false
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        4096
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout::new::<[u64; 12]>();

    /// Whether a block that is allocated now, and freed, is on the private heap.
    fn is_private() -> bool {
        // SAFETY: the block is freed with its layout, and used within its size.
        unsafe {
            let block = PrivateHeap.alloc(LAYOUT);
            assert!(!block.is_null() && block.addr().is_multiple_of(LAYOUT.align()));
            block.write_bytes(7, LAYOUT.size());
            let bytes = 3 * LAYOUT.size();
            let longer = PrivateHeap.realloc(block, LAYOUT, bytes);
            assert!(!longer.is_null());
            assert_eq!(longer.read(), 7);
            let private = is_ours(longer);
            let layout = Layout::from_size_align(bytes, LAYOUT.align()).unwrap();
            PrivateHeap.dealloc(longer, layout);
            private
        }
    }

    #[test]
    fn threads_that_ask_get_blocks_of_the_private_heap() {
        assert!(!is_private());
        {
            let _here = OnPrivateHeap::begin();
            assert!(is_private());
            assert!(!std::thread::spawn(is_private).join().unwrap());
        }
        assert!(!is_private());
    }

    #[test]
    fn zeroed_blocks_are_zero_again_after_use() {
        let _here = OnPrivateHeap::begin();
        for _ in 0..100 {
            // SAFETY: as above.
            unsafe {
                let block = PrivateHeap.alloc_zeroed(LAYOUT);
                let bytes = std::slice::from_raw_parts_mut(block, LAYOUT.size());
                assert!(bytes.iter().all(|byte| *byte == 0));
                bytes.fill(9);
                PrivateHeap.dealloc(block, LAYOUT);
            }
        }
    }

    #[test]
    fn what_is_too_large_is_allocated_on_the_programs_heap() {
        let _here = OnPrivateHeap::begin();
        let layout = Layout::from_size_align(2 * RESERVED, 16).unwrap();
        // SAFETY: as above.
        unsafe {
            let block = PrivateHeap.alloc(layout);
            assert!(!block.is_null() && !is_ours(block));
            PrivateHeap.dealloc(block, layout);
        }
    }
}
