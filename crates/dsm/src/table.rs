//! What a node knows of each page, in chunks that exist once something is known.

use crate::area::{Layout, Place};
use fathomp_base::PageId;

/// Pages in a chunk.
const CHUNK_PAGES: u32 = 512;

/// What is known (`E`) of all pages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Table<E> {
    layout: Layout,
    chunks: Vec<Option<Box<[E]>>>,
}

impl<E: Copy + From<Place>> Table<E> {
    pub(crate) fn new(layout: Layout) -> Self {
        let chunks = layout.pages().div_ceil(CHUNK_PAGES) as usize;
        Self {
            layout,
            chunks: vec![None; chunks],
        }
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// What is known of `page`.
    pub(crate) fn get(&self, page: PageId) -> E {
        let chunk = self.chunks.get((page.0 / CHUNK_PAGES) as usize);
        match chunk.and_then(Option::as_ref) {
            Some(chunk) => chunk[(page.0 % CHUNK_PAGES) as usize],
            None => self.layout.stretch(page).0.into(),
        }
    }

    /// What is known of `page`, one of the layout's, to be changed.
    pub(crate) fn entry(&mut self, page: PageId) -> &mut E {
        let (number, at) = (page.0 / CHUNK_PAGES, page.0 % CHUNK_PAGES);
        let layout = &self.layout;
        let chunk = self.chunks[number as usize].get_or_insert_with(|| {
            let first = number * CHUNK_PAGES;
            let pages = CHUNK_PAGES.min(layout.pages() - first);
            (first..first + pages)
                .map(|page| layout.stretch(PageId(page)).0.into())
                .collect()
        });
        &mut chunk[at as usize]
    }

    /// If nothing is known of `page`: where it is at home, and how many pages
    /// from it on are like it.
    pub(crate) fn unknown(&self, page: PageId) -> Option<(Place, u32)> {
        match self.chunks.get((page.0 / CHUNK_PAGES) as usize) {
            Some(None) => {
                let (place, pages) = self.layout.stretch(page);
                Some((place, pages.min(CHUNK_PAGES - page.0 % CHUNK_PAGES)))
            }
            _ => None,
        }
    }
}
