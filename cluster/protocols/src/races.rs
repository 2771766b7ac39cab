//! Data races between nodes: bytes that two nodes changed, neither of which knew
//! of the other's interval when it began to.
//!
//! Comparing what was written in intervals that vector clocks do not order is
//! after Perković, Keleher: "Online Data-Race Detection via Coherency Guarantees"
//! (OSDI 1996). `docs/decisions/0041-races-from-diffs.md` says what is missed.

use crate::order::Version;
use crate::{Diff, Interval};
use fathomp_types::{NodeId, PageId};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Changes of one page that are kept to compare later ones with.
const CHANGES_MAX: usize = 64;

/// What a node changed in a page in one of its intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Who.
    pub writer: NodeId,
    /// In which of its intervals.
    pub interval: Interval,
    /// The others' intervals that it knew of when it began to.
    pub knew: Vec<Version>,
    /// The bytes, ascending.
    pub bytes: Vec<Range<u16>>,
}

impl Change {
    /// The bytes that a diff changes.
    #[must_use]
    pub fn bytes_of(diff: &Diff) -> Vec<Range<u16>> {
        let mut ranges: Vec<Range<u16>> = Vec::new();
        diff.visit(|target, _| {
            // Inside a page.
            let end = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
            let range = end(target.start)..end(target.end);
            match ranges.last_mut().filter(|last| last.end == range.start) {
                Some(last) => last.end = range.end,
                None => ranges.push(range),
            }
        });
        ranges
    }

    fn is_known_to(&self, other: &Self) -> bool {
        let mut knew = other.knew.iter();
        knew.any(|(writer, interval)| *writer == self.writer && *interval >= self.interval)
    }

    /// Bytes that both changed, if nothing orders them.
    fn races_with(&self, other: &Self) -> Vec<Range<u16>> {
        let ordered = self.is_known_to(other) || other.is_known_to(self);
        if self.writer == other.writer || ordered {
            return Vec::new();
        }
        let common = self.bytes.iter().flat_map(|a| {
            let both = |b: &Range<u16>| a.start.max(b.start)..a.end.min(b.end);
            other.bytes.iter().map(both)
        });
        common.filter(|both| both.start < both.end).collect()
    }
}

/// Bytes that two nodes changed without order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Race {
    /// The page.
    pub page: PageId,
    /// First of the bytes.
    pub first: u16,
    /// Number of the byte behind the last one.
    pub end: u16,
    /// The nodes, ascending.
    pub nodes: [NodeId; 2],
}

/// What nodes changed lately, and the races found in it.
#[derive(Debug, Default)]
pub struct Races {
    /// Since the last barrier, and from the one before to that: what was written
    /// right before a barrier may be told after it.
    changes: [BTreeMap<PageId, VecDeque<Change>>; 2],
    /// Races and how many times they were seen.
    found: BTreeMap<Race, u64>,
    most: usize,
    more: u64,
}

impl Races {
    /// None yet, and at most so many different ones.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }

    /// A node has changed a page.
    pub fn note(&mut self, page: PageId, change: Change) {
        let mut races = Vec::new();
        for earlier in self.changes.iter().filter_map(|pages| pages.get(&page)) {
            for other in earlier {
                for both in change.races_with(other) {
                    let (a, b) = (change.writer, other.writer);
                    races.push(Race {
                        page,
                        first: both.start,
                        end: both.end,
                        nodes: [a.min(b), a.max(b)],
                    });
                }
            }
        }
        for race in races {
            let room = self.found.len() < self.most;
            match self.found.get_mut(&race) {
                Some(times) => *times += 1,
                None if room => {
                    self.found.insert(race, 1);
                }
                None => self.more += 1,
            }
        }
        let kept = self.changes[0].entry(page).or_default();
        if kept.len() == CHANGES_MAX {
            kept.pop_front();
        }
        kept.push_back(change);
    }

    /// All nodes have met: what was written before is ordered before what follows.
    pub fn meet(&mut self) {
        self.changes.swap(0, 1);
        self.changes[0].clear();
    }

