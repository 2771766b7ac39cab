//! Blocks of memory that know how they were made.
//!
//! In front of the memory the program sees lies a [`Header`]; it is all that
//! `omp_free` gets to see, since C passes a bare pointer. Memory comes from
//! the program's `malloc` (so that replaced allocators and leak checkers see
//! it), on several nodes from the heap that they share, which `malloc` does not
//! use for the runtime's own calls, and pinned memory straight from the kernel
//! (locking works by page, and a page must not be shared with others).

use fathomp_omp::cluster::{Memory, process};
use std::ffi::c_void;
use std::ptr::{self, NonNull};

/// What an allocation must be like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// Power of two.
    pub(super) alignment: usize,
    /// More than 0, unless the program asked for nothing.
    pub(super) bytes: usize,
    pub(super) zeroed: bool,
    pub(super) pinned: bool,
}

impl Request {
    /// `None` if the alignment is not a power of two.
    pub(super) fn new(alignment: usize, bytes: usize, zeroed: bool) -> Option<Self> {
        alignment.is_power_of_two().then_some(Self {
            alignment,
            bytes,
            zeroed,
            pinned: false,
        })
    }
}

/// Lies directly in front of the program's memory.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Header {
    /// What the system gave us.
    base: *mut c_void,
    /// Size the program asked for.
    bytes: usize,
    /// Handle of the allocator.
    allocator: usize,
    /// Size of the mapping at `base`; 0 if it came from `malloc`.
    mapped_bytes: usize,
}

const HEADER_BYTES: usize = size_of::<Header>();

/// A block the program can use. Not freed on drop: the program decides.
#[derive(Debug)]
pub(super) struct Block {
    /// The program's part.
    start: NonNull<c_void>,
}

impl Block {
    /// A new block, marked as belonging to that allocator; `None` if the
    /// system has no memory.
    pub(super) fn new(request: Request, allocator: usize) -> Option<Self> {
        let alignment = request.alignment.max(align_of::<Header>());
        // `malloc` aligns to a header's alignment already.
        let slack = alignment - align_of::<Header>();
        let total = request
            .bytes
            .checked_add(HEADER_BYTES)?
            .checked_add(slack)?;
        let mapped_bytes = if request.pinned { total } else { 0 };
        let base = if request.pinned {
            map_locked(total)?
        } else {
            fetch(total, request.zeroed)?
        };
        let base = base.as_ptr();
        // Rounded up by a mask: `next_multiple_of` would divide.
        let lowest = base.addr() + HEADER_BYTES;
        let offset = ((lowest + alignment - 1) & !(alignment - 1)) - base.addr();
        // SAFETY: `offset` is at most `HEADER_BYTES + slack`, so `bytes`
        // bytes from there and a header in front of it lie inside the `total`
        // bytes at `base`. `base` is aligned for a header, `alignment` is a
        // multiple of that, and the header's size is one of its alignment.
        let start = unsafe {
            let start = base.byte_add(offset);
            start.byte_sub(HEADER_BYTES).cast::<Header>().write(Header {
                base,
                bytes: request.bytes,
                allocator,
                mapped_bytes,
            });
            NonNull::new_unchecked(start)
        };
        Some(Self { start })
    }

    /// The block whose memory the program knows by `pointer`; `None` if null.
    ///
    /// # Safety
    /// `pointer` is null or was returned by [`Block::pointer`] of a block that
    /// has not been freed.
    pub(super) unsafe fn from_pointer(pointer: *mut c_void) -> Option<Self> {
        NonNull::new(pointer).map(|start| Self { start })
    }

    /// What the program gets to see.
    pub(super) fn pointer(&self) -> *mut c_void {
        self.start.as_ptr()
    }

    fn header(&self) -> Header {
        // SAFETY: `new` wrote a header there, and both ways to get a `Block`
        // guarantee that it has not been freed.
        unsafe { self.start.byte_sub(HEADER_BYTES).cast().read() }
    }

