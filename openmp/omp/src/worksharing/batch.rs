//! Chunks on request for members on several nodes.
//!
//! A node draws *batches* of units, and its members take their chunks from the
//! node's batch, so that one message pays for several chunks. The first batches
//! need no message: units are dealt in advance to the members, in the order of
//! their numbers.
//!
//! Where do units come from? From the node's own part of the loop first, if
//! members need not get them in increasing order
//! ([`crate::cluster::PartedLoop`]); otherwise from a counter that all nodes see.
//!
//! How large is a batch?
//! * Dynamic schedules: as large as makes the message a small part of the time
//!   that the batch takes, and never more than half of a part, or of what an even
//!   division of the rest would give the node, so that nodes end together.
//! * Guided schedules: a chunk for each member of the node. The counter counts chunks, whose
//!   units follow from their numbers ([`Shares`]), so chunks are those of one machine.
//! * Ordered loops: a unit for each member. With more, other nodes would wait
//!   for their turn while this one works alone.

use super::shares::Shares;
use crate::cluster::{Dealt, PartedLoop};
use fathomp_types::Ticks;

/// How chunks are cut from a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// A unit each, drawn as the time they take suggests.
    Dynamic,
    /// The same, from the part of this node as long as there is some.
    Parted(PartedLoop, u32),
    /// A unit each, drawn for one round.
    Ordered,
    /// Chunks of decreasing numbers of units, not less than this.
    Guided(u64),
}

/// The threads that share a loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sharers {
    /// Thread number of this node's first member.
    pub(super) first: u64,
    /// Members on this node.
    pub(super) here: u64,
    /// Members on all nodes.
    pub(super) all: u64,
    /// Nodes.
    pub(super) nodes: u64,
}

/// A chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) from: u64,
    pub(super) to: u64,
    /// The units before it may be another node's.
    pub(super) after_other: bool,
    /// The units after it may be another node's.
    pub(super) before_other: bool,
}

/// What a node has of a loop. What is numbered are units, or guided chunks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    cut: Cut,
    sharers: Sharers,
    /// Units of the loop.
    total: u64,
    /// What the numbers of guided chunks mean.
    shares: Option<Shares>,
    /// Numbers dealt in advance on all nodes; the counter, if there is one, counts
    /// those after.
    dealt: u64,
    /// The batch, and what is left of it.
    begin: u64,
    next: u64,
    end: u64,
    /// Units that are known to be in some node's hands: no less are.
    known: u64,
    /// Dynamic: units to draw next time.
    wish: u64,
    /// When the last batch was there, and how long it took to draw.
    drawn: Option<(Ticks, u64)>,
}

/// A batch should take this many times as long as drawing it.
const WORTH: u64 = 64;

impl Batch {
    pub(super) fn new(cut: Cut, sharers: Sharers, total: u64) -> Self {
        let number = |member: u64| member.min(total);
        let shares = match cut {
            Cut::Guided(least) => Some(Shares::new(total, sharers.all, least)),
            _ => None,
        };
        let (begin, end, dealt) = match cut {
            Cut::Parted(parted, node) => {
                let own = parted.in_advance(node);
                (own.start, own.end, 0)
            }
            _ => (
                number(sharers.first),
                number(sharers.first + sharers.here),
                number(sharers.all),
            ),
        };
        Self {
            cut,
            sharers,
            total,
            shares,
            dealt,
            begin,
            next: begin,
            end,
            known: dealt,
            wish: sharers.here,
            drawn: None,
        }
    }

    pub(super) fn cut(&self) -> Cut {
        self.cut
    }

    /// The next chunk. `draw` draws so many units at most; those of a counter are
    /// numbered as it counts them.
    pub(super) fn take(
        &mut self,
        draw: impl FnOnce(u64) -> Dealt,
        clock: impl Fn() -> Ticks,
    ) -> Option<Chunk> {
        if self.next == self.end && !self.refill(draw, clock) {
            return None;
        }
        let number = self.next;
        self.next += 1;
        let units = match &mut self.shares {
            Some(shares) => shares.chunk(number)?,
            None => number..self.next,
        };
        Some(Chunk {
            from: units.start,
            to: units.end,
            after_other: number == self.begin,
            before_other: self.next == self.end || units.end == self.total,
        })
    }

