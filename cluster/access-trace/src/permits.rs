//! What a node's threads may do to pages, where pages are many and few of them are
//! ever touched.

use fathomp_protocols::{Access, PageRange};
use fathomp_types::PageId;

/// Pages in a chunk.
const CHUNK: u32 = 512;

/// What threads may do to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permit {
    /// Nothing.
    Nothing,
    /// Read.
    Read,
    /// Read and write.
    Write,
}

impl Permit {
    /// The least that is enough for an access.
    #[must_use]
    pub fn of_access(access: Access) -> Self {
        match access {
            Access::Read => Self::Read,
            Access::Write => Self::Write,
        }
    }

    /// Whether it is enough for an access.
    #[must_use]
    pub fn allows(self, access: Access) -> bool {
        match access {
            Access::Read => self >= Self::Read,
            Access::Write => self == Self::Write,
        }
    }
}

/// The books of a node. Chunks exist where something has changed since the start.
#[derive(Debug, Default)]
pub struct Permits {
    chunks: Vec<Option<Box<[Permit; CHUNK as usize]>>>,
    /// What threads may do at the start with pages from one up to another, ascending; all
    /// others may be written.
    first: Vec<(u32, u64, Permit)>,
}

impl Permits {
    /// Says what threads may do before anything has happened; ascending.
    pub fn start(&mut self, pages: PageRange, permit: Permit) {
        let first = pages.first().0;
        match self.first.last_mut() {
            Some((_, end, same)) if *end == u64::from(first) && *same == permit => {
                *end = pages.end()
            }
            _ => self.first.push((first, pages.end(), permit)),
        }
    }

    fn at_first(&self, page: u32) -> Permit {
        let after = self.first.partition_point(|(first, ..)| *first <= page);
        match after.checked_sub(1).and_then(|at| self.first.get(at)) {
            Some((_, end, permit)) if u64::from(page) < *end => *permit,
            _ => Permit::Write,
        }
    }

    /// What threads may do to a page.
    #[must_use]
    pub fn of(&self, page: PageId) -> Permit {
        match self.chunks.get((page.0 / CHUNK) as usize) {
            Some(Some(chunk)) => chunk[(page.0 % CHUNK) as usize],
            _ => self.at_first(page.0),
        }
    }

    /// Changes it.
    pub fn set(&mut self, pages: PageRange, permit: Permit) {
        for page in pages.iter() {
            let number = (page.0 / CHUNK) as usize;
            if self.chunks.len() <= number {
                self.chunks.resize_with(number + 1, || None);
            }
            if self.chunks[number].is_none() {
                let first = page.0 - page.0 % CHUNK;
                let now = |at: usize| self.at_first(first.saturating_add(at as u32));
                self.chunks[number] = Some(Box::new(std::array::from_fn(now)));
            }
            if let Some(chunk) = &mut self.chunks[number] {
                chunk[(page.0 % CHUNK) as usize] = permit;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: u32, pages: u32) -> PageRange {
        PageRange::new(PageId(first), pages).unwrap()
    }

    #[test]
    fn what_was_forbidden_first_stays_so_beside_what_changes() {
        let mut permits = Permits::default();
        permits.start(range(10, 5), Permit::Nothing);
        permits.start(range(15, 5), Permit::Nothing);
        permits.set(range(12, 1), Permit::Read);
        let found = [9, 10, 12, 19, 20].map(|page| permits.of(PageId(page)));
        let expected = [
            Permit::Write,
            Permit::Nothing,
            Permit::Read,
            Permit::Nothing,
            Permit::Write,
        ];
        assert_eq!(found, expected);
        assert_eq!(permits.first.len(), 1);
    }
}
