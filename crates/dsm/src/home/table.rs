//! What a node knows of each page, in chunks that exist once something is known.

use super::message::Version;
use crate::area::{Layout, Place};
use fathomp_base::{NodeId, PageId};

/// Pages in a chunk.
const CHUNK_PAGES: u32 = 512;

/// A page as its node sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// At its home: nobody else has it. Elsewhere: it is not there.
    #[default]
    Untouched,
    /// At home here, others may have copies, and not known to be written in the
    /// open interval.
    Shared,
    /// At home here, others may have copies, and written in the open interval.
    Written,
    /// At home elsewhere; asked for.
    Pending,
    /// A valid copy of a page that is at home elsewhere.
    Clean,
    /// A copy with writes that the home does not have.
    Dirty,
}

/// What is known of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    /// Its home, known alike at all nodes: it changes at barriers only, by a
    /// rule that all nodes apply to the same notices.
    pub(super) home: NodeId,
    pub(super) state: State,
    /// Its home neither changes nor watches its own writes.
    pub(super) pinned: bool,
    /// This node wrote it in this epoch, and the epoch's notices name it.
    pub(super) noted: bool,
    /// A copy was here and became invalid: it is likely to be read again.
    pub(super) missed: bool,
    /// An interval that is part of the content at home here. Others, if there
    /// are any, are in [`super::Home::versions`].
    pub(super) version: Version,
}

impl From<Place> for Entry {
    fn from(place: Place) -> Self {
        Self {
            home: place.home,
            state: State::Untouched,
            pinned: place.pinned,
            noted: false,
            missed: false,
            version: Version::default(),
        }
    }
}

/// All pages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Table {
    layout: Layout,
    chunks: Vec<Option<Box<[Entry]>>>,
}

impl Table {
    pub(super) fn new(layout: Layout) -> Self {
        let chunks = layout.pages().div_ceil(CHUNK_PAGES) as usize;
        Self {
            layout,
            chunks: vec![None; chunks],
        }
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// What is known of `page`.
    pub(super) fn get(&self, page: PageId) -> Entry {
        let chunk = self.chunks.get((page.0 / CHUNK_PAGES) as usize);
        match chunk.and_then(Option::as_ref) {
            Some(chunk) => chunk[(page.0 % CHUNK_PAGES) as usize],
            None => self.layout.stretch(page).0.into(),
        }
    }

    /// What is known of `page`, one of the layout's, to be changed.
    pub(super) fn entry(&mut self, page: PageId) -> &mut Entry {
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
    pub(super) fn unknown(&self, page: PageId) -> Option<(Place, u32)> {
        match self.chunks.get((page.0 / CHUNK_PAGES) as usize) {
            Some(None) => {
                let (place, pages) = self.layout.stretch(page);
                Some((place, pages.min(CHUNK_PAGES - page.0 % CHUNK_PAGES)))
            }
            _ => None,
        }
    }
}
