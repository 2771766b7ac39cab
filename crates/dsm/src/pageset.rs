//! Sets of pages as ranges: arrays are written in long stretches, and notices
//! about them must not grow with their pages.

use fathomp_base::PageId;

/// Pages in ascending order, as ranges that neither touch nor overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PageSet {
    /// First page and number of pages (at least 1).
    ranges: Vec<(PageId, u32)>,
}

/// Ranges that came from elsewhere and are no [`PageSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("page range {index} is empty, out of order, or reaches beyond the last page")]
pub struct PageSetError {
    /// Number of the offending range, from 0.
    pub index: usize,
}

impl PageSet {
    /// Takes over ranges that came from another node.
    ///
    /// # Errors
    /// If a range is empty, touches or overlaps the one before, or overflows.
    pub fn from_ranges(ranges: Vec<(PageId, u32)>) -> Result<Self, PageSetError> {
        let mut free = 0_u64;
        for (index, &(first, length)) in ranges.iter().enumerate() {
            let start = u64::from(first.0);
            let end = start + u64::from(length);
            // A gap of a page is kept between ranges, but not before the first.
            if length == 0 || start < free || end > 1 << 32 {
                return Err(PageSetError { index });
            }
            free = end + 1;
        }
        Ok(Self { ranges })
    }

    /// First page and length of each range.
    #[must_use]
    pub fn ranges(&self) -> &[(PageId, u32)] {
        &self.ranges
    }

    /// True if no page is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Number of pages in it.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.ranges.iter().map(|(_, n)| u64::from(*n)).sum()
    }

    /// Its pages, ascending.
    pub fn iter(&self) -> impl Iterator<Item = PageId> + '_ {
        self.ranges
            .iter()
            .flat_map(|(first, n)| (0..*n).map(|i| PageId(first.0 + i)))
    }

    /// True if `page` is in it.
    #[must_use]
    pub fn contains(&self, page: PageId) -> bool {
        let after = self.ranges.partition_point(|(first, _)| *first <= page);
        after > 0 && {
            let (first, length) = self.ranges[after - 1];
            page.0 - first.0 < length
        }
    }
}

/// Pages in any order and any number of times.
impl FromIterator<PageId> for PageSet {
    fn from_iter<I: IntoIterator<Item = PageId>>(pages: I) -> Self {
        let mut pages: Vec<_> = pages.into_iter().collect();
        pages.sort_unstable();
        pages.dedup();
        let mut ranges: Vec<(PageId, u32)> = Vec::new();
        for page in pages {
            match ranges.last_mut() {
                Some((first, length)) if page.0 - first.0 == *length => *length += 1,
                _ => ranges.push((page, 1)),
            }
        }
        Self { ranges }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn ranges(of: &[(u32, u32)]) -> Vec<(PageId, u32)> {
        of.iter().map(|(first, n)| (PageId(*first), *n)).collect()
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
            (false, &[(5, 0)]),
            (false, &[(u32::MAX, 2)]),
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
