//! Ranges of a process's memory as pages that can be watched: each page is
//! mapped twice, once where the program uses it, protected as somebody says,
//! and once where only the runtime reaches it, always readable and writable.

mod words;

use super::backing::Backing;
use super::copy::{PageCopy, copy_aside};
use super::ends::Protections;
use super::permission::protect;
use super::present::Present;
use super::watched::Watcher;
use crate::signal_chain::Fault;
use crate::userfault::Support;
use fathomp_types::{PAGE_BYTES, PageId};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering};

pub use super::permission::Permission;

/// How accesses that are not permitted are noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Protections of mappings; SIGSEGV.
    Protections,
    /// Linux's userfaultfd; SIGBUS. Accesses that are permitted may raise it,
    /// too: [`Pages::serve`].
    Userfaults,
}

impl Scheme {
    /// The fastest that this kernel has.
    #[must_use]
    pub fn best() -> Self {
        if Support::probe().raises {
            Self::Userfaults
        } else {
            Self::Protections
        }
    }

    /// The signal of an access that is not permitted.
    #[must_use]
    pub fn fault(self) -> Fault {
        match self {
            Self::Protections => Fault::Segment,
            Self::Userfaults => Fault::Bus,
        }
    }
}

/// A range of memory to be watched.
#[derive(Clone, Debug)]
pub struct Area {
    /// Page-aligned addresses.
    pub range: Range<usize>,
    /// Addresses before this one have content even where no page is present
    /// yet, because they are mapped from a file.
    pub file_end: usize,
    /// Addresses from this one on were never touched and are zero.
    pub used_end: usize,
    /// Addresses from this one on, that of a page or the range's end, are closed: an access
    /// fails as where nothing is mapped, until [`Pages::open`] has come there.
    pub open_end: usize,
}

impl Area {
    /// Pages that are open at first.
    fn open_pages(&self) -> usize {
        let end = self.open_end.clamp(self.range.start, self.range.end);
        (end - self.range.start) / PAGE_BYTES
    }
}

/// Watched pages, numbered through all areas.
#[derive(Debug)]
pub struct Pages {
    areas: Vec<(Range<usize>, u32)>,
    alias: NonNull<u8>,
    count: u32,
    memory: Backing,
    protections: Protections,
    watcher: Option<Watcher>,
}

// SAFETY: the mappings belong to the process; what is done with the bytes is
// ordered by whoever decides about permissions (see `read` and `write`).
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

