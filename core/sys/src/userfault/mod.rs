//! Pages watched without changing their protection: Linux's userfaultfd.
//!
//! A [`Watch`] covers mappings of shared memory (a memfd) that the program uses.
//! The runtime fills a page through a second mapping of the same file, which is
//! not watched, and then lets the program at it:
//!
//! - A page that is not installed raises SIGBUS in the thread that touches it
//!   (`MINOR`, `MISSING` and `SIGBUS`: the file may or may not have the page, the
//!   mapping has not), unless the kernel is to serve it.
//! - The first write to a page installed or protected as read-only either
//!   raises SIGBUS too, or is let through by the kernel and found later by
//!   [`Watch::take_written`] (`WP_ASYNC`).
//!
//! Against `mprotect`: mappings are never split, however finely states
//! alternate; a write costs a page fault without a signal; and system calls
//! that write to a protected page succeed where writes are recorded. Kernels
//! before 6.4 have too little of it, before 6.7 no recording ([`Support`]).
//!
//! Declarations follow `linux/userfaultfd.h` and `linux/fs.h` of Linux 6.12:
//! the C library's headers that we build against are older.

mod kernel;

use crate::shm::page_size;
use kernel::{Continue, Copied, PageRegion, Register, ScanArgument, Span, WriteProtect};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// What happens at the first write to a page that is not writable yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstWrite {
    /// SIGBUS in the thread that writes.
    Raises,
    /// It is let through; [`Watch::take_written`] tells.
    IsRecorded,
}

/// What happens at the first access to a page that is not installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstTouch {
    /// SIGBUS in the thread that touches it.
    Raises,
    /// The kernel installs the page as writable with what the file has, or
    /// zeros: for memory whose content is always valid, and where only writes
    /// after [`Watch::take_written`] or [`Watch::protect`] matter.
    IsServed,
}

/// What this kernel offers to this user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Support {
    /// Pages can be watched with [`FirstWrite::Raises`] (Linux 6.4).
    pub raises: bool,
    /// And with [`FirstWrite::IsRecorded`] (Linux 6.7).
    pub records: bool,
}

impl Support {
    /// Asks the kernel.
    #[must_use]
    pub fn probe() -> Self {
        Self {
            raises: Watch::new(FirstWrite::Raises).is_ok(),
            records: Watch::new(FirstWrite::IsRecorded).is_ok(),
        }
    }
}

/// Watched mappings of this process. Children made by `fork` watch nothing.
#[derive(Debug)]
pub struct Watch {
    faults: OwnedFd,
    /// `/proc/self/pagemap`, where written pages are asked for.
    pagemap: File,
    first_write: FirstWrite,
}

impl Watch {
    /// Opens the kernel's interface; watches nothing yet.
    ///
    /// # Errors
    /// `Unsupported` if the kernel lacks what `first_write` needs, otherwise
    /// what it says, such as that this user may not.
    pub fn new(first_write: FirstWrite) -> io::Result<Self> {
        let faults = kernel::open()?;
        let mut features = kernel::SIGBUS
            | kernel::MISSING_SHMEM
            | kernel::MINOR_SHMEM
            | kernel::WP_SHMEM
            | kernel::WP_UNPOPULATED;
        if first_write == FirstWrite::IsRecorded {
            features |= kernel::WP_ASYNC;
        }
        kernel::agree(&faults, features)?;
        let watch = Self {
            faults,
            pagemap: File::open("/proc/self/pagemap")?,
            first_write,
        };
        if first_write == FirstWrite::IsRecorded {
            // SAFETY: an empty scan.
            unsafe { kernel::scan(watch.pagemap.as_raw_fd(), &mut ScanArgument::empty()) }?;
        }
        Ok(watch)
    }

    /// What the first write to a page does here.
    #[must_use]
    pub fn first_write(&self) -> FirstWrite {
        self.first_write
    }

    /// Watches a mapping of shared memory, or watches it in another way. All its
    /// pages count as not installed from here on.
    ///
    /// # Errors
    /// What the kernel says; `EINVAL` if it is no shared memory or not whole
    /// pages.
    ///
    /// # Safety
    /// Whoever accesses the range is prepared for SIGBUS: it is the program,
    /// and a handler installs the page.
    pub unsafe fn register(&self, range: Range<usize>, first_touch: FirstTouch) -> io::Result<()> {
        let absent = match first_touch {
            FirstTouch::Raises => kernel::REGISTER_MISSING | kernel::REGISTER_MINOR,
            FirstTouch::IsServed => {
                // Registering again only ever adds. What is accessed before
                // that is served, as it should be.
                let mut span = Span::from(range.clone());
                // SAFETY: the structure that the request asks for.
                unsafe { kernel::request(self.fd(), kernel::UNREGISTER, &raw mut span) }?;
                0
            }
        };
        let mut request = Register {
            range: range.clone().into(),
            mode: kernel::REGISTER_WP | absent,
            ioctls: 0,
        };
        // SAFETY: the structure that the request asks for.
        unsafe { kernel::request(self.fd(), kernel::REGISTER, &raw mut request) }?;
        self.forget(range)
    }

