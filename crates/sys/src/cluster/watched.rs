//! Permissions by userfaultfd: a page is permitted by installing it, and
//! forbidden by taking it away.
//!
//! Until something is forbidden in a chunk of an area, the kernel serves first
//! accesses there as anywhere else. From then on its pages are installed by us:
//! when they are permitted, or, if those are many, at the first access, then
//! together with their neighbours.

use super::pages::Permission;
use super::permits::{Permits, State};
use crate::userfault::{FirstTouch, FirstWrite, Watch};
use fathomp_base::PAGE_BYTES;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Pages that are installed at once when they are permitted.
const EAGER: usize = 64;
/// Pages around an access that are installed with it: 64 KiB, as the kernel
/// does around an access to a mapped file.
const AROUND: usize = 16;

/// An area of watched pages.
#[derive(Debug)]
struct Watched {
    start: usize,
    /// Where its content lies in the file.
    offset: usize,
    permits: Permits,
}

impl Watched {
    fn addresses(&self, pages: &Range<usize>) -> Range<usize> {
        self.start + pages.start * PAGE_BYTES..self.start + pages.end * PAGE_BYTES
    }
}

/// Watched areas of this process.
#[derive(Debug)]
pub(super) struct Watcher {
    watch: Watch,
    /// Held while pages are installed and taken away, so that the books are
    /// right. Whoever holds it touches no watched page.
    areas: Mutex<Vec<Watched>>,
}

impl Watcher {
    /// Watches nothing yet.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            watch: Watch::new(FirstWrite::Raises)?,
            areas: Mutex::new(Vec::new()),
        })
    }

    /// Watches one more area, all of it permitted; its content lies at `offset`
    /// of the file that is mapped there.
    ///
    /// # Safety
    /// As of [`Watch::register`], from the first permission less on.
    pub(super) unsafe fn add(&self, range: Range<usize>, offset: usize) -> io::Result<()> {
        // SAFETY: promised by our caller.
        unsafe { self.watch.register(range.clone(), FirstTouch::IsServed) }?;
        self.areas().push(Watched {
            start: range.start,
            offset,
            permits: Permits::new(range.len() / PAGE_BYTES),
        });
        Ok(())
    }

    fn areas(&self) -> MutexGuard<'_, Vec<Watched>> {
        self.areas.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Permits so much for pages of an area.
    pub(super) fn permit(
        &self,
        area: usize,
        pages: Range<usize>,
        what: Permission,
    ) -> io::Result<()> {
        let mut areas = self.areas();
        let area = areas.get_mut(area).ok_or(io::ErrorKind::InvalidInput)?;
        if what == Permission::None {
            return self.forbid(area, pages);
        }
        let mut rest = pages;
        while !rest.is_empty() {
            let (pages, before) = area.permits.alike(rest.clone());
            rest.start = pages.end;
            self.change(area, pages, before, what)?;
        }
        Ok(())
    }

    fn forbid(&self, area: &mut Watched, pages: Range<usize>) -> io::Result<()> {
        let addresses = area.addresses(&pages);
        for taken in area.permits.forbid(pages) {
            let taken = area.addresses(&taken);
            // SAFETY: the range is watched already, see `add`.
            unsafe { self.watch.register(taken, FirstTouch::Raises) }?;
        }
        self.watch.forget(addresses)
    }

    /// Permits something for pages that are alike.
    fn change(
        &self,
        area: &mut Watched,
        pages: Range<usize>,
        before: State,
        what: Permission,
    ) -> io::Result<()> {
        if before.permitted == what {
            return Ok(());
        }
        let addresses = area.addresses(&pages);
        let writable = what == Permission::ReadWrite;
        let mut installed = before.installed;
        if installed && writable {
            self.watch.allow(addresses)?;
        } else if installed {
            self.watch.protect(addresses)?;
        } else if pages.len() <= EAGER {
            installed = self.try_to_install(addresses, writable)?;
        }
        let permitted = what;
        let state = State {
            permitted,
            installed,
        };
        area.permits.set(pages, state);
        Ok(())
    }

    /// Installs pages unless the file lacks one.
    fn try_to_install(&self, addresses: Range<usize>, writable: bool) -> io::Result<bool> {
        match self.watch.install(addresses.clone(), writable) {
            Ok(()) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::EFAULT) => {
                // Some may have been installed.
                self.watch.forget(addresses)?;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Serves an access that is permitted; `false` if it is not.
    pub(super) fn serve(
        &self,
        area: usize,
        page: usize,
        write: bool,
        file: &File,
    ) -> io::Result<bool> {
        let mut areas = self.areas();
        let area = areas.get_mut(area).ok_or(io::ErrorKind::InvalidInput)?;
        let state = area.permits.get(page);
        let writable = match state.permitted {
            Permission::None => return Ok(false),
            Permission::Read if write => return Ok(false),
            what => what == Permission::ReadWrite,
        };
        let pages = match state.installed {
            // Another thread was faster, or the kernel has paged it out.
            true => page..page + 1,
            false => area.permits.around(page, AROUND),
        };
        let addresses = area.addresses(&pages);
        let offset = area.offset + pages.start * PAGE_BYTES;
        allocate(file, offset, addresses.len())?;
        self.watch.install(addresses.clone(), writable)?;
        if state.installed && writable {
            self.watch.allow(addresses)?;
        }
        let installed = true;
        area.permits.set(pages, State { installed, ..state });
        Ok(true)
    }
}

/// Makes pages of a file that it does not have yet.
fn allocate(file: &File, offset: usize, bytes: usize) -> io::Result<()> {
    let [offset, bytes] = [offset, bytes].map(i64::try_from);
    let too_far = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let (offset, bytes) = (offset.map_err(too_far)?, bytes.map_err(too_far)?);
    // SAFETY: an open descriptor; existing content stays as it is.
    match unsafe { libc::fallocate(file.as_raw_fd(), 0, offset, bytes) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
