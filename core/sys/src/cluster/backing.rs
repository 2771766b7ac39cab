//! The memory behind watched pages.

use super::merge::merge;
use crate::descriptor::move_up;
use fathomp_types::{PAGE_BYTES, PageId};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::OnceLock;

/// Memory for pages, numbered from 0, zero until they are written. It takes space only
/// where it was touched. Processes that were forked after it was made can all reach it.
#[derive(Debug)]
pub struct Backing {
    file: File,
    /// Where it is mapped, if it belongs to another process that was read or written.
    mapping: OnceLock<Mapping>,
}

/// A mapping of so many bytes.
#[derive(Debug)]
struct Mapping(NonNull<u8>, usize);

// SAFETY: the mapping belongs to the process, not to a thread, and is only copied from and
// to.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: our mapping; whoever could use it borrows it.
        unsafe { libc::munmap(self.0.as_ptr().cast(), self.1) };
    }
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
            mapping: OnceLock::new(),
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

    /// Where `count` pages lie that another process has made of its memory.
    pub(super) fn mapped(&self, count: u32) -> io::Result<NonNull<u8>> {
        if let Some(mapping) = self.mapping.get() {
            return Ok(mapping.0);
        }
        let bytes = count as usize * PAGE_BYTES;
        if self.file.metadata()?.len() != bytes as u64 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                self.file.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(self.mapping.get_or_init(|| Mapping(base, bytes)).0)
    }

    /// Writes what differs from `twin` in a page at `content` into the same page of
    /// another process, which has `count` of them.
    ///
    /// # Errors
    /// If it has another number of pages, or the system refuses.
    ///
    /// # Safety
    /// There is such a page, `content` is one, and nobody writes that.
    pub(super) unsafe fn merge(
        &self,
        count: u32,
        page: PageId,
        twin: &[u8; PAGE_BYTES],
        content: *const u8,
    ) -> io::Result<()> {
        let base = self.mapped(count)?;
        // SAFETY: inside the mapping, promised by our caller, which neither `twin` nor
        // `content` is part of. Whoever else touches it does so as memory that others
        // may change.
        unsafe {
            let target = base.as_ptr().add(page.0 as usize * PAGE_BYTES);
            merge(twin, content, target);
        }
        Ok(())
    }

    /// Copies some pages from `first` on to `target`, if there are `count` altogether. Those
    /// that were never written come out as zeros; bytes that are written meanwhile come
    /// out old or new.
    ///
    /// # Errors
    /// If it has another number of pages, or the system refuses.
    ///
    /// # Safety
    /// There are such pages, and room for them at `target`, which nobody else touches.
    pub(super) unsafe fn copy(
        &self,
        count: u32,
        first: PageId,
        some: u32,
        target: *mut u8,
    ) -> io::Result<()> {
        let base = self.mapped(count)?;
        // SAFETY: inside the mapping, promised by our caller, which the target is no part
        // of. It is copied as memory that others may change.
        unsafe {
            let source = base.as_ptr().add(first.0 as usize * PAGE_BYTES);
            std::ptr::copy_nonoverlapping(source, target, some as usize * PAGE_BYTES);
        }
        Ok(())
    }
}
