//! Pages with a twin that the program may write without a fault, until it is looked what it
//! has written.

use fathomp_base::PageId;
use fathomp_dsm::PageRange;

/// Such pages.
#[derive(Debug, Default)]
pub(super) struct Unwatched(Vec<PageRange>);

impl Unwatched {
    /// The program may write these pages from now on.
    pub(super) fn add(&mut self, pages: PageRange) {
        self.0.push(pages);
    }

    /// All of them, in their order: now it is looked.
    pub(super) fn take(&mut self) -> Vec<PageRange> {
        let mut ranges = std::mem::take(&mut self.0);
        ranges.sort_unstable_by_key(|range| range.first());
        ranges
    }

    /// A page has no twin any more, and perhaps is not there: it must not become
    /// readable by being looked at. Where a page comes and news follow in the same step, this
    /// is learned when it has just been added; otherwise there are none left.
    pub(super) fn drop(&mut self, page: PageId) {
        let Some(at) = self.0.iter().position(|range| holds(*range, page)) else {
            return;
        };
        let range = self.0.swap_remove(at);
        let (before, behind) = split(range, page.0 - range.first().0);
        let behind = behind.and_then(|behind| split(behind, 1).1);
        self.0.extend(before.into_iter().chain(behind));
    }
}

fn holds(range: PageRange, page: PageId) -> bool {
    range.first() <= page && u64::from(page.0) < range.end()
}

/// So many pages, and the others.
fn split(range: PageRange, pages: u32) -> (Option<PageRange>, Option<PageRange>) {
    match pages {
        0 => (None, Some(range)),
        _ => {
            let (before, behind) = range.split(pages);
            (Some(before), behind)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_twin_any_more_is_not_looked_at() {
        let mut unwatched = Unwatched::default();
        unwatched.add(PageRange::new(PageId(20), 3).unwrap());
        unwatched.add(PageId(7).into());
        unwatched.add(PageRange::new(PageId(30), 2).unwrap());
        for page in [7, 21, 31, 32, 6] {
            unwatched.drop(PageId(page));
        }
        let left = unwatched.take();
        let left: Vec<_> = left.iter().flat_map(|range| range.iter()).collect();
        assert_eq!(left, [20, 22, 30].map(PageId));
        assert_eq!(unwatched.take(), []);
    }
}
