//! What this node's threads change, told to node 0, which looks for races in it.

use crate::frame::Frame;
use fathomp_protocols::order::Version;
use fathomp_protocols::races::{Change, Races};
use fathomp_protocols::{Diff, Interval, PageBytes, VectorClock};
use fathomp_transport::{SendError, Transport};
use fathomp_types::{NodeId, PAGE_BYTES, PageId};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Different races that are kept.
const RACES_MAX: usize = 1000;

/// Bytes that two nodes changed without order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundRace {
    /// Address of the first.
    pub address: usize,
    /// How many.
    pub bytes: usize,
    /// The nodes.
    pub nodes: [NodeId; 2],
    /// How many times it was seen.
    pub times: u64,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// By address.
    pub races: Vec<FoundRace>,
    /// How many times others than those were seen.
    pub more: u64,
}

/// Where changes go.
#[derive(Debug)]
pub(crate) struct Lookout {
    /// At node 0.
    races: Mutex<Races>,
}

impl Lookout {
    pub(crate) fn new() -> Self {
        Self {
            races: Mutex::new(Races::new(RACES_MAX)),
        }
    }

    fn with<T>(&self, use_it: impl FnOnce(&mut Races) -> T) -> T {
        use_it(&mut self.races.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// All nodes have met.
    pub(crate) fn meet(&self) {
        self.with(Races::meet);
    }

    /// Takes in what a node has told. Nothing if it makes no sense.
    pub(crate) fn hear(&self, from: NodeId, told: &[u8]) -> Option<()> {
        let (page, change) = decode(from, told)?;
        self.with(|races| races.note(page, change));
        Some(())
    }

    /// Races with addresses.
    pub(crate) fn found(&self, address_of: impl Fn(PageId) -> Option<usize>) -> Found {
        self.with(|races| {
            let found = races.found().filter_map(|(race, times)| {
                Some(FoundRace {
                    address: address_of(race.page)? + usize::from(race.first),
                    bytes: usize::from(race.end - race.first),
                    nodes: race.nodes,
                    times,
                })
            });
            Found {
                races: found.collect(),
                more: races.more(),
            }
        })
    }
}

/// A page at home here that is being written.
struct Shadow {
    /// What it was before, with what others have written meanwhile.
    before: Box<PageBytes>,
    knew: Vec<Version>,
    /// Changed here before others' changes came in.
    bytes: Vec<Range<u16>>,
}

/// What is kept of pages between a first write and the end of its interval.
#[derive(Default)]
pub(crate) struct Changes {
    /// Of copies, which have twins: what this node knew.
    began: HashMap<PageId, Vec<Version>>,
    shadows: HashMap<PageId, Shadow>,
    /// To be told.
    made: Vec<(PageId, Vec<Version>, Vec<Range<u16>>)>,
}

impl Changes {
    /// A copy with a twin may be written from now on.
    pub(crate) fn begin_copy(&mut self, page: PageId, seen: &VectorClock) {
        self.began.insert(page, seen.iter().collect());
    }

    /// A page at home here may be written from now on.
    pub(crate) fn begin_home(&mut self, page: PageId, seen: &VectorClock, now: Box<PageBytes>) {
        self.shadows.entry(page).or_insert_with(|| Shadow {
            before: now,
            knew: seen.iter().collect(),
            bytes: Vec::new(),
        });
    }

    /// Pages at home here of which [`Self::begin_home`] was told, in a range.
    pub(crate) fn written(&self, pages: impl Iterator<Item = PageId>) -> Vec<PageId> {
        pages
            .filter(|page| self.shadows.contains_key(page))
            .collect()
    }

    /// The interval ends in which a page at home here was written.
    pub(crate) fn end_home(&mut self, page: PageId, now: &PageBytes) {
        if let Some(shadow) = self.shadows.remove(&page) {
            let mut bytes = shadow.bytes;
            bytes.extend(Change::bytes_of(&Diff::between(&shadow.before, now)));
            self.make(page, shadow.knew, bytes);
        }
    }

    /// The interval ends in which a copy was written.
    pub(crate) fn end_copy(&mut self, page: PageId, diff: &Diff) {
        let knew = self.began.remove(&page).unwrap_or_default();
        self.make(page, knew, Change::bytes_of(diff));
    }

    /// Another's changes are about to be put into a page.
    pub(crate) fn apply(&mut self, page: PageId, now: &PageBytes, diff: &Diff) {
        if let Some(shadow) = self.shadows.get_mut(&page) {
            let own = Diff::between(&shadow.before, now);
            shadow.bytes.extend(Change::bytes_of(&own));
            shadow.before.clone_from(&Box::new(*now));
            diff.apply(&mut shadow.before);
        }
    }

    fn make(&mut self, page: PageId, knew: Vec<Version>, mut bytes: Vec<Range<u16>>) {
        bytes.sort_unstable_by_key(|range| range.start);
        if !bytes.is_empty() {
            self.made.push((page, knew, bytes));
        }
    }

    /// Tells node 0 what was changed in the interval that has ended.
    pub(crate) fn tell(
        &mut self,
        interval: Interval,
        transport: &dyn Transport,
        lookout: &Lookout,
    ) -> Result<(), SendError> {
        for (page, knew, bytes) in self.made.drain(..) {
            let told = encode(page, interval, &knew, &bytes);
            if transport.me() == NodeId(0) {
                // What was encoded here makes sense.
                let _ = lookout.hear(NodeId(0), &told);
            } else {
                let (head, body) = Frame::Changed(&told).parts();
                transport.send(NodeId(0), &[head.bytes(), body])?;
            }
        }
        Ok(())
    }
}

fn encode(page: PageId, interval: Interval, knew: &[Version], bytes: &[Range<u16>]) -> Vec<u8> {
    let mut told = Vec::with_capacity(12 + 6 * knew.len() + 4 * bytes.len());
    told.extend(page.0.to_le_bytes());
    told.extend(interval.0.to_le_bytes());
    told.extend((knew.len() as u32).to_le_bytes());
    for (node, last) in knew {
        told.extend(node.0.to_le_bytes());
        told.extend(last.0.to_le_bytes());
    }
    for range in bytes {
        told.extend(range.start.to_le_bytes());
        told.extend(range.end.to_le_bytes());
    }
    told
}

fn decode(from: NodeId, told: &[u8]) -> Option<(PageId, Change)> {
    let (page, rest) = told
        .split_first_chunk()
        .map(|(n, r)| (u32::from_le_bytes(*n), r))?;
    let (interval, rest) = rest
        .split_first_chunk()
        .map(|(n, r)| (u32::from_le_bytes(*n), r))?;
    let (count, rest) = rest
        .split_first_chunk()
        .map(|(n, r)| (u32::from_le_bytes(*n), r))?;
    let (knew, bytes) = rest.split_at_checked(usize::try_from(count).ok()?.checked_mul(6)?)?;
    let knew = knew.chunks_exact(6).map(|version| {
        let (node, last) = version.split_first_chunk()?;
        let last = last.try_into().ok()?;
        let last = Interval(u32::from_le_bytes(last));
        Some((NodeId(u16::from_le_bytes(*node)), last))
    });
    let inside =
        |range: &Range<u16>| range.start < range.end && usize::from(range.end) <= PAGE_BYTES;
    let ranges = bytes.chunks(4).map(|range| {
        let (start, end) = range.split_first_chunk()?;
        let end = end.try_into().ok()?;
        let range = u16::from_le_bytes(*start)..u16::from_le_bytes(end);
        Some(range).filter(inside)
    });
    let change = Change {
        writer: from,
        interval: Interval(interval),
        knew: knew.collect::<Option<_>>()?,
        bytes: ranges.collect::<Option<_>>()?,
    };
    Some((PageId(page), change))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_heard() {
        let knew = [(NodeId(3), Interval(9)), (NodeId(0), Interval(1))];
        let told = encode(PageId(70_000), Interval(5), &knew, &[8..16, 4092..4096]);
        let (page, change) = decode(NodeId(2), &told).unwrap();
        assert_eq!(page, PageId(70_000));
        assert_eq!(change.writer, NodeId(2));
        assert_eq!(change.interval, Interval(5));
        assert_eq!(change.knew, knew);
        assert_eq!(change.bytes, [8..16, 4092..4096]);
        // The first page's worth, and whole ranges.
        for length in (0..told.len()).filter(|length| (24..told.len()).all(|l| l != *length)) {
            assert_eq!(decode(NodeId(2), &told[..length]), None, "{length}");
        }
        for (start, end) in [(9, 8), (5, 5), (4000, 4097)] {
            let told = encode(PageId(1), Interval(1), &[], &[Range { start, end }]);
            assert_eq!(decode(NodeId(1), &told), None);
        }
    }

    /// Both write one page: the home's change is found although the other's, of
    /// the same byte, came in before its interval ended.
    #[test]
    fn changes_of_a_home_survive_those_of_others() {
        let mut changes = Changes::default();
        let page = PageId(1);
        let mut now = Box::new([0; PAGE_BYTES]);
        changes.begin_home(page, &VectorClock::nothing(2), now.clone());
        now[8] = 1;
        let mut theirs = Box::new([0; PAGE_BYTES]);
        theirs[8] = 7;
        let diff = Diff::between(&Box::new([0; PAGE_BYTES]), &theirs);
        changes.apply(page, &now, &diff);
        diff.apply(&mut now);
        now[100] = 1;
        changes.end_home(page, &now);
        assert_eq!(changes.made, [(page, vec![], vec![8..9, 100..101])]);
    }
}