    /// Size the program asked for.
    pub(super) fn bytes(&self) -> usize {
        self.header().bytes
    }

    /// Handle of its allocator.
    pub(super) fn allocator(&self) -> usize {
        self.header().allocator
    }

    /// Copies as much of `other` as fits.
    pub(super) fn copy_from(&self, other: &Self) {
        let bytes = self.bytes().min(other.bytes());
        // SAFETY: both blocks have that many bytes and, being two live
        // allocations, do not overlap.
        unsafe {
            ptr::copy_nonoverlapping(
                other.pointer().cast::<u8>(),
                self.pointer().cast::<u8>(),
                bytes,
            );
        }
    }

    /// Gives the memory back.
    pub(super) fn free(self) {
        let Header {
            base, mapped_bytes, ..
        } = self.header();
        // SAFETY: `base` is what `new` got, by the way `mapped_bytes` tells,
        // and `self` is consumed: nobody frees it again.
        unsafe {
            if mapped_bytes != 0 {
                libc::munmap(base, mapped_bytes);
            } else if !process().is_some_and(|process| process.free(base.expose_provenance())) {
                libc::free(base);
            }
        }
    }
}

/// Memory for the program, as its own call of `malloc` or `calloc` would get it.
fn fetch(bytes: usize, zeroed: bool) -> Option<NonNull<c_void>> {
    let memory = process().map(|process| process.allocate(bytes, align_of::<Header>()));
    match memory.unwrap_or(Memory::NotShared) {
        Memory::Exhausted => None,
        Memory::At(address) => {
            let base = NonNull::new(ptr::with_exposed_provenance_mut::<c_void>(address))?;
            if zeroed {
                // SAFETY: a fresh block of at least so many bytes.
                unsafe { base.cast::<u8>().write_bytes(0, bytes) };
            }
            Some(base)
        }
        // SAFETY: no precondition; the results are checked.
        Memory::NotShared if zeroed => NonNull::new(unsafe { libc::calloc(1, bytes) }),
        // SAFETY: as above.
        Memory::NotShared => NonNull::new(unsafe { libc::malloc(bytes) }),
    }
}

/// Fresh zeroed pages that stay resident; `None` if there are none or the
/// limit on locked memory is reached.
fn map_locked(bytes: usize) -> Option<NonNull<c_void>> {
    // SAFETY: asks for fresh pages, touches no existing mapping.
    let base = unsafe {
        libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if base == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the pages are ours.
    if unsafe { libc::mlock(base, bytes) } != 0 {
        // SAFETY: as above, and nobody knows them yet.
        unsafe { libc::munmap(base, bytes) };
        return None;
    }
    NonNull::new(base)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_are_aligned_and_remember(
            shift in 0_u32..14,
            bytes in 1_usize..5000,
            zeroed: bool,
            pinned: bool,
        ) {
            let request = Request { alignment: 1 << shift, bytes, zeroed, pinned };
            // Locked memory may be forbidden here; nothing to test then.
            let Some(block) = Block::new(request, 7) else {
                prop_assert!(pinned);
                return Ok(());
            };
            prop_assert!(block.pointer().addr().is_multiple_of(1 << shift));
            prop_assert_eq!((block.bytes(), block.allocator()), (bytes, 7));
            // SAFETY: the block is live and that long.
            let memory = unsafe {
                std::slice::from_raw_parts_mut(block.pointer().cast::<std::mem::MaybeUninit<u8>>(), bytes)
            };
            memory.fill(std::mem::MaybeUninit::new(0xa5));
            prop_assert_eq!((block.bytes(), block.allocator()), (bytes, 7));
            block.free();
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        for bytes in [usize::MAX, usize::MAX - 40, usize::MAX / 2] {
            let request = Request::new(1, bytes, false);
            assert!(request.and_then(|request| Block::new(request, 1)).is_none());
        }
        assert!(Request::new(3, 1, false).is_none());
        assert!(Request::new(0, 1, false).is_none());
    }
}
