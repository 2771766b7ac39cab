//! The memory behind watched pages.

use crate::descriptor::move_up;
use fathomp_base::{PAGE_BYTES, PageId};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

/// Memory for pages, numbered from 0, zero until they are written. It takes space only
/// where it was touched. Processes that were forked after it was made can all reach it.
#[derive(Debug)]
pub struct Backing(File);

impl Backing {
    /// New memory.
    ///
    /// # Errors
    /// If the system gives none.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the name is a C string.
        let fd = unsafe { libc::memfd_create(c"fathomp-pages".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a new descriptor that nobody else owns.
        let memory = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self(File::from(move_up(memory))))
    }

    pub(super) fn file(&self) -> &File {
        &self.0
    }

    /// Puts bytes into a page, from `offset` on.
    ///
    /// # Errors
    /// If the system refuses.
    pub(super) fn write(&self, page: PageId, offset: usize, bytes: &[u8]) -> io::Result<()> {
        let start = u64::from(page.0) * PAGE_BYTES as u64;
        self.0.write_all_at(bytes, start + offset as u64)
    }

    /// Copies `count` pages from `first` on to `target`. Those that were never written
    /// come out as zeros; bytes that are written meanwhile come out old or new.
    ///
    /// # Errors
    /// If there are no such pages.
    ///
    /// # Safety
    /// There is room for the pages at `target`, and nobody else touches it.
    pub(super) unsafe fn copy(&self, first: PageId, count: u32, target: *mut u8) -> io::Result<()> {
        let too_far = || io::Error::from(io::ErrorKind::InvalidInput);
        let bytes = count as usize * PAGE_BYTES;
        let start = first.0 as usize * PAGE_BYTES;
        let mut done = 0;
        while done < bytes {
            let offset = i64::try_from(start + done).map_err(|_| too_far())?;
            // SAFETY: room for the rest, promised by our caller.
            let copied = unsafe {
                let target = target.add(done).cast();
                libc::pread(self.0.as_raw_fd(), target, bytes - done, offset)
            };
            match usize::try_from(copied) {
                Ok(0) => return Err(too_far()),
                Ok(copied) => done += copied,
                Err(_) => return Err(io::Error::last_os_error()),
            }
        }
        Ok(())
    }
}
