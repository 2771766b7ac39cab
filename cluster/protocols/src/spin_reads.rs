//! What loops that wait for plain variables may have seen of what this node does not know of.
//!
//! Content comes from another node's memory with whatever is written there, told or not. A
//! thread that leaves such a loop has to know what came before what it has seen: everybody is
//! asked to tell, which [covers](SpinReads::cover) what has come here until then. But who looks at a
//! byte that no other node has changed since sees nothing new, even if other bytes of its page
//! are: only a variable that changed elsewhere costs a question.

use crate::{PageBytes, PageRange};
use fathomp_types::{PAGE_BYTES, PageId};
use std::collections::BTreeMap;
use std::ops::Range;

/// Pages that are followed byte by byte, at most.
const PAGES_MAX: usize = 1024;

/// Content that has come to a node, as far as it matters to loops that wait.
#[derive(Clone, Debug, Default)]
pub struct SpinReads {
    /// How often some has come.
    arrivals: u64,
    /// So much of it is covered.
    covered: u64,
    /// Pages that such loops look at.
    pages: BTreeMap<PageId, Followed>,
}

/// What a thread that has left a loop may have seen without what came before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lacks {
    /// Nothing.
    Nothing,
    /// What others have told, or tell right now.
    WhatIsTold,
    /// Intervals that the page shows at which it looked ([`crate::Operation::Learn`]).
    WhatThePageShows,
    /// What others may have kept to themselves.
    WhatOthersHaveToTell,
}

/// A page that a loop looks at.
#[derive(Clone, Debug)]
struct Followed {
    /// What it was before the content that comes next, from when that begins to come.
    before: Option<Box<PageBytes>>,
    /// Bytes that others have changed and that are not covered.
    changed: Bytes,
    /// The last arrival that changed some.
    changed_by: u64,
}

impl SpinReads {
    /// Arrivals so far: what a question that is asked from now on covers.
    #[must_use]
    pub fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// Whether it has to be [told](Self::before) what a page is before content comes.
    #[must_use]
    pub fn wants(&self, page: PageId) -> bool {
        let mut look = self.pages.get(&page).into_iter();
        look.any(|look| look.before.is_none())
    }

    /// A page's last content that threads may have seen, before other content comes.
    pub fn before(&mut self, page: PageId, content: Box<PageBytes>) {
        if let Some(look) = self.pages.get_mut(&page) {
            look.before.get_or_insert(content);
        }
    }

    /// Threads may touch these pages, whether content has come or not: what they were before will
    /// be something else.
    pub fn opened(&mut self, pages: PageRange) {
        let behind = self.pages.range_mut(pages.first()..);
        for (_, look) in behind.take_while(|(page, _)| u64::from(page.0) < pages.end()) {
            look.before = None;
        }
    }

    /// Whether it has to be told of which content has come to a page.
    #[must_use]
    pub fn follows(&self, page: PageId) -> bool {
        self.pages.contains_key(&page)
    }

    /// Content has come to a page; without it, any byte may have changed.
    pub fn arrived(&mut self, page: PageId, content: Option<&PageBytes>) {
        self.arrivals += 1;
        if let Some(look) = self.pages.get_mut(&page) {
            let changed = match look.before.take().zip(content) {
                Some((before, now)) => look.changed.add_differences(&before, now),
                None => look.changed.add_all(),
            };
            if changed {
                look.changed_by = self.arrivals;
            }
        }
    }

    /// All that was written before so many arrivals is known here now.
    pub fn cover(&mut self, arrivals: u64) {
        self.covered = arrivals.max(self.covered);
        for look in self.pages.values_mut() {
            if look.changed_by <= arrivals {
                look.changed = Bytes::NONE;
            }
        }
    }

    /// All that was written before what came to a page, so many arrivals ago at the latest, is
    /// known here now.
    pub fn cover_page(&mut self, page: PageId, arrivals: u64) {
        let look = self.pages.get_mut(&page);
        if let Some(look) = look.filter(|look| look.changed_by <= arrivals) {
            look.changed = Bytes::NONE;
        }
    }

    /// Whether nothing that a thread may have seen has come uncovered: in these bytes of a page,
    /// or, if it is not known where it looked, in any. To be asked once it has looked.
    pub fn is_covered(&mut self, looked: Option<(PageId, Range<usize>)>) -> bool {
        let Some((page, bytes)) = looked else {
            return self.covered == self.arrivals;
        };
        if let Some(look) = self.pages.get(&page) {
            return !look.changed.has_some_of(bytes);
        }
        let is_covered = self.covered == self.arrivals;
        // From now on it is followed.
        if self.pages.len() < PAGES_MAX {
            let mut look = Followed {
                before: None,
                changed: Bytes::NONE,
                changed_by: self.arrivals,
            };
            if !is_covered {
                look.changed.add_all();
            }
            self.pages.insert(page, look);
        }
        is_covered
    }
}