/// Takes an address range that nothing uses, as zeroed memory that costs
/// nothing until it is touched.
///
/// # Errors
/// If something is mapped there, or the system refuses.
pub fn reserve(range: &Range<usize>) -> io::Result<()> {
    // SAFETY: replaces nothing.
    let mapped = unsafe {
        libc::mmap(
            std::ptr::with_exposed_provenance_mut(range.start),
            range.len(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE
                | libc::MAP_ANONYMOUS
                | libc::MAP_NORESERVE
                | libc::MAP_FIXED_NOREPLACE,
            -1,
            0,
        )
    };
    if mapped == libc::MAP_FAILED {
        return failed();
    }
    if mapped.addr() != range.start {
        // A kernel before 4.17 takes the flag for a hint.
        return Err(io::ErrorKind::AddrInUse.into());
    }
    Ok(())
}

/// The kernel did not give what watching pages needs.
fn failed<T>() -> io::Result<T> {
    Err(io::Error::last_os_error())
}

impl Pages {
    /// Takes areas over: what they contain is copied, and the memory behind
    /// them replaced by `memory`, which is new, all of it permitted to be read and
    /// written.
    ///
    /// # Errors
    /// If the system refuses memory or mappings, or there are too many pages.
    ///
    /// # Safety
    /// The areas are page-aligned, as their open ends are, do not overlap, are readable and
    /// belong to the program; no other thread runs. Before less is permitted, there is a
    /// handler for [`Scheme::fault`] that serves accesses.
    pub unsafe fn take_over(areas: &[Area], scheme: Scheme, memory: Backing) -> io::Result<Self> {
        let mut numbered = Vec::new();
        let mut count = 0_usize;
        let too_many = || io::Error::from(io::ErrorKind::InvalidInput);
        for area in areas {
            numbered.push((
                area.range.clone(),
                u32::try_from(count).map_err(|_| too_many())?,
            ));
            count += area.range.len() / PAGE_BYTES;
        }
        let number = u32::try_from(count).map_err(|_| too_many())?;
        memory.file().set_len((count * PAGE_BYTES) as u64)?;
        let watcher = match scheme {
            Scheme::Protections => None,
            Scheme::Userfaults => Some(Watcher::new(memory.file())?),
        };
        // SAFETY: a new mapping at an address of the kernel's choice.
        let alias = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                count * PAGE_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                memory.file().as_raw_fd(),
                0,
            )
        };
        if alias == libc::MAP_FAILED {
            return failed();
        }
        let pages = Self {
            areas: numbered,
            alias: NonNull::new(alias.cast()).ok_or(io::ErrorKind::OutOfMemory)?,
            count: number,
            memory,
            protections: Protections::new(
                areas
                    .iter()
                    .map(|area| (area.range.start, area.open_pages())),
            ),
            watcher,
        };
        let present = Present::open()?;
        for (area, (_, first)) in areas.iter().zip(&pages.areas) {
            pages.copy_in(area, *first, &present)?;
            let offset = i64::try_from(*first as usize * PAGE_BYTES).map_err(|_| too_many())?;
            // SAFETY: replaces memory of the program, whose content has been
            // copied, by a mapping of the same content; promised by our caller.
            let mapped = unsafe {
                libc::mmap(
                    std::ptr::with_exposed_provenance_mut(area.range.start),
                    area.range.len(),
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_NORESERVE,
                    pages.memory.file().as_raw_fd(),
                    offset,
                )
            };
            if mapped == libc::MAP_FAILED {
                return failed();
            }
            let (start, open) = (area.range.start, area.open_pages());
            let closed = area.range.len() / PAGE_BYTES - open;
            if closed > 0 {
                protect(start + open * PAGE_BYTES, closed, Permission::None)?;
            }
            if let Some(watcher) = &pages.watcher {
                let offset = *first as usize * PAGE_BYTES;
                // SAFETY: promised by our caller.
                unsafe { watcher.add(area.range.clone(), offset, open) }?;
            }
        }
        Ok(pages)
    }

    fn copy_in(&self, area: &Area, first: u32, present: &Present) -> io::Result<()> {
        let mut wanted = present.pages(&(area.range.start..area.used_end.min(area.range.end)))?;
        let from_file = area
            .file_end
            .saturating_sub(area.range.start)
            .div_ceil(PAGE_BYTES);
        wanted
            .iter_mut()
            .take(from_file)
            .for_each(|page| *page = true);
        for (index, _) in wanted.iter().enumerate().filter(|(_, wanted)| **wanted) {
            let source = area.range.start + index * PAGE_BYTES;
            let page = PageId(first + u32::try_from(index).unwrap_or(u32::MAX));
            // SAFETY: the source is readable, promised to `take_over`; the
            // target is this page of the alias; they are different mappings.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    std::ptr::with_exposed_provenance::<u8>(source),
                    self.alias_of(page),
                    PAGE_BYTES,
                );
            }
        }
        Ok(())
    }

    /// Number of pages.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The page that contains an address.
    #[inline]
    #[must_use]
    pub fn page_of(&self, address: usize) -> Option<PageId> {
        let area = self
            .areas
            .iter()
            .find(|(range, _)| range.contains(&address))?;
        let index = (address - area.0.start) / PAGE_BYTES;
        Some(PageId(area.1 + u32::try_from(index).ok()?))
    }

    /// Address of a page's first byte in the program's view, if there is such a
    /// page.
    #[must_use]
    pub fn address_of(&self, page: PageId) -> Option<usize> {
        let (area, index) = self.place_of(page)?;
        Some(self.areas[area].0.start + index * PAGE_BYTES)
    }

    /// Number of a page's area, and the page's number in it.
    fn place_of(&self, page: PageId) -> Option<(usize, usize)> {
        let after = self.areas.partition_point(|(_, first)| *first <= page.0);
        let area = after.checked_sub(1)?;
        let (range, first) = self.areas.get(area)?;
        let index = (page.0 - first) as usize;
        (index < range.len() / PAGE_BYTES).then_some((area, index))
    }

    /// Permits so much for `count` pages from `first` on.
    ///
    /// # Errors
    /// If there are no such pages or the kernel is out of mappings.
    pub fn permit(&self, first: PageId, count: u32, what: Permission) -> io::Result<()> {
        self.change(first, count, what, false)
    }

    /// Permits everything for pages that are written next.
    ///
    /// # Errors
    /// As of [`Self::permit`].
    pub fn permit_to_write(&self, first: PageId, count: u32) -> io::Result<()> {
        self.change(first, count, Permission::ReadWrite, true)
    }

    fn change(&self, first: PageId, count: u32, what: Permission, soon: bool) -> io::Result<()> {
        let mut page = first;
        let mut left = count;
        while left > 0 {
            let place = self.place_of(page);
            let (area, index) = place.ok_or(io::ErrorKind::InvalidInput)?;
            let behind = self.areas[area].0.len() / PAGE_BYTES - index;
            let here = behind.min(left as usize);
            match &self.watcher {
                Some(watcher) => watcher.permit(area, index..index + here, what, soon)?,
                None => self.protections.permit(area, index..index + here, what)?,
            }
            // Not more than `left`.
            let here = u32::try_from(here).unwrap_or(left);
            page = PageId(page.0 + here);
            left -= here;
        }
        Ok(())
    }

    /// Opens the area that has `address` up to there, that of a page or an area's end. `false`
    /// if it was open so far.
    ///
    /// # Errors
    /// If there is no such area, or the kernel is out of mappings.
    pub fn open(&self, address: usize) -> io::Result<bool> {
        let found = self.areas.iter().enumerate().find(|(_, (range, _))| {
            // The end of one may be the start of the next, which has nothing to open.
            range.start < address && address <= range.end
        });
        let Some((area, (range, _))) = found else {
            return Ok(false);
        };
        let end = (address - range.start) / PAGE_BYTES;
        match &self.watcher {
            Some(watcher) => watcher.open(area, end),
            None => self.protections.open(area, end),
        }
    }

    /// Makes every access to a page fail for good, whatever is permitted: the
    /// signal is SIGSEGV, as at any address where nothing is.
    ///
    /// # Errors
    /// If there is no such page or the kernel is out of mappings.
    pub fn guard(&self, page: PageId) -> io::Result<()> {
        let address = self.address_of(page).ok_or(io::ErrorKind::InvalidInput)?;
        protect(address, 1, Permission::None)
    }

    /// Serves an access that faulted although it is permitted, as first accesses
    /// do under [`Scheme::Userfaults`]. `false` if it is not permitted.
    ///
    /// # Errors
    /// If there is no such page or no memory for it.
    pub fn serve(&self, page: PageId, write: bool) -> io::Result<bool> {
        let Some(watcher) = &self.watcher else {
            return Ok(false);
        };
        let place = self.place_of(page);
        let (area, index) = place.ok_or(io::ErrorKind::InvalidInput)?;
        watcher.serve(area, index, write)
    }

    fn alias_of(&self, page: PageId) -> *mut u8 {
        debug_assert!(page.0 < self.count);
        // SAFETY: inside the alias, which covers all pages.
        unsafe { self.alias.as_ptr().add(page.0 as usize * PAGE_BYTES) }
    }

    #[inline]
    fn check(&self, page: PageId, offset: usize, length: usize) -> io::Result<()> {
        let inside = page.0 < self.count && offset <= PAGE_BYTES && length <= PAGE_BYTES - offset;
        inside
            .then_some(())
            .ok_or(io::ErrorKind::InvalidInput.into())
    }

    /// The first page from `page` on that somebody has touched since there is this memory;
    /// those before it are zero. What is touched meanwhile counts or does not.
    ///
    /// # Errors
    /// If the kernel does not know.
    pub fn first_touched(&self, page: PageId) -> io::Result<PageId> {
        self.memory.first_touched(page, self.count)
    }

    /// Copies a page's content out, to where nobody looks at it soon: so that it leaves
    /// the caches to the program. If the program writes the page meanwhile, the bytes it
    /// writes come out old or new.
    ///
    /// # Errors
    /// If there is no such page.
    pub fn keep(&self, page: PageId, copy: &mut PageCopy) -> io::Result<()> {
        self.check(page, 0, PAGE_BYTES)?;
        // SAFETY: a page of the alias, copied as memory that others may change: the bytes
        // are not looked at by the copy. A copy is aligned.
        unsafe { copy_aside(self.alias_of(page), copy) };
        Ok(())
    }

    /// The same for a copy that is looked at next.
    ///
    /// # Errors
    /// If there is no such page.
    pub fn read(&self, page: PageId, into: &mut [u8; PAGE_BYTES]) -> io::Result<()> {
        self.check(page, 0, PAGE_BYTES)?;
        // SAFETY: a page of the alias, copied as memory that others may change:
        // the bytes are not looked at by the copy.
        unsafe {
            std::ptr::copy_nonoverlapping(self.alias_of(page), into.as_mut_ptr(), PAGE_BYTES)
        };
        Ok(())
    }

    /// Whether a page, which the program must not write meanwhile, differs from `twin`.
    ///
    /// # Errors
    /// If there is no such page.
    pub fn differs(&self, page: PageId, twin: &[u8; PAGE_BYTES]) -> io::Result<bool> {
        self.check(page, 0, PAGE_BYTES)?;
        // SAFETY: two pages; if the program writes this one nevertheless, the answer says
        // nothing.
        let order = unsafe {
            let page = self.alias_of(page).cast::<libc::c_void>();
            libc::memcmp(page, twin.as_ptr().cast(), PAGE_BYTES)
        };
        Ok(order != 0)
    }

    /// Puts bytes into a page.
    ///
    /// # Errors
    /// If they do not fit into a page.
    #[inline]
    pub fn write(&self, page: PageId, offset: usize, bytes: &[u8]) -> io::Result<()> {
        self.check(page, offset, bytes.len())?;
        // SAFETY: inside one page of the alias, which `bytes` is no part of.
        unsafe {
            let target = self.alias_of(page).add(offset);
            match <[u8; size_of::<u64>()]>::try_from(bytes) {
                // What changed is words more often than not: these need no call.
                Ok(word) => target.cast::<[u8; size_of::<u64>()]>().write(word),
                Err(_) => std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len()),
            }
        }
        Ok(())
    }

    /// Touches every page of a range as the program would, so that the kernel
    /// can use the range for it afterwards. Addresses elsewhere are left alone.
    pub fn touch(&self, range: Range<usize>, write: bool) {
        let mut address = range.start;
        while address < range.end && self.page_of(address).is_some() {
            let byte = std::ptr::with_exposed_provenance_mut::<u8>(address);
            // SAFETY: a byte of a mapped page; if the page is not permitted, the
            // access is served as one of the program's. Exchanging 0 for 0 does not
            // undo what other threads write, and is a write to the processor whatever
            // is there. (Adding 0 is not: the compiler makes a load of it.)
            unsafe {
                if write {
                    let _ = (*byte.cast::<AtomicU8>()).compare_exchange(
                        0,
                        0,
                        Ordering::Relaxed,
                        Ordering::Relaxed,
                    );
                } else {
                    byte.read_volatile();
                }
            }
            address = (address / PAGE_BYTES + 1) * PAGE_BYTES;
        }
    }

    /// Zeroes a block of the program's heap as the program would.
    pub fn clear(&self, address: usize, bytes: usize) {
        let end = address.saturating_add(bytes).saturating_sub(1);
        if bytes > 0 && self.page_of(address).is_some() && self.page_of(end).is_some() {
            let block = std::ptr::with_exposed_provenance_mut::<u8>(address);
            // SAFETY: watched memory; accesses that are not permitted are served.
            unsafe { block.write_bytes(0, bytes) };
        }
    }

    /// A page's content, for comparing it in place.
    ///
    /// # Safety
    /// Nobody may write the page while the reference lives: the program is not
    /// permitted to, and whoever calls `write` is the caller.
    #[must_use]
    pub unsafe fn content(&self, page: PageId) -> Option<&[u8; PAGE_BYTES]> {
        self.check(page, 0, PAGE_BYTES).ok()?;
        // SAFETY: a page of the alias; unchanged, promised by our caller.
        Some(unsafe { &*self.alias_of(page).cast::<[u8; PAGE_BYTES]>() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Anonymous memory as a program might have it.
    fn memory(pages: usize) -> Range<usize> {
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                pages * PAGE_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(base, libc::MAP_FAILED);
        base as usize..base as usize + pages * PAGE_BYTES
    }

    #[test]
    fn content_survives_and_both_views_agree() {
        let range = memory(64);
        let at = |page: usize| {
            std::ptr::with_exposed_provenance_mut::<u8>(range.start + page * PAGE_BYTES)
        };
        // SAFETY: mapped above.
        unsafe { at(3).write(33) };
        let area = Area {
            range: range.clone(),
            file_end: range.start,
            used_end: range.end,
            open_end: range.end,
        };
        // SAFETY: nobody else knows this memory.
        let pages =
            unsafe { Pages::take_over(&[area], Scheme::Protections, Backing::new().unwrap()) }
                .unwrap();
        let mut copy = [0; PAGE_BYTES];
        pages.read(PageId(3), &mut copy).unwrap();
        assert_eq!(copy[0], 33);
        pages.write(PageId(5), 10, &[1, 2, 3]).unwrap();
        // SAFETY: readable and writable after taking over.
        assert_eq!(unsafe { at(5).add(11).read() }, 2);
        pages.permit(PageId(5), 2, Permission::Read).unwrap();
        // SAFETY: readable.
        assert_eq!(unsafe { at(5).add(12).read() }, 3);
        assert_eq!(
            pages.page_of(range.start + 5 * PAGE_BYTES + 7),
            Some(PageId(5))
        );
        assert_eq!(pages.address_of(PageId(63)), Some(range.end - PAGE_BYTES));
        assert_eq!(pages.address_of(PageId(64)), None);
        assert!(pages.permit(PageId(63), 2, Permission::Read).is_err());
        assert!(pages.write(PageId(63), 4095, &[1, 2]).is_err());
    }
}