    /// Races and how many times they were seen, by page.
    pub fn found(&self) -> impl Iterator<Item = (&Race, u64)> {
        self.found.iter().map(|(race, times)| (race, *times))
    }

    /// How many times others than those were seen.
    #[must_use]
    pub fn more(&self) -> u64 {
        self.more
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PageBytes;
    use fathomp_types::PAGE_BYTES;

    const PAGE: PageId = PageId(7);

    fn change(writer: u16, interval: u32, knew: &[(u16, u32)], bytes: Range<u16>) -> Change {
        let version = |(node, interval): &(u16, u32)| (NodeId(*node), Interval(*interval));
        Change {
            writer: NodeId(writer),
            interval: Interval(interval),
            knew: knew.iter().map(version).collect(),
            bytes: vec![bytes],
        }
    }

    fn races(changes: &[Change]) -> Vec<(u16, u16, [u16; 2])> {
        let mut races = Races::new(10);
        for one in changes {
            races.note(PAGE, one.clone());
        }
        let found = races.found();
        found
            .map(|(race, _)| (race.first, race.end, race.nodes.map(|node| node.0)))
            .collect()
    }

    #[test]
    fn two_nodes_that_change_the_same_bytes_race() {
        let found = races(&[change(1, 1, &[], 8..16), change(0, 1, &[], 12..20)]);
        assert_eq!(found, [(12, 16, [0, 1])]);
    }

    #[test]
    fn neighbours_do_not_race() {
        assert!(races(&[change(1, 1, &[], 8..16), change(0, 1, &[], 16..24)]).is_empty());
        let two = [change(1, 1, &[], 8..16), change(1, 2, &[], 8..16)];
        assert!(races(&two).is_empty(), "one node");
    }

    #[test]
    fn whoever_knew_of_the_other_came_later() {
        let first = change(1, 3, &[], 0..8);
        for (knew, expected) in [(vec![(1, 3)], 0), (vec![(1, 4)], 0), (vec![(1, 2)], 1)] {
            let second = change(2, 1, &knew, 0..8);
            let found = races(&[first.clone(), second.clone()]);
            assert_eq!(found.len(), expected, "{knew:?}");
            // Whichever is told first.
            assert_eq!(races(&[second, first.clone()]), found);
        }
        // Through a third node.
        let third = change(0, 1, &[(2, 1), (1, 3)], 0..8);
        assert!(races(&[first, change(2, 1, &[(1, 3)], 0..8), third]).is_empty());
    }

    #[test]
    fn what_is_told_after_a_barrier_is_compared_with_what_was_before() {
        let mut found = Races::new(10);
        found.note(PAGE, change(0, 1, &[], 0..8));
        found.meet();
        found.note(PAGE, change(1, 1, &[], 4..5));
        assert_eq!(found.found().count(), 1);
        found.meet();
        found.meet();
        found.note(PAGE, change(2, 1, &[], 0..8));
        assert_eq!(found.found().count(), 1, "long forgotten");
    }

    #[test]
    fn races_are_counted_and_bounded() {
        let mut races = Races::new(1);
        for _ in 0..2 {
            races.note(PAGE, change(0, 1, &[], 0..8));
            races.note(PAGE, change(1, 1, &[], 0..4));
            races.meet();
            races.meet();
        }
        races.note(PageId(9), change(0, 1, &[], 0..8));
        races.note(PageId(9), change(1, 1, &[], 0..8));
        let found: Vec<_> = races
            .found()
            .map(|(race, times)| (race.page, times))
            .collect();
        assert_eq!((found, races.more()), (vec![(PAGE, 2)], 1));
    }

    #[test]
    fn a_diff_says_what_changed() {
        let twin: Box<PageBytes> = Box::new([0; PAGE_BYTES]);
        let mut now = twin.clone();
        now[10..14].fill(1);
        now[4095] = 1;
        now[100] = 2;
        let bytes = Change::bytes_of(&Diff::between(&twin, &now));
        assert_eq!(bytes, [10..14, 100..101, 4095..4096]);
        assert!(Change::bytes_of(&Diff::between(&twin, &twin)).is_empty());
    }
}
