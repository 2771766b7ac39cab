//! The memory behind watched pages.

use crate::descriptor::move_up;
use fathomp_types::{PAGE_BYTES, PageId};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Memory for pages, numbered from 0, zero until they are written. It takes space only
/// where it was touched.
#[derive(Debug)]
pub struct Backing {
    file: File,
}

impl Backing {
    /// New memory.
    ///
    /// # Errors
    /// If the system gives none.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the name is a C string.
        let fd = unsafe { libc::memfd_create(c"fathomp-pages".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            let error = io::Error::last_os_error();
            let what = format!("no memory files are to be had (memfd_create): {error}");
            return Err(io::Error::new(error.kind(), what));
        }
        // SAFETY: a new descriptor that nobody else owns.
        let memory = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self {
            file: File::from(move_up(memory)),
        })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// The first page from `page` on, of `count`, that has memory; the others are zero.
    pub(super) fn first_touched(&self, page: PageId, count: u32) -> io::Result<PageId> {
        let offset = i64::from(page.0) * PAGE_BYTES as i64;
        // SAFETY: nothing depends on where the descriptor stands.
        let data = unsafe { libc::lseek(self.file.as_raw_fd(), offset, libc::SEEK_DATA) };
        if data < 0 {
            let error = io::Error::last_os_error();
            // There is none behind it.
            let none = error.raw_os_error() == Some(libc::ENXIO);
            return none.then_some(PageId(count)).ok_or(error);
        }
        let page = u32::try_from(data / PAGE_BYTES as i64);
        Ok(PageId(page.unwrap_or(count)))
    }
}
