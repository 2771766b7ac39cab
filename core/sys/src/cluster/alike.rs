//! Pages of processes that were started apart: whether they hold the same, and making them.

use super::pages::Area;
use super::present::Present;
use fathomp_types::PAGE_BYTES;
use std::hash::{DefaultHasher, Hasher};
use std::io;

/// The content of a page, in so many bits that pages with the same are the same.
pub type Digest = [u64; 2];

fn digest(page: &[u8; PAGE_BYTES]) -> Digest {
    [1_u8, 2].map(|half| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(half);
        hasher.write(page);
        hasher.finish()
    })
}

/// Pages of a process that has not begun to share them: its own memory, which it alone uses.
#[derive(Debug)]
pub struct OwnPages<'a>(&'a [Area]);

impl<'a> OwnPages<'a> {
    /// Those of these areas.
    ///
    /// # Safety
    /// The areas are mapped for reading and writing, and nothing uses them as long as this
    /// lives.
    #[must_use]
    pub unsafe fn new(areas: &'a [Area]) -> Self {
        Self(areas)
    }

    /// Addresses and digests of all pages that may hold something, in ascending order in each
    /// area.
    ///
    /// # Errors
    /// If the kernel does not tell which pages there are.
    pub fn digests(&self) -> io::Result<Vec<(usize, Digest)>> {
        let present = Present::open()?;
        let mut all = Vec::new();
        for area in self.0 {
            let used = area.range.start..area.used_end.min(area.range.end).max(area.range.start);
            let exists = present.pages(&used)?;
            for (address, exists) in used.step_by(PAGE_BYTES).zip(exists) {
                if exists || address < area.file_end {
                    all.push((
                        address,
                        digest(&self.read(address).unwrap_or([0; PAGE_BYTES])),
                    ));
                }
            }
        }
        Ok(all)
    }

    /// Whether a page lies in these areas, from its first byte to its last.
    fn has(&self, address: usize) -> bool {
        let inside = |area: &Area| {
            let end = address.checked_add(PAGE_BYTES);
            area.range.start <= address && end.is_some_and(|end| end <= area.range.end)
        };
        address.is_multiple_of(PAGE_BYTES) && self.0.iter().any(inside)
    }

    /// The content of a page; none if there is no such page.
    #[must_use]
    pub fn read(&self, address: usize) -> Option<[u8; PAGE_BYTES]> {
        let mut page = [0; PAGE_BYTES];
        if !self.has(address) {
            return None;
        }
        let source: *const u8 = std::ptr::with_exposed_provenance(address);
        // SAFETY: a page of the areas, which can be read and which nobody changes, as whoever
        // made this promised.
        unsafe { source.copy_to_nonoverlapping(page.as_mut_ptr(), PAGE_BYTES) };
        Some(page)
    }

    /// Gives a page another content; `false` if there is no such page.
    pub fn write(&mut self, address: usize, content: &[u8; PAGE_BYTES]) -> bool {
        if !self.has(address) {
            return false;
        }
        let target: *mut u8 = std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: a page of the areas, which can be written and which nobody uses, as whoever
        // made this promised.
        unsafe { target.copy_from_nonoverlapping(content.as_ptr(), PAGE_BYTES) };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::pages::reserve;
    use super::*;

    #[test]
    fn pages_that_were_touched_are_compared_and_changed() {
        const START: usize = 0x1234_0000_0000;
        let range = START..START + 8 * PAGE_BYTES;
        reserve(&range).unwrap();
        let area = |file_end, used_end| Area {
            range: range.clone(),
            file_end,
            used_end,
            open_end: range.end,
        };
        let areas = [area(START, START + 7 * PAGE_BYTES)];
        // SAFETY: just mapped for this test.
        let mut pages = unsafe { OwnPages::new(&areas) };
        assert_eq!(pages.digests().unwrap(), []);
        let content = [7; PAGE_BYTES];
        for page in [2, 7] {
            assert!(pages.write(START + page * PAGE_BYTES, &content));
        }
        assert_eq!(pages.read(START + 2 * PAGE_BYTES), Some(content));
        let digests = pages.digests().unwrap();
        // What lies behind the used end is not looked at.
        assert_eq!(digests, [(START + 2 * PAGE_BYTES, digest(&content))]);
        assert_ne!(digest(&content), digest(&[0; PAGE_BYTES]));
        assert!(!pages.write(START + 8 * PAGE_BYTES, &content));
        assert!(!pages.write(START + 1, &content));
        assert_eq!(pages.read(0), None);
        let from_file = [area(START + 2 * PAGE_BYTES, START + 2 * PAGE_BYTES)];
        // SAFETY: as above.
        let pages = unsafe { OwnPages::new(&from_file) };
        assert_eq!(pages.digests().unwrap().len(), 2);
    }
}
