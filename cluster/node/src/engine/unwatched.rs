//! Pages with a twin that the program may write without a fault, until it is looked what it
//! has written.

use fathomp_protocols::PageRange;
use fathomp_types::PageId;
use std::collections::BTreeMap;

/// Such pages: what the protocol said of each of them last is that it is to be watched.
#[derive(Debug, Default)]
pub(super) struct Unwatched(BTreeMap<PageId, PageRange>);

impl Unwatched {
    /// The program may write these pages from now on, which are none of them yet.
    pub(super) fn add(&mut self, pages: PageRange) {
        self.0.insert(pages.first(), pages);
    }

    /// All of them, in their order: now it is looked.
    pub(super) fn take(&mut self) -> Vec<PageRange> {
        std::mem::take(&mut self.0).into_values().collect()
    }

    /// It is told by other means now what becomes of these pages: they have no twin any more,
    /// are written after a fault, or are perhaps not even there. Looking at them makes them
    /// readable, which they must not become by that.
    pub(super) fn remove(&mut self, pages: PageRange) {
        let before = self.0.range(..pages.first()).next_back();
        if let Some((_, &before)) = before
            && before.end() > u64::from(pages.first().0)
        {
            let (kept, cut) = before.split(pages.first().0 - before.first().0);
            self.0.insert(kept.first(), kept);
            self.keep_behind(cut, pages);
        }
        while let Some((&first, &range)) = self.0.range(pages.first()..).next()
            && u64::from(first.0) < pages.end()
        {
            self.0.remove(&first);
            self.keep_behind(Some(range), pages);
        }
    }

    /// Puts back what lies behind `pages` in a range that begins in them.
    fn keep_behind(&mut self, range: Option<PageRange>, pages: PageRange) {
        let Some(range) = range.filter(|range| range.end() > pages.end()) else {
            return;
        };
        // Less than the range has, which ends behind.
        let inside = u32::try_from(pages.end() - u64::from(range.first().0)).unwrap_or(u32::MAX);
        if let (_, Some(behind)) = range.split(inside) {
            self.0.insert(behind.first(), behind);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(first: u32, pages: u32) -> PageRange {
        PageRange::new(PageId(first), pages).unwrap()
    }

    fn pages(unwatched: &mut Unwatched) -> Vec<PageId> {
        let ranges = unwatched.take();
        ranges.iter().flat_map(|range| range.iter()).collect()
    }

    #[test]
    fn what_has_no_twin_any_more_is_not_looked_at() {
        let mut unwatched = Unwatched::default();
        unwatched.add(range(20, 3));
        unwatched.add(range(7, 1));
        unwatched.add(range(30, 2));
        for page in [7, 21, 31, 32, 6] {
            unwatched.remove(PageId(page).into());
        }
        assert_eq!(pages(&mut unwatched), [20, 22, 30].map(PageId));
        assert_eq!(unwatched.take(), []);
    }

    #[test]
    fn the_last_page_can_be_removed() {
        let mut unwatched = Unwatched::default();
        unwatched.add(range(u32::MAX - 1, 2));
        unwatched.remove(PageId(u32::MAX).into());
        assert_eq!(pages(&mut unwatched), [PageId(u32::MAX - 1)]);
    }

    proptest! {
        #[test]
        fn each_page_is_there_or_not(
            steps in prop::collection::vec((any::<bool>(), 0_u32..60, 1_u32..20), 1..40)
        ) {
            let mut unwatched = Unwatched::default();
            let mut there = [false; 80];
            for (adds, first, number) in steps {
                unwatched.remove(range(first, number));
                if adds {
                    unwatched.add(range(first, number));
                }
                there[first as usize..(first + number) as usize].fill(adds);
            }
            let there = (0..).zip(there).filter(|(_, there)| *there);
            let there: Vec<_> = there.map(|(page, _)| PageId(page)).collect();
            prop_assert_eq!(pages(&mut unwatched), there);
        }
    }
}
