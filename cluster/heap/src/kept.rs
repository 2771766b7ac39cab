//! Runs of pages that were freed and are kept together for requests for as many.
//!
//! A program that allocates its temporary arrays anew in each step gives them the same parts
//! among its threads each time. If they come to lie where they were, each page has the same
//! writer as before and need not move between nodes; joined with others and cut anew, it
//! would have another one each time.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// So many pages are kept at most, and one for each [`SHARE`] that are in use: what is kept is
/// memory that the program does not have any more.
const KEPT_MAX: u32 = 4096;
const SHARE: u32 = 4;

/// None of these is longer than this part of them, so that many others have room.
const LONGEST: u32 = 16;

/// See the module's documentation.
#[derive(Debug, Default, Hash)]
pub(crate) struct Kept {
    /// How many pages.
    pages: u32,
    /// Runs by when they were freed: a number for each.
    by_age: BTreeMap<u64, Range<u32>>,
    /// Length and age of each.
    by_length: BTreeSet<(u32, u64)>,
    /// How many were ever freed.
    freed: u64,
}

impl Kept {
    /// Keeps a run. Others that are not kept any more, or this one, are given to `join`.
    pub(crate) fn keep(&mut self, run: Range<u32>, in_use: u32, mut join: impl FnMut(Range<u32>)) {
        let length = run.end - run.start;
        let limit = KEPT_MAX.saturating_add(in_use / SHARE);
        if length > limit / LONGEST {
            return join(run);
        }
        while self.pages > limit - length
            && let Some(oldest) = self.oldest()
        {
            join(oldest);
        }
        self.freed += 1;
        self.pages += length;
        self.by_length.insert((length, self.freed));
        self.by_age.insert(self.freed, run);
    }

    /// Of the runs of just that length the one freed last that `suits`.
    pub(crate) fn take(&mut self, length: u32, suits: impl Fn(u32) -> bool) -> Option<u32> {
        let alike = self.by_length.range((length, 0)..=(length, u64::MAX));
        let first = |age: &u64| self.by_age.get(age).map(|run| run.start);
        let found = alike
            .rev()
            .find_map(|(_, age)| first(age).filter(|first| suits(*first)).map(|_| *age));
        found.and_then(|age| self.remove(age)).map(|run| run.start)
    }

    /// The run freed longest ago, which is not kept any more.
    pub(crate) fn oldest(&mut self) -> Option<Range<u32>> {
        let age = *self.by_age.keys().next()?;
        self.remove(age)
    }

    fn remove(&mut self, age: u64) -> Option<Range<u32>> {
        let run = self.by_age.remove(&age)?;
        let length = run.end - run.start;
        self.by_length.remove(&(length, age));
        self.pages -= length;
        Some(run)
    }
}
