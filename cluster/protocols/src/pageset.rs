//! Sets of pages as ranges: arrays are written in long stretches, and notices
//! about them must not grow with their pages.

use fathomp_types::PageId;

/// Consecutive pages, at least one, none beyond the last [`PageId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageRange {
    first: PageId,
    pages: u32,
}

impl PageRange {
    /// `pages` pages from `first` on; nothing if that is none or too many.
    #[must_use]
    pub fn new(first: PageId, pages: u32) -> Option<Self> {
        let fits = u64::from(first.0) + u64::from(pages) <= 1 << 32;
        (pages > 0 && fits).then_some(Self { first, pages })
    }

    /// The first page.
    #[must_use]
    pub fn first(self) -> PageId {
        self.first
    }

    /// Number of pages.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a range is never empty")]
    pub fn len(self) -> u32 {
        self.pages
    }

    /// Number of the page behind the last one.
    #[must_use]
    pub fn end(self) -> u64 {
        u64::from(self.first.0) + u64::from(self.pages)
    }

    /// True if `page` is one of them.
    #[must_use]
    pub fn contains(self, page: PageId) -> bool {
        page >= self.first && u64::from(page.0) < self.end()
    }

    /// Its pages, ascending.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = PageId> {
        (0..self.pages).map(move |i| PageId(self.first.0 + i))
    }

    /// Its first `pages` pages, at least one, and what is left behind them.
    #[must_use]
    pub fn split(self, pages: u32) -> (Self, Option<Self>) {
        let pages = pages.clamp(1, self.pages);
        let (first, end) = (self.first.0, self.pages - pages);
        let rest = first.checked_add(pages).map(PageId);
        let now = Self { pages, ..self };
        (now, rest.and_then(|first| Self::new(first, end)))
    }

    /// Its pages and those of a range that begins where it ends, or ends where it begins.
    #[must_use]
    pub fn joined(self, other: Self) -> Option<Self> {
        let touch =
            self.end() == u64::from(other.first.0) || other.end() == u64::from(self.first.0);
        let first = self.first.min(other.first);
        let pages = self.pages.checked_add(other.pages)?;
        Self::new(first, pages).filter(|_| touch)
    }

    /// Takes one more page in if it is the next one.
    #[must_use]
    pub fn extend(&mut self, page: PageId) -> bool {
        let next = u64::from(page.0) == self.end();
        self.pages += u32::from(next);
        next
    }
}

impl From<PageId> for PageRange {
    fn from(first: PageId) -> Self {
        Self { first, pages: 1 }
    }
}

/// Pages in ascending order, as ranges that neither touch nor overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PageSet(Vec<PageRange>);

/// Ranges that came from elsewhere and are no [`PageSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("page range {index} touches or overlaps the one before, or comes too late")]
pub struct PageSetError {
    /// Number of the offending range, from 0.
    pub index: usize,
}

impl PageSet {
    /// Takes over ranges that came from another node.
    ///
    /// # Errors
    /// If a range touches or overlaps the one before.
    pub fn from_ranges(ranges: Vec<PageRange>) -> Result<Self, PageSetError> {
        let in_order = |pair: &[PageRange]| pair[0].end() < u64::from(pair[1].first.0);
        match ranges.windows(2).position(|pair| !in_order(pair)) {
            None => Ok(Self(ranges)),
            Some(before) => Err(PageSetError { index: before + 1 }),
        }
    }

    /// Pages in ascending order, each once.
    #[must_use]
    pub fn from_sorted(pages: &[PageId]) -> Self {
        let mut ranges: Vec<PageRange> = Vec::new();
        for page in pages {
            if !ranges.last_mut().is_some_and(|last| last.extend(*page)) {
                ranges.push(PageRange::from(*page));
            }
        }
        Self(ranges)
    }

    /// Its ranges, ascending.
    #[must_use]
    pub fn ranges(&self) -> &[PageRange] {
        &self.0
    }

    /// True if no page is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of pages in it.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.iter().map(|range| u64::from(range.pages)).sum()
    }

    /// Number of the page behind the last one, 0 if there is none.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.0.last().map_or(0, |range| range.end())
    }

    /// Its pages, ascending.
    pub fn iter(&self) -> impl Iterator<Item = PageId> + '_ {
        self.0.iter().flat_map(|range| range.iter())
    }

    /// True if `page` is in it.
    #[must_use]
    pub fn contains(&self, page: PageId) -> bool {
        let after = self.0.partition_point(|range| range.first <= page);
        after > 0 && u64::from(page.0) < self.0[after - 1].end()
    }
}

/// Pages in any order and any number of times.
impl FromIterator<PageId> for PageSet {
    fn from_iter<I: IntoIterator<Item = PageId>>(pages: I) -> Self {
        let mut pages: Vec<_> = pages.into_iter().collect();
        pages.sort_unstable();
        pages.dedup();
        Self::from_sorted(&pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn neighbours_are_joined() {
        let range = |first, pages| PageRange::new(PageId(first), pages).unwrap();
        assert_eq!(range(4, 2).joined(range(6, 1)), Some(range(4, 3)));
        assert_eq!(range(6, 1).joined(range(4, 2)), Some(range(4, 3)));
        assert_eq!(range(4, 2).joined(range(5, 2)), None);
        assert_eq!(range(4, 2).joined(range(7, 1)), None);
        let last = range(u32::MAX, 1);
        assert_eq!(
            last.joined(range(u32::MAX - 1, 1)),
            Some(range(u32::MAX - 1, 2))
        );
    }

    fn ranges(of: &[(u32, u32)]) -> Vec<PageRange> {
        let range = |(first, n): &(u32, u32)| PageRange::new(PageId(*first), *n).unwrap();
        of.iter().map(range).collect()
    }

    #[test]
    fn a_range_is_neither_empty_nor_too_long() {
        assert_eq!(PageRange::new(PageId(5), 0), None);
        assert_eq!(PageRange::new(PageId(u32::MAX), 2), None);
        assert_eq!(PageRange::new(PageId(u32::MAX), 1).unwrap().end(), 1 << 32);
    }

    #[test]
    fn an_array_is_one_range() {
        let set: PageSet = (10..5010).map(PageId).collect();
        assert_eq!(set.ranges(), ranges(&[(10, 5000)]));
        assert_eq!(set.len(), 5000);
    }

    #[test]
    fn ranges_from_elsewhere_are_checked() {
        for (good, of) in [
            (true, &[(0, 1), (2, 1)][..]),
            (true, &[(u32::MAX, 1)]),
            (false, &[(0, 1), (1, 1)]),
            (false, &[(5, 1), (2, 1)]),
        ] {
            assert_eq!(PageSet::from_ranges(ranges(of)).is_ok(), good, "{of:?}");
        }
    }

    proptest! {
        #[test]
        fn it_holds_what_was_put_in(pages in prop::collection::vec(0..60_u32, 0..40)) {
            let set: PageSet = pages.iter().copied().map(PageId).collect();
            let expected: BTreeSet<_> = pages.into_iter().map(PageId).collect();
            prop_assert!(set.iter().eq(expected.iter().copied()));
            let again = PageSet::from_ranges(set.ranges().to_vec());
            prop_assert_eq!(again.as_ref(), Ok(&set));
            for page in (0..62).map(PageId) {
                prop_assert_eq!(set.contains(page), expected.contains(&page));
            }
        }
    }
}
