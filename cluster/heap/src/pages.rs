//! Which pages of the range are free: runs of them, by place and by length, those that are
//! kept for requests for as many, and all from `top` on.

use crate::kept::Kept;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// See the module's documentation.
#[derive(Debug, Hash)]
pub(crate) struct Pages {
    /// Number of the range's first page among all pages of the address space,
    /// which alignment is about.
    origin: usize,
    count: u32,
    /// All pages from here on are free; the one before is not.
    top: u32,
    /// The highest that `top` ever was.
    reached: u32,
    /// Length of each free run below `top`, by its first page. No two touch.
    lengths: BTreeMap<u32, u32>,
    /// The same runs, by length and then by place.
    by_length: BTreeSet<(u32, u32)>,
    kept: Kept,
    /// How many are taken.
    in_use: u32,
}

impl Pages {
    pub(crate) fn new(origin: usize, count: u32) -> Self {
        Self {
            origin,
            count,
            top: 0,
            reached: 0,
            lengths: BTreeMap::new(),
            by_length: BTreeSet::new(),
            kept: Kept::default(),
            in_use: 0,
        }
    }

    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.count as usize
    }

    /// All pages from here on have been free all the time.
    #[inline]
    pub(crate) fn reached(&self) -> usize {
        self.reached as usize
    }

    /// Takes `count` pages, at least one, where the alignment asks: a run of so many that
    /// was freed, the last one first, else from the shortest run that has them, else from the
    /// top.
    pub(crate) fn take(&mut self, count: u32, align: usize) -> Option<u32> {
        let origin = self.origin;
        let is_aligned = |first: u32| (origin + first as usize).is_multiple_of(align);
        let taken = self.kept.take(count, is_aligned);
        let taken = taken.or_else(|| self.take_free(count, align));
        let taken = taken.or_else(|| {
            while let Some(run) = self.kept.oldest() {
                self.join(run);
            }
            self.take_free(count, align)
        })?;
        self.in_use += count;
        Some(taken)
    }

    fn take_free(&mut self, count: u32, align: usize) -> Option<u32> {
        let fitting = |run: &Range<u32>| {
            let first = self.aligned(run.start, align)?;
            (first.checked_add(count)? <= run.end).then_some(first)
        };
        let candidates = self.by_length.range((count, 0)..);
        let found = candidates
            .map(|(length, first)| *first..*first + *length)
            .find_map(|run| Some((fitting(&run)?, run)));
        if let Some((first, run)) = found {
            self.remove(&run);
            self.insert(run.start..first);
            self.insert(first + count..run.end);
            return Some(first);
        }
        let first = fitting(&(self.top..self.count))?;
        self.insert(self.top..first);
        self.top = first + count;
        self.reached = self.reached.max(self.top);
        Some(first)
    }

    /// The first page from `page` on whose address is a multiple of `align`
    /// pages.
    fn aligned(&self, page: u32, align: usize) -> Option<u32> {
        let place = (self.origin + page as usize).checked_next_multiple_of(align)?;
        u32::try_from(place - self.origin).ok()
    }

    /// Gives pages back.
    pub(crate) fn give(&mut self, first: u32, count: u32) {
        self.in_use -= count;
        let mut not_kept = Vec::new();
        let run = first..first + count;
        self.kept.keep(run, self.in_use, |run| not_kept.push(run));
        not_kept.into_iter().for_each(|run| self.join(run));
    }

    /// A run is free, whatever is to be done with it.
    fn join(&mut self, mut run: Range<u32>) {
        let first = run.start;
        if let Some((&before, &length)) = self.lengths.range(..first).next_back()
            && before + length == first
        {
            self.remove(&(before..first));
            run.start = before;
        }
        if let Some(&length) = self.lengths.get(&run.end) {
            let behind = run.end..run.end + length;
            self.remove(&behind);
            run.end = behind.end;
        }
        if run.end == self.top {
            self.top = run.start;
        } else {
            self.insert(run);
        }
    }

    fn insert(&mut self, run: Range<u32>) {
        if !run.is_empty() {
            let length = run.end - run.start;
            self.lengths.insert(run.start, length);
            self.by_length.insert((length, run.start));
        }
    }

    fn remove(&mut self, run: &Range<u32>) {
        self.lengths.remove(&run.start);
        self.by_length.remove(&(run.end - run.start, run.start));
    }
}