/// Some bytes of a page, a bit each.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bytes([u64; PAGE_BYTES / 64]);

impl Bytes {
    const NONE: Self = Self([0; PAGE_BYTES / 64]);

    /// True if there are any.
    fn add_all(&mut self) -> bool {
        self.0.fill(u64::MAX);
        true
    }

    /// True if there are any.
    fn add_differences(&mut self, one: &PageBytes, other: &PageBytes) -> bool {
        let mut some = false;
        let words = one.chunks(64).zip(other.chunks(64));
        for (bits, (one, other)) in self.0.iter_mut().zip(words) {
            if one != other {
                let differs = |at: usize| u64::from(one[at] != other[at]) << at;
                *bits |= (0..64).map(differs).sum::<u64>();
                some = true;
            }
        }
        some
    }

    fn has_some_of(&self, bytes: Range<usize>) -> bool {
        let mut bytes = bytes;
        bytes.any(|at| {
            let bits = self.0.get(at / 64);
            bits.is_none_or(|bits| bits >> (at % 64) & 1 != 0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: PageId = PageId(3);

    /// A page of zeros but for one byte.
    fn page(at: usize, byte: u8) -> Box<PageBytes> {
        let mut page = Box::new([0; PAGE_BYTES]);
        page[at] = byte;
        page
    }

    fn arrives(looks: &mut SpinReads, content: &PageBytes, before: Box<PageBytes>) {
        assert!(looks.wants(PAGE));
        looks.before(PAGE, before);
        assert!(!looks.wants(PAGE));
        looks.arrived(PAGE, Some(content));
    }

    #[test]
    fn only_a_variable_that_others_changed_is_new() {
        let mut looks = SpinReads::default();
        let at = |at: usize| Some((PAGE, at..at + 4));
        // Nothing has come yet.
        assert!(looks.is_covered(at(100)) && looks.is_covered(None));
        arrives(&mut looks, &page(200, 1), page(200, 0));
        assert!(looks.is_covered(at(100)) && looks.is_covered(at(201)));
        assert!(
            !looks.is_covered(at(200)) && !looks.is_covered(at(197)) && !looks.is_covered(None)
        );
        // What came after the question is not covered by it.
        let asked = looks.arrivals();
        arrives(&mut looks, &page(4095, 1), page(200, 1));
        looks.cover(asked);
        assert!(!looks.is_covered(at(200)) && !looks.is_covered(at(4092)));
        looks.cover(looks.arrivals());
        assert!(looks.is_covered(at(200)) && looks.is_covered(at(4092)) && looks.is_covered(None));
        // Who knows what it was before.
        looks.arrived(PAGE, Some(&page(0, 0)));
        assert!(!looks.is_covered(at(100)));
        looks.cover(looks.arrivals());
        arrives(&mut looks, &page(1, 2), page(1, 2));
        assert!(looks.is_covered(at(0)));
        // It was not to come after all, and threads have written the page since.
        looks.before(PAGE, page(1, 2));
        looks.opened(PAGE.into());
        assert!(looks.wants(PAGE));
        looks.arrived(PAGE, None);
        assert!(!looks.is_covered(at(0)));
        // What lies beyond the page is not known.
        looks.cover(looks.arrivals());
        assert!(!looks.is_covered(at(4094)));
    }

    #[test]
    fn what_came_before_a_page_is_followed_is_covered_only_with_all() {
        let mut looks = SpinReads::default();
        looks.arrived(PAGE, None);
        assert!(!looks.wants(PAGE) && !looks.follows(PAGE));
        for _ in 0..2 {
            assert!(!looks.is_covered(Some((PAGE, 0..4))));
        }
        assert!(looks.wants(PAGE) && looks.follows(PAGE));
        looks.cover(looks.arrivals());
        assert!(looks.is_covered(Some((PAGE, 0..4))));
    }

    #[test]
    fn so_many_pages_are_followed_and_no_more() {
        let mut looks = SpinReads::default();
        for page in (0..).map(PageId).take(PAGES_MAX + 1) {
            assert!(looks.is_covered(Some((page, 0..4))));
        }
        looks.arrived(PageId(0), None);
        let last = PageId(PAGES_MAX as u32);
        assert!(!looks.follows(last) && !looks.is_covered(Some((last, 0..4))));
        looks.cover(looks.arrivals());
        assert!(looks.is_covered(Some((last, 0..4))));
    }
}
