//! Loops dealt by parts: every node begins with a part of its own.
//!
//! It is the same part whenever the loop is met again, so nodes find at home what they
//! worked on before. A node that has finished its part takes from the end of that part of
//! which most is left (affinity scheduling: Markatos and LeBlanc, "Using Processor Affinity in
//! Loop Scheduling on Shared-Memory Multiprocessors", IEEE TPDS 5(4), 1994, with a part
//! for each node instead of each processor).
//!
//! The last unit is in no part, as in [`super::super::worksharing`]'s ranges: the node that gets
//! it gets nothing after it.

use std::ops::Range;

/// Bits of an answer's first unit, which has to hold the largest number of units.
const FIRST_BITS: u32 = 35;
/// Most units in an answer.
const UNITS_MAX: u64 = (1 << (63 - FIRST_BITS)) - 1;

/// A loop of which each node has a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartedLoop {
    /// Its units: at least 1, at most 2^35.
    pub units: u64,
    /// Members on a node; the last node with any may have fewer. At least 1.
    pub each: u32,
    /// Members on all nodes. At least 1.
    pub members: u32,
}

impl PartedLoop {
    /// Whether there can be such a loop on so many nodes.
    #[must_use]
    pub fn is_possible(self, nodes: u32) -> bool {
        (1..=1 << FIRST_BITS).contains(&self.units)
            && self.each > 0
            && self.members > 0
            && self.members.div_ceil(self.each) <= nodes
    }

    fn members_up_to(self, node: u32) -> u64 {
        let members = u64::from(node) * u64::from(self.each);
        members.min(self.members.into())
    }

    /// A node's part, as large as its share of the members.
    pub(crate) fn part(self, node: u32) -> Range<u64> {
        let units = u128::from(self.units.saturating_sub(1));
        let end = |node| {
            let up_to = units * u128::from(self.members_up_to(node));
            u64::try_from(up_to / u128::from(self.members.max(1))).unwrap_or(u64::MAX)
        };
        end(node)..end(node + 1)
    }

    /// What a node has without asking: a unit for each member, if its part has so many.
    pub(crate) fn in_advance(self, node: u32) -> Range<u64> {
        let part = self.part(node);
        let here = self.members_up_to(node + 1) - self.members_up_to(node);
        part.start..part.end.min(part.start + here)
    }
}

/// Units of a loop for the node that asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dealt {
    /// The first of them.
    pub first: u64,
    /// How many they are; 0 if nothing was left.
    pub units: u64,
    /// Something is left.
    pub more: bool,
}

impl Dealt {
    /// All of it in a word.
    #[must_use]
    pub fn word(self) -> u64 {
        self.first | u64::from(self.more) << FIRST_BITS | self.units << (FIRST_BITS + 1)
    }

    /// Reads what [`Dealt::word`] made.
    #[must_use]
    pub fn from_word(word: u64) -> Self {
        Self {
            first: word & ((1 << FIRST_BITS) - 1),
            units: word >> (FIRST_BITS + 1),
            more: word & 1 << FIRST_BITS != 0,
        }
    }
}

/// What is left of a [`PartedLoop`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    parts: Vec<Range<u64>>,
    last: Option<u64>,
}

impl Left {
    /// What nodes do not have without asking. The loop must be possible.
    #[must_use]
    pub fn of(parted: PartedLoop) -> Self {
        let nodes = parted.members.div_ceil(parted.each.max(1));
        let left = |node| parted.in_advance(node).end..parted.part(node).end;
        Self {
            parts: (0..nodes).map(left).collect(),
            last: parted.units.checked_sub(1),
        }
    }

    /// Units for a node, `most` at most, and never more than half of a part, so that
    /// nodes end together. With 0 the loop is given up: nothing is left.
    pub fn deal(&mut self, node: u32, most: u64) -> Dealt {
        if most == 0 {
            self.parts.clear();
            self.last = None;
        }
        let length = |part: &Range<u64>| part.end - part.start;
        let half = |part: &Range<u64>| most.min(UNITS_MAX).min(length(part).div_ceil(2));
        let own = usize::try_from(node).ok();
        let own = own.and_then(|own| self.parts.get_mut(own));
        let dealt = if let Some(part) = own.filter(|part| !part.is_empty()) {
            let end = part.start + half(part);
            std::mem::replace(&mut part.start, end)..end
        } else if let Some(part) = self.parts.iter_mut().max_by_key(|part| length(part))
            && !part.is_empty()
        {
            let first = part.end - half(part);
            first..std::mem::replace(&mut part.end, first)
        } else {
            let last = self.last.take();
            last.map_or(0..0, |last| last..last + 1)
        };
        Dealt {
            first: dealt.start,
            units: length(&dealt),
            more: self.last.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nodes_have_parts_of_their_own_and_help_whoever_has_most_left() {
        let parted = PartedLoop {
            units: 101,
            each: 2,
            members: 5,
        };
        let parts: Vec<_> = (0..3).map(|node| parted.part(node)).collect();
        assert_eq!(parts, [0..40, 40..80, 80..100]);
        assert_eq!(parted.in_advance(2), 80..81);
        let mut left = Left::of(parted);
        let mut deal = |node, most| {
            let dealt = left.deal(node, most);
            (dealt.first, dealt.units, dealt.more)
        };
        assert_eq!(deal(1, 8), (42, 8, true));
        for (first, units) in [(81, 10), (91, 5), (96, 2), (98, 1), (99, 1)] {
            assert_eq!(deal(2, 1000), (first, units, true));
        }
        assert_eq!(deal(2, 4), (36, 4, true));
        assert_eq!(deal(0, 4), (2, 4, true));
        assert_eq!(deal(2, 0), (0, 0, false));
        assert_eq!(deal(0, 4), (0, 0, false));
    }

    #[test]
    fn impossible_loops_are_known() {
        let parted = |units, each, members| PartedLoop {
            units,
            each,
            members,
        };
        assert!(parted(1, 1, 4).is_possible(4));
        assert!(!parted(1, 1, 5).is_possible(4));
        for impossible in [
            parted(0, 1, 1),
            parted(1, 0, 1),
            parted(1, 1, 0),
            parted(u64::MAX, 1, 1),
        ] {
            assert!(!impossible.is_possible(4), "{impossible:?}");
        }
    }

    proptest! {
        #[test]
        fn words_hold_all(first in 0..1_u64 << FIRST_BITS, units in 0..=UNITS_MAX, more: bool) {
            let dealt = Dealt { first, units, more };
            prop_assert_eq!(Dealt::from_word(dealt.word()), dealt);
        }
    }
}
