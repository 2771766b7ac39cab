//! Words of the program's memory, read without ever causing a fault that the program would
//! not cause itself.

use crate::outlined::Opaque;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Leave to read memory directly where somebody vouches that it can be read.
#[derive(Clone, Copy, Debug)]
pub struct Leave(());

impl Leave {
    /// Gives it.
    ///
    /// # Safety
    /// Through it only such bytes of data blocks are asked for as lie inside them: those
    /// that the function which the block was made for reads itself, as its code shows.
    #[must_use]
    pub const unsafe fn new() -> Self {
        Self(())
    }

    /// `bytes` bytes of a data block that a region is about to be started with, at `offset`,
    /// zero-extended. `None` if there is no block, or they are not aligned.
    #[inline]
    #[must_use]
    pub fn data(self, block: Opaque, offset: u64, bytes: u8) -> Option<u64> {
        if block.0 == 0 {
            return None;
        }
        let address = (block.0 as u64).checked_add(offset)?;
        // SAFETY: whoever gave the leave vouches that these bytes are part of the block,
        // which lives until the region ends.
        unsafe { read(address, bytes) }
    }

    /// The same of a loaded module. `None` if they are not in a part of it that can be read.
    #[inline]
    #[must_use]
    pub fn module(self, part: &Part, offset: u64, bytes: u8) -> Option<u64> {
        let address = part.start.checked_add(offset)?;
        let end = address.checked_add(u64::from(bytes))?;
        if end > part.end {
            return None;
        }
        // SAFETY: the bytes lie in a segment of a module that `Part::of` found mapped for
        // reading; a body of that module is about to run, so it is still loaded.
        unsafe { read(address, bytes) }
    }
}

/// A part of a module that can be read while it is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    start: u64,
    end: u64,
}

impl Part {
    pub(crate) fn new(range: Range<u64>) -> Self {
        Self {
            start: range.start,
            end: range.end,
        }
    }

    /// Where it begins and ends.
    #[must_use]
    pub fn bounds(&self) -> (u64, u64) {
        (self.start, self.end)
    }

    /// Where an address lies in it, if it does.
    #[must_use]
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        (self.start..self.end)
            .contains(&address)
            .then(|| address - self.start)
    }
}

/// # Safety
/// The bytes can be read.
#[inline]
unsafe fn read(address: u64, bytes: u8) -> Option<u64> {
    let at = address as usize;
    if at == 0 || at & usize::from(bytes.wrapping_sub(1)) != 0 {
        return None;
    }
    // Atomically, since other threads may write there.
    // SAFETY: aligned by the test above, readable by the caller's promise; nothing is
    // written.
    Some(unsafe {
        match bytes {
            1 => AtomicU8::from_ptr(at as *mut u8)
                .load(Ordering::Relaxed)
                .into(),
            2 => AtomicU16::from_ptr(at as *mut u16)
                .load(Ordering::Relaxed)
                .into(),
            4 => AtomicU32::from_ptr(at as *mut u32)
                .load(Ordering::Relaxed)
                .into(),
            8 => AtomicU64::from_ptr(at as *mut u64).load(Ordering::Relaxed),
            _ => return None,
        }
    })
}

/// Up to eight bytes at any address of this process, zero-extended; `None` if they cannot be
/// read. The kernel reads them: a few hundred nanoseconds, and never a fault.
#[must_use]
pub fn checked(address: u64, bytes: u8) -> Option<u64> {
    let mut value = [0; 8];
    let wanted = value.get_mut(..usize::from(bytes))?;
    (checked_into(address, wanted) == wanted.len()).then(|| u64::from_le_bytes(value))
}

/// Fills `into` with what lies at `address`, as far as that can be read: returns how many
/// bytes.
pub fn checked_into(address: u64, into: &mut [u8]) -> usize {
    if into.is_empty() || address.checked_add(into.len() as u64).is_none() {
        return 0;
    }
    let local = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    };
    let remote = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: into.len(),
    };
    let errno = crate::errno::Saved::new();
    // SAFETY: `local` is memory that is ours alone; the kernel checks whether `remote` can
    // be read, and writes nothing there.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    drop(errno);
    usize::try_from(read).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_read_is_read_and_nothing_else() {
        let value = 0x1122_3344_5566_7788_u64;
        let at = std::ptr::from_ref(&value).addr() as u64;
        assert_eq!(checked(at, 8), Some(value));
        assert_eq!(checked(at + 1, 2), Some(0x6677));
        assert_eq!(checked(0, 8), None);
        assert_eq!(checked(8, 4), None);
        assert_eq!(checked(u64::MAX - 2, 8), None);
        assert_eq!(checked(0xffff_8000_0000_0000, 8), None);
        assert_eq!(checked(at, 9), None);
    }

    #[test]
    fn a_page_without_leave_to_read_is_no_fault() {
        // SAFETY: a new mapping that nobody else knows.
        let page = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                8192,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(page, libc::MAP_FAILED);
        let at = page as u64;
        // SAFETY: the mapping's second page.
        let done = unsafe { libc::mprotect((page as usize + 4096) as *mut _, 4096, 0) };
        assert_eq!(done, 0);
        assert_eq!(checked(at + 4088, 8), Some(0));
        assert_eq!(checked(at + 4092, 8), None);
        assert_eq!(checked(at + 4096, 1), None);
        let mut some = [1; 100];
        assert_eq!(checked_into(at + 4096 - 60, &mut some), 60);
        // SAFETY: ours, and nothing refers to it any more.
        unsafe { libc::munmap(page, 8192) };
    }

    #[test]
    fn blocks_are_read_as_their_words_lie() {
        // SAFETY: only bytes of `block` are asked for.
        let leave = unsafe { Leave::new() };
        let block = [7_u64, u64::MAX];
        let at = Opaque(block.as_ptr().addr());
        assert_eq!(leave.data(at, 0, 8), Some(7));
        assert_eq!(leave.data(at, 8, 4), Some(0xffff_ffff));
        assert_eq!(leave.data(at, 15, 1), Some(0xff));
        assert_eq!(leave.data(at, 1, 4), None);
        assert_eq!(leave.data(Opaque(0), 0, 8), None);
    }
}
