//! What a node knows of each page, in chunks that exist once something is known.

use crate::PageRange;
use crate::area::{Layout, Place};
use crate::runs::Runs;
use fathomp_types::{NodeId, PageId};

/// Pages in a chunk.
const CHUNK_PAGES: u32 = 512;

/// What is known (`E`) of all pages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Table<E> {
    layout: Layout,
    /// Pages that are at home elsewhere now.
    moved: Runs<Place>,
    chunks: Vec<Option<Box<[E]>>>,
}

impl<E: Copy + From<Place>> Table<E> {
    pub(crate) fn new(layout: Layout) -> Self {
        let chunks = layout.pages().div_ceil(CHUNK_PAGES) as usize;
        Self {
            layout,
            moved: Runs::default(),
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
            None => self.place(page).0.into(),
        }
    }

    /// What is known of `page`, one of the layout's, to be changed.
    pub(crate) fn entry(&mut self, page: PageId) -> &mut E {
        let (number, at) = (page.0 / CHUNK_PAGES, page.0 % CHUNK_PAGES);
        let (layout, moved) = (&self.layout, &self.moved);
        let chunk = self.chunks[number as usize].get_or_insert_with(|| {
            let first = number * CHUNK_PAGES;
            let pages = CHUNK_PAGES.min(layout.pages() - first);
            (first..first + pages)
                .map(|page| place(layout, moved, PageId(page)).0.into())
                .collect()
        });
        &mut chunk[at as usize]
    }

    /// What is known of each page of which something may be known.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (PageId, &E)> {
        let chunks = (0..).step_by(CHUNK_PAGES as usize).zip(&self.chunks);
        let chunks = chunks.filter_map(|(first, chunk)| Some((first, chunk.as_ref()?)));
        chunks.flat_map(|(first, chunk)| (first..).map(PageId).zip(chunk.iter()))
    }

    /// If nothing is known of `page`: where it is at home, and how many pages
    /// from it on are like it.
    pub(crate) fn unknown(&self, page: PageId) -> Option<(Place, u32)> {
        match self.chunks.get((page.0 / CHUNK_PAGES) as usize) {
            Some(None) => {
                let (place, pages) = self.place(page);
                Some((place, pages.min(CHUNK_PAGES - page.0 % CHUNK_PAGES)))
            }
            _ => None,
        }
    }

    /// Those of `pages` of which something is known, or that are at home where `matters`
    /// says so.
    pub(crate) fn known(&self, pages: PageRange, matters: impl Fn(Place) -> bool) -> Vec<PageId> {
        let (mut known, mut left) = (Vec::new(), Some(pages));
        while let Some(pages) = left {
            let alike = match self.unknown(pages.first()) {
                Some((place, alike)) if !matters(place) => alike,
                _ => {
                    known.push(pages.first());
                    1
                }
            };
            (_, left) = pages.split(alike);
        }
        known
    }

    /// Pages are at home at `home` from now on, unless something is known of them or
    /// they are pinned.
    pub(crate) fn settle(&mut self, pages: PageRange, home: NodeId) {
        let mut left = Some(pages);
        while let Some(pages) = left {
            let (place, alike) = self.place(pages.first());
            let (now, rest) = pages.split(alike);
            if !place.pinned && place.home != home {
                let place = Place { home, ..place };
                self.moved.change(now, &place, |known| *known = place);
            }
            left = rest;
        }
    }

    fn place(&self, page: PageId) -> (Place, u32) {
        place(&self.layout, &self.moved, page)
    }
}

/// Where a page is at home, and how many pages from it on are alike, perhaps more.
fn place(layout: &Layout, moved: &Runs<Place>, page: PageId) -> (Place, u32) {
    let (place, pages) = layout.stretch(page);
    match moved.find(page) {
        Ok((pages, place)) => (*place, pages),
        Err(gap) => (place, gap.map_or(pages, |gap| gap.min(pages))),
    }
}