    /// Lets the program at pages that are not installed, for reading or, with
    /// `writable`, for everything. Their content must be in the file: written
    /// through the other mapping, which makes the page even if it is all zero.
    ///
    /// Another thread may have been faster, then nothing changes.
    ///
    /// # Errors
    /// What the kernel says; `EFAULT` for a page that the file does not have.
    pub fn install(&self, range: Range<usize>, writable: bool) -> io::Result<()> {
        let mode = if writable { 0 } else { kernel::CONTINUE_WP };
        let mut rest = range;
        while !rest.is_empty() {
            let mut request = Continue {
                range: rest.clone().into(),
                mode,
                mapped: 0,
            };
            // SAFETY: the structure that the request asks for.
            let done = unsafe { kernel::request(self.fd(), kernel::CONTINUE, &raw mut request) };
            rest.start += match Copied::of(done, request.mapped)? {
                Copied::Bytes(bytes) => bytes,
                Copied::WasThere => page_size(),
            };
        }
        Ok(())
    }

    /// Makes installed pages read-only; the next write to each is noticed.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn protect(&self, range: Range<usize>) -> io::Result<()> {
        self.set_protection(range, kernel::WRITEPROTECT_WP)
    }

    /// Makes installed pages writable, unnoticed.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn allow(&self, range: Range<usize>) -> io::Result<()> {
        self.set_protection(range, 0)
    }

    /// Prepares installed pages that are writable for being written soon.
    ///
    /// The kernel (6.18) does not make the entries of its page table for shared memory writable
    /// again when it lifts their protection, so each page's next write is one more page fault,
    /// which it serves. To have it prepare them together takes a third of that; but an entry
    /// that is writable costs more to protect again.
    pub fn prepare(&self, range: Range<usize>) {
        // SAFETY: does what writes to these pages would do, but for the writes. What cannot be
        // prepared, as somebody has taken a page away meanwhile, is served when it is touched.
        unsafe {
            libc::madvise(
                range.start as *mut libc::c_void,
                range.len(),
                libc::MADV_POPULATE_WRITE,
            )
        };
    }

    fn set_protection(&self, range: Range<usize>, mode: u64) -> io::Result<()> {
        loop {
            let mut request = WriteProtect {
                range: range.clone().into(),
                mode,
            };
            // SAFETY: the structure that the request asks for.
            match unsafe { kernel::request(self.fd(), kernel::WRITEPROTECT, &raw mut request) } {
                // A mapping is changing at the moment.
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {}
                done => return done,
            }
        }
    }

    /// Takes pages away: they are not installed any more. Their content stays
    /// in the file.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn forget(&self, range: Range<usize>) -> io::Result<()> {
        // SAFETY: a mapping of a file: no content is lost. `register`'s caller
        // promised that the program is prepared to fault on it.
        let done = unsafe {
            libc::madvise(
                range.start as *mut libc::c_void,
                range.len(),
                libc::MADV_DONTNEED,
            )
        };
        kernel::check(done)
    }

    /// Appends to `written` the installed pages of `range` that may be written,
    /// in order and joined, and makes them read-only in the same step, so that
    /// no write between two calls is missed: those written since they were
    /// protected, and those that were allowed or installed as writable.
    ///
    /// # Errors
    /// `Unsupported` unless writes are recorded; otherwise what the kernel says.
    pub fn take_written(
        &self,
        range: Range<usize>,
        written: &mut Vec<Range<usize>>,
    ) -> io::Result<()> {
        if self.first_write != FirstWrite::IsRecorded {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut regions = [PageRegion::default(); 128];
        let mut from = range.start;
        while from < range.end {
            let mut argument = ScanArgument::written(from..range.end, &mut regions);
            // SAFETY: `regions` is not touched between here and there.
            let found = unsafe { kernel::scan(self.pagemap.as_raw_fd(), &mut argument) }?;
            let found = regions.get(..found).unwrap_or(&regions);
            for region in found {
                let region = region.range();
                match written.last_mut() {
                    Some(last) if last.end == region.start => last.end = region.end,
                    _ => written.push(region),
                }
            }
            let to = argument.walked();
            if to <= from {
                return Err(io::ErrorKind::InvalidData.into());
            }
            from = to;
        }
        Ok(())
    }

    fn fd(&self) -> RawFd {
        self.faults.as_raw_fd()
    }
}

#[cfg(test)]
mod tests;
