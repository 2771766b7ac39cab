//! What pages were like before the program wrote them.

use fathomp_protocols::PageBytes;
use fathomp_sys::cluster::copy::PageCopy;
use fathomp_types::PageId;

/// Copies kept for the next time: 64 MiB of them at most.
const SPARES_MAX: usize = 16 << 10;
/// Pages in a chunk of the table: what one page has room for.
const CHUNK: usize = 512;

type Chunk = [Option<Box<PageCopy>>; CHUNK];

/// Twins by their pages: a table, since each page that goes back and forth between
/// nodes is looked up several times on its way.
#[derive(Debug, Default)]
pub(super) struct Twins {
    chunks: Vec<Option<Box<Chunk>>>,
    /// Copies not in use.
    spare: Vec<Box<PageCopy>>,
}

fn place(page: PageId) -> (usize, usize) {
    let page = page.0 as usize;
    (page / CHUNK, page % CHUNK)
}

impl Twins {
    fn entry(&mut self, page: PageId) -> Option<&mut Option<Box<PageCopy>>> {
        let (chunk, at) = place(page);
        Some(&mut self.chunks.get_mut(chunk)?.as_deref_mut()?[at])
    }

    pub(super) fn get(&self, page: PageId) -> Option<&PageBytes> {
        let (chunk, at) = place(page);
        Some(self.chunks.get(chunk)?.as_deref()?[at].as_deref()?)
    }

    pub(super) fn get_mut(&mut self, page: PageId) -> Option<&mut PageBytes> {
        Some(self.entry(page)?.as_deref_mut()?)
    }

    pub(super) fn has(&self, page: PageId) -> bool {
        self.get(page).is_some()
    }

    pub(super) fn insert(&mut self, page: PageId, twin: Box<PageCopy>) {
        let (chunk, at) = place(page);
        if chunk >= self.chunks.len() {
            self.chunks.resize(chunk + 1, None);
        }
        let chunk = &mut self.chunks[chunk];
        let chunk = chunk.get_or_insert_with(|| Box::new([const { None }; CHUNK]));
        if let Some(before) = chunk[at].replace(twin) {
            self.keep(before);
        }
    }

    pub(super) fn remove(&mut self, page: PageId) -> Option<Box<PageCopy>> {
        self.entry(page)?.take()
    }

    pub(super) fn clear(&mut self) {
        for twin in self.chunks.iter_mut().flatten().flat_map(|c| c.iter_mut()) {
            *twin = None;
        }
    }

    /// Room for a copy, with anything in it.
    pub(super) fn room(&mut self) -> Box<PageCopy> {
        let spare = self.spare.pop();
        spare.unwrap_or_else(PageCopy::new)
    }

    /// A copy is not needed any more.
    pub(super) fn keep(&mut self, copy: Box<PageCopy>) {
        if self.spare.len() < SPARES_MAX {
            self.spare.push(copy);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twins_are_found_by_their_pages() {
        let mut twins = Twins::default();
        let pages = [0, 511, 512, 70_000].map(PageId);
        for (number, page) in (1..).zip(pages) {
            let mut twin = twins.room();
            twin.fill(number);
            twins.insert(page, twin);
        }
        assert_eq!(twins.get(PageId(512)).map(|twin| twin[7]), Some(3));
        assert!(!twins.has(PageId(1)) && !twins.has(PageId(u32::MAX)));
        assert_eq!(twins.remove(PageId(511)).map(|twin| twin[0]), Some(2));
        assert!(twins.remove(PageId(511)).is_none());
        twins.clear();
        assert!(!pages.iter().any(|page| twins.has(*page)));
    }
}
