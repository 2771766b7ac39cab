//! What nodes tell each other at a barrier beside the protocol's news: a word
//! from each, or-ed, and node 0's order for the next region.

use fathomp_types::SiteId;
use std::collections::{BTreeMap, VecDeque};

/// What a barrier brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// All nodes' words, or-ed.
    pub(crate) word: u64,
    /// The order that node 0 gave, if any.
    pub(crate) order: Option<Vec<u8>>,
}

/// At node 0: who has come to which barrier.
#[derive(Debug, Default)]
pub(crate) struct Meetings {
    arrived: BTreeMap<u32, (u16, u64)>,
    order: Option<Vec<u8>>,
    site: SiteId,
}

impl Meetings {
    /// The next barrier that node 0 comes to brings this order, for the region at
    /// `site`.
    pub(crate) fn give_order(&mut self, order: Vec<u8>, site: SiteId) {
        self.order = Some(order);
        self.site = site;
    }

    /// Bytes of the order that the next barrier brings, if it brings one, and the
    /// region's site.
    pub(crate) fn order(&self) -> Option<(usize, SiteId)> {
        let order = self.order.as_ref();
        order.map(|order| (order.len(), self.site))
    }

    /// A node has come to barrier `epoch` with `word`. The outcome, if it is the
    /// last of `nodes`. The order is not in it before node 0 has come, which is
    /// one of them.
    pub(crate) fn arrive(&mut self, epoch: u32, word: u64, nodes: u16) -> Option<Outcome> {
        let (arrived, all) = self.arrived.entry(epoch).or_default();
        *arrived += 1;
        *all |= word;
        if *arrived < nodes {
            return None;
        }
        let word = *all;
        self.arrived.remove(&epoch);
        Some(Outcome {
            word,
            order: self.order.take(),
        })
    }
}

/// Outcomes that this node has been told of and has not taken notice of.
#[derive(Debug, Default)]
pub(crate) struct Outcomes(VecDeque<Outcome>);

impl Outcomes {
    /// A barrier's outcome is known.
    pub(crate) fn tell(&mut self, outcome: Outcome) {
        self.0.push_back(outcome);
    }

    /// Something was told that was not taken notice of. Whoever waits for it looks
    /// again and again, for different reasons: a look takes nothing away.
    pub(crate) fn is_known(&self) -> bool {
        !self.0.is_empty()
    }

    /// Takes notice of the oldest.
    pub(crate) fn take(&mut self) -> Option<Outcome> {
        self.0.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_there_until_it_is_taken() {
        let mut outcomes = Outcomes::default();
        assert!(!outcomes.is_known());
        for word in [1, 2] {
            let order = None;
            outcomes.tell(Outcome { word, order });
        }
        for word in [1, 2] {
            assert!(outcomes.is_known() && outcomes.is_known());
            assert_eq!(outcomes.take().map(|outcome| outcome.word), Some(word));
        }
        assert!(!outcomes.is_known());
        assert_eq!(outcomes.take(), None);
    }

    #[test]
    fn words_of_different_barriers_do_not_mix() {
        let mut meetings = Meetings::default();
        assert_eq!(meetings.arrive(0, 1, 2), None);
        // Ahead: told of the first barrier's end by another way.
        assert_eq!(meetings.arrive(1, 4, 2), None);
        let first = meetings.arrive(0, 2, 2);
        assert_eq!(first.map(|o| o.word), Some(3));
        meetings.give_order(vec![7], SiteId(3));
        assert_eq!(meetings.order(), Some((1, SiteId(3))));
        let second = meetings.arrive(1, 0, 2);
        assert_eq!(
            second,
            Some(Outcome {
                word: 4,
                order: Some(vec![7])
            })
        );
    }
}
