//! The memory in which the kernel leaves events.

use super::record::HEADER;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Offsets of `struct perf_event_mmap_page`.
const HEAD_AT: usize = 1024;
const TAIL_AT: usize = 1032;
const PAGE: usize = 4096;

/// A mapped ring.
#[derive(Debug)]
pub(super) struct Ring {
    base: NonNull<u8>,
    /// Bytes behind the first page, a power of two.
    size: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread; the ring has one reader,
// because reading takes it exclusively.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps the ring of an event, with room for `size` bytes, a power of two of pages.
    pub(super) fn map(event: BorrowedFd<'_>, size: usize) -> io::Result<Self> {
        if !size.is_power_of_two() || size < PAGE {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                PAGE + size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            base: NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?,
            size,
        })
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        // SAFETY: both offsets lie, aligned, in the first page, which lives as long as
        // `self`; the kernel and we touch these words as wholes only.
        unsafe { &*self.base.as_ptr().add(at).cast::<AtomicU64>() }
    }

    /// Copies `to.len()` bytes from position `at` of the stream of events on.
    fn copy(&self, at: u64, to: &mut [u8]) {
        let start = at as usize & (self.size - 1);
        let first = to.len().min(self.size - start);
        // SAFETY: both parts lie in the mapping behind the first page, because `to` is
        // no longer than the ring; the kernel does not write there before the tail has
        // passed them; `to` is ours alone.
        unsafe {
            let data = self.base.as_ptr().add(PAGE);
            std::ptr::copy_nonoverlapping(data.add(start), to.as_mut_ptr(), first);
            std::ptr::copy_nonoverlapping(data, to.as_mut_ptr().add(first), to.len() - first);
        }
    }

    /// Hands out every event that is there, header included, and gives the room back.
    pub(super) fn drain(&mut self, buffer: &mut Vec<u8>, mut take: impl FnMut(&[u8])) {
        let head = self.word(HEAD_AT).load(Ordering::Acquire);
        let mut tail = self.word(TAIL_AT).load(Ordering::Relaxed);
        let mut header = [0; HEADER];
        while head.wrapping_sub(tail) >= HEADER as u64 {
            self.copy(tail, &mut header);
            let size = usize::from(u16::from_ne_bytes([header[6], header[7]]));
            let there = head.wrapping_sub(tail).min(self.size as u64);
            if size < HEADER || size as u64 > there {
                // Not what the kernel writes: nothing behind it can be told apart.
                tail = head;
                break;
            }
            buffer.resize(size, 0);
            self.copy(tail, buffer);
            take(buffer);
            tail = tail.wrapping_add(size as u64);
        }
        // What was copied out must have been read before the kernel may write there.
        fence(Ordering::SeqCst);
        self.word(TAIL_AT).store(tail, Ordering::Release);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this base and length.
        unsafe { libc::munmap(self.base.as_ptr().cast(), PAGE + self.size) };
    }
}
