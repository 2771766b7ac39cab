//! Areas that end earlier than they might: what lies behind is closed, so that an access there
//! ends as where nothing is mapped, and is opened as the area grows.
//!
//! What is permitted of pages that are closed is noted, and holds once they are open.

use super::permission::{Permission, protect};
use fathomp_types::PAGE_BYTES;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Permissions of areas under [`Scheme::Protections`](super::pages::Scheme).
#[derive(Debug)]
pub(super) struct Protections(Vec<Mutex<Protected>>);

#[derive(Debug)]
struct Protected {
    start: usize,
    /// Pages that are open.
    open: usize,
    wanted: Wanted,
}

impl Protections {
    /// Of areas that begin there, with so many pages that are open.
    pub(super) fn new(areas: impl Iterator<Item = (usize, usize)>) -> Self {
        let protected = |(start, open)| {
            Mutex::new(Protected {
                start,
                open,
                wanted: Wanted::default(),
            })
        };
        Self(areas.map(protected).collect())
    }

    fn area(&self, area: usize) -> io::Result<MutexGuard<'_, Protected>> {
        let area = self.0.get(area).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(area.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Permits so much for pages of an area.
    pub(super) fn permit(
        &self,
        area: usize,
        pages: Range<usize>,
        what: Permission,
    ) -> io::Result<()> {
        let mut area = self.area(area)?;
        let open = pages.start..pages.end.min(area.open);
        if pages.end > area.open {
            let closed = pages.start.max(area.open)..pages.end;
            area.wanted.note(closed, what);
        }
        match open.is_empty() {
            true => Ok(()),
            false => protect(area.start + open.start * PAGE_BYTES, open.len(), what),
        }
    }

    /// Opens the pages before `end`. `false` if they were.
    pub(super) fn open(&self, area: usize, end: usize) -> io::Result<bool> {
        let mut area = self.area(area)?;
        let grows = end > area.open;
        while area.open < end {
            let (until, what) = area.wanted.at(area.open);
            let until = until.min(end);
            let address = area.start + area.open * PAGE_BYTES;
            protect(address, until - area.open, what)?;
            area.open = until;
        }
        area.wanted.forget_before(end);
        Ok(grows)
    }
}

/// What is permitted from which page on; everything, where nothing is noted.
#[derive(Debug, Default)]
struct Wanted(BTreeMap<usize, Permission>);

impl Wanted {
    /// What is permitted of a page, and to which page that holds.
    fn at(&self, page: usize) -> (usize, Permission) {
        let what = self.0.range(..=page).next_back();
        let until = self.0.range(page + 1..).next();
        (
            until.map_or(usize::MAX, |(page, _)| *page),
            what.map_or(Permission::ReadWrite, |(_, what)| *what),
        )
    }

    fn note(&mut self, pages: Range<usize>, what: Permission) {
        let (_, after) = self.at(pages.end);
        self.0.retain(|page, _| !pages.contains(page));
        self.0.insert(pages.start, what);
        self.0.insert(pages.end, after);
    }

    /// Pages before that one are not asked for again.
    fn forget_before(&mut self, page: usize) {
        let (_, what) = self.at(page);
        self.0 = self.0.split_off(&page);
        self.0.insert(page, what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_that_was_noted_of_a_page_holds() {
        let mut wanted = Wanted::default();
        assert_eq!(wanted.at(7), (usize::MAX, Permission::ReadWrite));
        wanted.note(10..30, Permission::None);
        wanted.note(20..25, Permission::Read);
        assert_eq!(wanted.at(9), (10, Permission::ReadWrite));
        assert_eq!(wanted.at(10), (20, Permission::None));
        assert_eq!(wanted.at(24), (25, Permission::Read));
        assert_eq!(wanted.at(25), (30, Permission::None));
        assert_eq!(wanted.at(30).1, Permission::ReadWrite);
        wanted.note(5..22, Permission::ReadWrite);
        assert_eq!(wanted.at(22), (25, Permission::Read));
        assert_eq!(wanted.at(11).1, Permission::ReadWrite);
        wanted.forget_before(23);
        assert_eq!(wanted.at(23), (25, Permission::Read));
        assert_eq!(wanted.at(26), (30, Permission::None));
    }
}