    fn refill(&mut self, draw: impl FnOnce(u64) -> Dealt, clock: impl Fn() -> Ticks) -> bool {
        if self.is_over() {
            return false;
        }
        let asked = clock();
        let amount = self.amount(asked);
        let Dealt { first, units, more } = draw(amount);
        let there = clock();
        self.drawn = Some((there, (there - asked).0));
        // There are no more chunks than units.
        let first = first.saturating_add(self.dealt);
        self.begin = first.min(self.total);
        self.next = self.begin;
        self.end = first.saturating_add(units).min(self.total);
        self.known = match self.cut {
            _ if !more => self.total,
            Cut::Parted(..) => self.known,
            _ => self.end,
        };
        self.begin < self.end
    }

    /// Whether all units are known to be in some node's hands.
    fn is_over(&self) -> bool {
        match &self.shares {
            Some(shares) => shares.left() == 0,
            None => self.known >= self.total,
        }
    }

    /// How many to draw now.
    fn amount(&mut self, now: Ticks) -> u64 {
        let Sharers { here, nodes, .. } = self.sharers;
        let left = self.total - self.known;
        match self.cut {
            Cut::Ordered | Cut::Guided(_) => here,
            Cut::Dynamic | Cut::Parted(..) => {
                if let Some((there, cost)) = self.drawn {
                    let took = (now - there).0;
                    if took < cost.saturating_mul(WORTH) {
                        self.wish = self.wish.saturating_mul(2);
                    } else if took / 4 > cost.saturating_mul(WORTH) {
                        self.wish /= 2;
                    }
                }
                let most = match self.cut {
                    Cut::Parted(..) => left,
                    _ => left / (2 * nodes),
                };
                let most = most.max(1);
                self.wish = self.wish.clamp(1, most);
                self.wish
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Left;
    use proptest::prelude::*;
    use std::cell::Cell;

    fn cuts() -> impl Strategy<Value = Cut> {
        prop_oneof![
            Just(Cut::Dynamic),
            Just(Cut::Ordered),
            (1_u64..50).prop_map(Cut::Guided),
        ]
    }

    /// Draws from a counter.
    fn counted(counter: &Cell<u64>, amount: u64) -> Dealt {
        Dealt {
            first: counter.replace(counter.get() + amount),
            units: amount,
            more: true,
        }
    }

    proptest! {
        #[test]
        fn each_unit_is_taken_once(
            cut in cuts(),
            total in 0_u64..3000,
            members in proptest::collection::vec(1_u64..4, 1..5),
            order in proptest::collection::vec(0_usize..5, 0..3000),
        ) {
            let all = members.iter().sum();
            let nodes = members.len() as u64;
            let mut first = 0;
            let mut batches: Vec<Batch> = members.iter().map(|&here| {
                let batch = Batch::new(cut, Sharers { first, here, all, nodes }, total);
                first += here;
                batch
            }).collect();
            let (counter, time) = (Cell::new(0), Cell::new(0));
            let clock = || {
                time.set(time.get() + 7);
                Ticks(time.get())
            };
            let mut seen = vec![false; total as usize];
            let rest = (0..batches.len()).flat_map(|node| vec![node; 3001]);
            for node in order.into_iter().chain(rest) {
                let Some(batch) = batches.get_mut(node) else { continue };
                let draw = |amount| counted(&counter, amount);
                if let Some(chunk) = batch.take(draw, clock) {
                    prop_assert!(chunk.from < chunk.to && chunk.to <= total);
                    for unit in chunk.from..chunk.to {
                        prop_assert!(!std::mem::replace(&mut seen[unit as usize], true));
                    }
                }
            }
            prop_assert!(seen.iter().all(|seen| *seen));
        }

        #[test]
        fn each_unit_of_a_parted_loop_is_taken_once_and_nothing_after_the_last(
            units in 1_u64..3000,
            (each, members) in (1_u32..4, 1_u32..12),
            order in proptest::collection::vec(0_usize..12, 0..3000),
        ) {
            let parted = PartedLoop { units, each, members };
            let nodes = members.div_ceil(each);
            let mut left = Left::of(parted);
            let mut batches: Vec<Batch> = (0..nodes).map(|node| {
                let first = node * each;
                let here = each.min(members - first).into();
                let (first, all) = (first.into(), members.into());
                let sharers = Sharers { first, here, all, nodes: nodes.into() };
                Batch::new(Cut::Parted(parted, node), sharers, units)
            }).collect();
            let time = Cell::new(0);
            let clock = || {
                time.set(time.get() + 7);
                Ticks(time.get())
            };
            let (mut seen, mut has_last) = (vec![false; units as usize], None);
            let rest = (0..batches.len()).flat_map(|node| vec![node; 3001]);
            for node in order.into_iter().chain(rest) {
                let Some(batch) = batches.get_mut(node) else { continue };
                let draw = |most| left.deal(u32::try_from(node).unwrap(), most);
                if let Some(chunk) = batch.take(draw, clock) {
                    prop_assert!(chunk.from < chunk.to && chunk.to <= units);
                    prop_assert_ne!(has_last, Some(node));
                    has_last = has_last.or((chunk.to == units).then_some(node));
                    for unit in chunk.from..chunk.to {
                        prop_assert!(!std::mem::replace(&mut seen[unit as usize], true));
                    }
                }
            }
            prop_assert!(seen.iter().all(|seen| *seen));
        }
    }

    const TWO_NODES: Sharers = Sharers {
        first: 2,
        here: 2,
        all: 4,
        nodes: 2,
    };

    #[test]
    fn small_loops_need_no_message() {
        let mut batch = Batch::new(Cut::Dynamic, TWO_NODES, 4);
        let mut take = || batch.take(|_| unreachable!(), || Ticks(0));
        assert_eq!(take().map(|chunk| chunk.from), Some(2));
        assert_eq!(take().map(|chunk| chunk.from), Some(3));
        assert_eq!(take(), None);
    }

    #[test]
    fn batches_grow_while_messages_cost_much_and_shrink_when_units_do() {
        let (counter, time) = (Cell::new(0), Cell::new(0));
        let mut batch = Batch::new(Cut::Dynamic, TWO_NODES, 1 << 30);
        let mut largest = |unit_ticks: u64| {
            let sizes = (0..20).map(|_| {
                let mut units = 0;
                loop {
                    let chunk = batch.take(
                        |amount| {
                            time.set(time.get() + 10);
                            counted(&counter, amount)
                        },
                        || Ticks(time.get()),
                    );
                    units += 1;
                    time.set(time.get() + unit_ticks);
                    if chunk.unwrap().before_other {
                        return units;
                    }
                }
            });
            sizes.last().unwrap()
        };
        assert!(largest(1) >= 320);
        assert_eq!(largest(100_000), 1);
    }

    #[test]
    fn guided_chunks_are_those_of_one_machine_and_a_node_has_one_for_each_member() {
        let counter = Cell::new(0);
        let mut batch = Batch::new(Cut::Guided(3), TWO_NODES, 1000);
        let draw = |amount| counted(&counter, amount);
        let sizes: Vec<u64> =
            std::iter::from_fn(|| batch.take(draw, || Ticks(0)).map(|c| c.to - c.from)).collect();
        // The other node has 250 and 188 units without asking.
        assert_eq!(sizes[..4], [141, 106, 79, 59]);
        assert_eq!(sizes.iter().sum::<u64>(), 1000 - 250 - 188);
        assert!(sizes.is_sorted_by(|a, b| a >= b));
        let (_, others) = sizes.split_last().unwrap();
        assert!(others.iter().all(|&size| size >= 3));
    }
}
