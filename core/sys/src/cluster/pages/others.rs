//! Pages of other processes, beside those here.

use super::Pages;
use crate::cluster::backing::Backing;
use crate::cluster::copy::PageCopy;
use fathomp_types::{PAGE_BYTES, PageId};
use std::io;

impl Pages {
    /// Replaces the content of `count` pages from `first` on, which the program may
    /// not touch, by that of the same pages of another process.
    ///
    /// # Errors
    /// If there are no such pages.
    pub fn copy_from(&self, other: &Backing, first: PageId, count: u32) -> io::Result<()> {
        let end = first.0.checked_add(count).filter(|end| *end <= self.count);
        end.ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: pages of the alias. Whoever else touches them does so as memory that
        // others may change, see `read` and `write`.
        unsafe { other.copy(self.count, first, count, self.alias_of(first)) }
    }

    /// Where a byte lies that can be read and written whatever the program is permitted: of the
    /// page here, or of the same page of another process.
    ///
    /// # Errors
    /// If there is no such byte, or the system refuses.
    pub fn place_in(
        &self,
        other: Option<&Backing>,
        page: PageId,
        offset: usize,
    ) -> io::Result<usize> {
        self.check(page, offset, 1)?;
        let page = match other {
            None => self.alias_of(page),
            // A page of the mapping, which is as large as the alias.
            Some(other) => other
                .mapped(self.count)?
                .as_ptr()
                .wrapping_add(page.0 as usize * PAGE_BYTES),
        };
        Ok(page.wrapping_add(offset).expose_provenance())
    }

    /// Copies a page of another process out.
    ///
    /// # Errors
    /// If there is no such page.
    pub fn copy_out(&self, other: &Backing, page: PageId, copy: &mut PageCopy) -> io::Result<()> {
        self.check(page, 0, PAGE_BYTES)?;
        // SAFETY: there is such a page; a copy has room for one, and is its owner's alone.
        unsafe { other.copy(self.count, page, 1, copy.as_mut_ptr()) }
    }

    /// Writes what differs from `twin` in a page, which the program must not write
    /// meanwhile, into the same page of another process.
    ///
    /// # Errors
    /// If there is no such page.
    pub fn merge_into(
        &self,
        other: &Backing,
        page: PageId,
        twin: &[u8; PAGE_BYTES],
    ) -> io::Result<()> {
        self.check(page, 0, PAGE_BYTES)?;
        // SAFETY: there is such a page here, and as many there; promised by our caller.
        unsafe { other.merge(self.count, page, twin, self.alias_of(page)) }
    }
}
