//! Which pages of the range are free: runs of them, by place and by length, and
//! all from `top` on.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Pages {
    /// Number of the range's first page among all pages of the address space,
    /// which alignment is about.
    origin: usize,
    count: u32,
    /// All pages from here on are free; the one before is not.
    top: u32,
    /// Length of each free run below `top`, by its first page. No two touch.
    lengths: BTreeMap<u32, u32>,
    /// The same runs, by length and then by place.
    by_length: BTreeSet<(u32, u32)>,
    /// Runs freed since they were last told. Pages may have been taken again
    /// since, and occur repeatedly.
    freed: Vec<Range<u32>>,
    /// Length of `freed` at which it is worth to be tidied up.
    freed_max: usize,
}

/// Least length at which the list of freed runs is tidied up.
const FREED_MAX: usize = 256;

impl Pages {
    pub(crate) fn new(origin: usize, count: u32) -> Self {
        Self {
            origin,
            count,
            top: 0,
            lengths: BTreeMap::new(),
            by_length: BTreeSet::new(),
            freed: Vec::new(),
            freed_max: FREED_MAX,
        }
    }

    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.count as usize
    }

    /// Takes `count` pages, at least one, from the shortest run that has them
    /// where the alignment asks, else from the top.
    pub(crate) fn take(&mut self, count: u32, align: usize) -> Option<u32> {
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
        let mut run = first..first + count;
        self.freed.push(run.clone());
        if self.freed.len() > self.freed_max {
            self.tidy();
        }
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

    /// Runs freed since the last call that are free still, in order.
    pub(crate) fn released(&mut self) -> Vec<Range<u32>> {
        self.tidy();
        self.freed_max = FREED_MAX;
        std::mem::take(&mut self.freed)
    }

    /// Leaves in `freed` each page at most once and only if it is free.
    fn tidy(&mut self) {
        let mut freed = std::mem::take(&mut self.freed);
        freed.sort_unstable_by_key(|run| run.start);
        let mut end = 0;
        for run in freed {
            let rest = run.start.max(end)..run.end;
            end = end.max(run.end);
            self.add_free_parts(rest);
        }
        self.freed_max = FREED_MAX.max(2 * self.freed.len());
    }

    /// Appends the parts of `run` that are free to `freed`.
    fn add_free_parts(&mut self, run: Range<u32>) {
        let before = self.lengths.range(..=run.start).next_back();
        let inside = self.lengths.range(run.start.saturating_add(1)..);
        let top = (&self.top, &(self.count - self.top));
        let runs = before.into_iter().chain(inside).chain([top]);
        for (&first, &length) in runs {
            let part = run.start.max(first)..run.end.min(first + length);
            if first >= run.end {
                break;
            }
            match self.freed.last_mut() {
                _ if part.is_empty() => {}
                Some(last) if last.end == part.start => last.end = part.end,
                _ => self.freed.push(part),
            }
        }
    }
}
