//! Something known of pages by stretches: arrays are written in long ones, and what
//! is known of them must not grow with their pages.

use crate::PageRange;
use fathomp_types::PageId;
use std::collections::BTreeMap;

/// What is known (`T`) of some pages: the same of all pages of a stretch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Runs<T> {
    /// By first page: number of pages, at least 1. None overlap.
    by_first: BTreeMap<u32, (u32, T)>,
}

impl<T> Default for Runs<T> {
    fn default() -> Self {
        Self {
            by_first: BTreeMap::new(),
        }
    }
}

impl<T: Clone> Runs<T> {
    /// What is known of `page`.
    pub(crate) fn get(&self, page: PageId) -> Option<&T> {
        self.find(page).ok().map(|(_, what)| what)
    }

    /// What is known of `page`, and how many pages from it on are alike; if nothing
    /// is, how many pages there are before something is.
    pub(crate) fn find(&self, page: PageId) -> Result<(u32, &T), Option<u32>> {
        if let Some((first, (pages, what))) = self.by_first.range(..=page.0).next_back()
            && page.0 - first < *pages
        {
            return Ok((pages - (page.0 - first), what));
        }
        let next = self.by_first.range(page.0..).next();
        Err(next.map(|(first, _)| first - page.0))
    }

    /// All stretches, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (PageRange, &T)> {
        let range = |first: u32, pages| PageRange::new(PageId(first), pages);
        let all = self.by_first.iter();
        all.filter_map(move |(first, (pages, what))| Some((range(*first, *pages)?, what)))
    }

    /// The weights of all of `pages` of which something is known, added up.
    pub(crate) fn weight(&self, pages: PageRange, weight: impl Fn(&T) -> usize) -> u64 {
        let (mut sum, mut left) = (0, Some(pages));
        while let Some(pages) = left {
            let (alike, each) = match self.find(pages.first()) {
                Ok((alike, what)) => (alike, weight(what)),
                Err(None) => break,
                Err(Some(gap)) => (gap, 0),
            };
            let (now, rest) = pages.split(alike);
            sum += u64::from(now.len()) * each as u64;
            left = rest;
        }
        sum
    }

    /// Changes what is known of `pages`; where nothing is, it begins with `new`.
    pub(crate) fn change(&mut self, pages: PageRange, new: &T, change: impl Fn(&mut T)) {
        let (first, end) = (u64::from(pages.first().0), pages.end());
        self.cut(first);
        self.cut(end);
        let mut at = first;
        let mut gaps = Vec::new();
        let inside = self.by_first.range_mut(pages.first().0..);
        for (first, (pages, what)) in inside.take_while(|(first, _)| u64::from(**first) < end) {
            let first = u64::from(*first);
            gaps.extend(gap(at, first));
            at = first + u64::from(*pages);
            change(what);
        }
        gaps.extend(gap(at, end));
        for (first, pages) in gaps {
            let mut what = new.clone();
            change(&mut what);
            self.by_first.insert(first, (pages, what));
        }
    }

    /// Nothing is known any more where `is_nothing` says so.
    pub(crate) fn prune(&mut self, pages: PageRange, is_nothing: impl Fn(&T) -> bool) {
        let (first, end) = (u64::from(pages.first().0), pages.end());
        self.cut(first);
        self.cut(end);
        let inside = self.by_first.range(pages.first().0..);
        let inside = inside.take_while(|(first, _)| u64::from(**first) < end);
        let nothing = inside.filter(|(_, (_, what))| is_nothing(what));
        for first in nothing.map(|(first, _)| *first).collect::<Vec<_>>() {
            self.by_first.remove(&first);
        }
    }

    /// Makes stretches end where page `at` begins.
    fn cut(&mut self, at: u64) {
        let Ok(at) = u32::try_from(at) else {
            return;
        };
        let Some((first, (pages, what))) = self.by_first.range_mut(..at).next_back() else {
            return;
        };
        let kept = at - first;
        if kept < *pages {
            let cut = (*pages - kept, what.clone());
            *pages = kept;
            self.by_first.insert(at, cut);
        }
    }
}

/// First page and number of pages between two places, if there are any.
fn gap(at: u64, next: u64) -> Option<(u32, u32)> {
    let pages = u32::try_from(next - at).ok().filter(|pages| *pages > 0)?;
    Some((u32::try_from(at).ok()?, pages))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_page_is_one_like_the_others() {
        let mut stretches = Runs::default();
        let last = PageRange::new(PageId(u32::MAX - 1), 2).unwrap();
        stretches.change(last, &0, |what| *what += 1);
        stretches.change(PageId(u32::MAX).into(), &0, |what| *what += 1);
        assert_eq!(stretches.get(PageId(u32::MAX)), Some(&2));
        assert_eq!(stretches.get(PageId(u32::MAX - 1)), Some(&1));
        assert_eq!(stretches.get(PageId(0)), None);
    }

    proptest! {
        #[test]
        fn it_is_a_map_of_pages(changes in prop::collection::vec((0..40_u32, 1..20_u32), 0..12)) {
            let mut stretches = Runs::default();
            let mut by_page: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
            for (number, (first, pages)) in changes.into_iter().enumerate() {
                let range = PageRange::new(PageId(first), pages).unwrap();
                stretches.change(range, &Vec::new(), |what| what.push(number));
                for page in range.iter() {
                    by_page.entry(page.0).or_default().push(number);
                }
            }
            for page in 0..62 {
                prop_assert_eq!(stretches.get(PageId(page)), by_page.get(&page));
            }
            let weights = by_page.values().map(|what| what.len() as u64);
            let all = PageRange::new(PageId(0), 62).unwrap();
            prop_assert_eq!(stretches.weight(all, Vec::len), weights.sum::<u64>());
            let each = stretches.iter().flat_map(|(range, what)| range.iter().map(move |p| (p.0, what)));
            prop_assert!(each.eq(by_page.iter().map(|(page, what)| (*page, what))));
            let pruned = PageRange::new(PageId(10), 20).unwrap();
            stretches.prune(pruned, |what| what.len() < 2);
            by_page.retain(|page, what| !(10..30).contains(page) || what.len() >= 2);
            for page in 0..62 {
                prop_assert_eq!(stretches.get(PageId(page)), by_page.get(&page));
            }
        }
    }
}
