//! Permissions by userfaultfd: a page is permitted by installing it, and
//! forbidden by taking it away.
//!
//! Until something is forbidden in a chunk of an area, the kernel serves first
//! accesses there as anywhere else. From then on its pages are installed by us:
//! what is permitted at once, so that system calls do not fail on it, or, if
//! those are very many pages, at the first access together with neighbours.
//!
//! Pages behind an area's open end are permitted as all others, but installed no sooner than
//! they are open: the kernel installs nothing where a mapping ends.

use super::permission::{Permission, protect};
use super::permits::{CHUNK, Permits, State};
use crate::userfault::{FirstTouch, FirstWrite, Watch};
use fathomp_types::PAGE_BYTES;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Pages that are installed at once when they are permitted.
const EAGER: usize = CHUNK;
/// Pages around an access that are installed with it: 64 KiB, as the kernel
/// does around an access to a mapped file.
const AROUND: usize = 16;

/// An area of watched pages.
#[derive(Debug)]
struct Watched {
    start: usize,
    /// Where its content lies in the file.
    offset: usize,
    /// Pages that are open, see [`super::pages::Area`].
    open: usize,
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
    /// What is mapped there.
    file: File,
    /// Held while pages are installed and taken away, so that the books are
    /// right. Whoever holds it touches no watched page.
    areas: Mutex<Vec<Watched>>,
}

impl Watcher {
    /// Watches nothing yet. `file` is what will be mapped in the areas.
    pub(super) fn new(file: &File) -> io::Result<Self> {
        Ok(Self {
            watch: Watch::new(FirstWrite::Raises)?,
            file: file.try_clone()?,
            areas: Mutex::new(Vec::new()),
        })
    }

    /// Watches one more area, all of it permitted, so many pages of it open; its content lies
    /// at `offset` of the file that is mapped there.
    ///
    /// # Safety
    /// As of [`Watch::register`], from the first permission less on.
    pub(super) unsafe fn add(
        &self,
        range: Range<usize>,
        offset: usize,
        open: usize,
    ) -> io::Result<()> {
        // SAFETY: promised by our caller.
        unsafe { self.watch.register(range.clone(), FirstTouch::IsServed) }?;
        self.areas().push(Watched {
            start: range.start,
            offset,
            open,
            permits: Permits::new(range.len() / PAGE_BYTES),
        });
        Ok(())
    }

    /// Opens the pages of an area before `end`. `false` if they were.
    pub(super) fn open(&self, area: usize, end: usize) -> io::Result<bool> {
        let mut areas = self.areas();
        let area = areas.get_mut(area).ok_or(io::ErrorKind::InvalidInput)?;
        if end <= area.open {
            return Ok(false);
        }
        let address = area.start + area.open * PAGE_BYTES;
        protect(address, end - area.open, Permission::ReadWrite)?;
        area.open = end;
        Ok(true)
    }

    fn areas(&self) -> MutexGuard<'_, Vec<Watched>> {
        self.areas.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Permits so much for pages of an area, of which `soon` says that they will be used so.
    pub(super) fn permit(
        &self,
        area: usize,
        pages: Range<usize>,
        what: Permission,
        soon: bool,
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
            self.change(area, pages, before, what, soon)?;
        }
        Ok(())
    }

    fn forbid(&self, area: &mut Watched, pages: Range<usize>) -> io::Result<()> {
        let addresses = area.addresses(&pages);
        for taken in area.permits.forbid(pages.clone()) {
            // SAFETY: the range is watched already, see `add`.
            unsafe {
                self.watch
                    .register(area.addresses(&taken), FirstTouch::Raises)
            }?;
            for mut rest in outside(&taken, &pages) {
                while !rest.is_empty() {
                    let (alike, state) = area.permits.alike(rest.clone());
                    rest.start = alike.end;
                    self.install(area, alike, state)?;
                }
            }
        }
        self.watch.forget(addresses)
    }

    /// Installs pages that are alike and not installed, as far as they are
    /// permitted and open.
    fn install(&self, area: &mut Watched, pages: Range<usize>, state: State) -> io::Result<()> {
        let pages = pages.start..pages.end.min(area.open);
        if state.permitted == Permission::None || pages.is_empty() {
            return Ok(());
        }
        let addresses = area.addresses(&pages);
        let writable = state.permitted == Permission::ReadWrite;
        match self.watch.install(addresses.clone(), writable) {
            // The file lacks some, which nobody has written yet.
            Err(lacks) if lacks.raw_os_error() == Some(libc::EFAULT) => {
                let offset = area.offset + pages.start * PAGE_BYTES;
                allocate(&self.file, offset, addresses.len())?;
                self.watch.install(addresses, writable)?;
            }
            done => done?,
        }
        let installed = true;
        area.permits.set(pages, State { installed, ..state });
        Ok(())
    }

    /// Permits something for pages that are alike.
    fn change(
        &self,
        area: &mut Watched,
        pages: Range<usize>,
        before: State,
        what: Permission,
        soon: bool,
    ) -> io::Result<()> {
        if before.permitted == what {
            return Ok(());
        }
        let addresses = area.addresses(&pages);
        let writable = what == Permission::ReadWrite;
        let state = State {
            permitted: what,
            ..before
        };
        area.permits.set(pages.clone(), state);
        match (state.installed, writable) {
            (true, true) => {
                self.watch.allow(addresses.clone())?;
                if soon {
                    self.watch.prepare(addresses);
                }
                Ok(())
            }
            (true, false) => self.watch.protect(addresses),
            (false, _) if pages.len() <= EAGER => self.install(area, pages, state),
            (false, _) => Ok(()),
        }
    }

    /// Serves an access that is permitted; `false` if it is not.
    pub(super) fn serve(&self, area: usize, page: usize, write: bool) -> io::Result<bool> {
        let mut areas = self.areas();
        let area = areas.get_mut(area).ok_or(io::ErrorKind::InvalidInput)?;
        let state = area.permits.get(page);
        match state.permitted {
            Permission::None => return Ok(false),
            Permission::Read if write => return Ok(false),
            _ => {}
        }
        let pages = match state.installed {
            // Another thread was faster, or the kernel has paged it out.
            true => page..page + 1,
            false => area.permits.around(page, AROUND),
        };
        if state.installed && state.permitted == Permission::ReadWrite {
            self.watch.allow(area.addresses(&pages))?;
        }
        self.install(area, pages, state)?;
        Ok(true)
    }
}

/// The parts of a range that another one lacks.
fn outside(all: &Range<usize>, without: &Range<usize>) -> [Range<usize>; 2] {
    [
        all.start..without.start.clamp(all.start, all.end),
        without.end.clamp(all.start, all.end)..all.end,
    ]
}

/// Makes pages of a file that it does not have yet.
fn allocate(file: &File, offset: usize, bytes: usize) -> io::Result<()> {
    let [offset, bytes] = [offset, bytes].map(i64::try_from);
    let too_far = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let (offset, bytes) = (offset.map_err(too_far)?, bytes.map_err(too_far)?);
    loop {
        // SAFETY: an open descriptor; existing content stays as it is.
        if unsafe { libc::fallocate(file.as_raw_fd(), 0, offset, bytes) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        // A signal came, which has been handled or put off when this is tried again.
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
