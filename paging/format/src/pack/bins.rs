//! What intervals are merged into when a recording has reached its limit: sums
//! per bin of time and state. They stay exact; only when within its bin something
//! happened is forgotten.

use super::varint;
use crate::stream::Kind;
use crate::{Counter, Counts, State};
use fathomp_blocks::Origin;
use fathomp_types::Ticks;
use std::collections::VecDeque;

/// Bins of a task; when it needs more, all become twice as wide.
pub const BINS_MAX: usize = 256;

/// Sums of one state in one bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BinCell {
    /// Ticks in the state.
    pub(crate) ticks: u64,
    /// Stays that ended here.
    pub(crate) stays: u64,
    /// What rose.
    pub(crate) counts: Counts,
}

impl BinCell {
    fn add(&mut self, other: &Self) {
        self.ticks = self.ticks.saturating_add(other.ticks);
        self.stays = self.stays.saturating_add(other.stays);
        self.counts += &other.counts;
    }
}

/// The sums of one task's intervals, per bin and state.
#[derive(Clone, Debug)]
pub struct Bins {
    zero: Ticks,
    width: u64,
    /// Cells by state; most states do not occur in most bins.
    bins: VecDeque<[Option<Box<BinCell>>; State::COUNT]>,
    /// Of the next block.
    generation: u64,
}

impl Bins {
    /// Bins that begin at `zero`, at first `width` wide.
    #[must_use]
    pub fn new(zero: Ticks, width: Ticks) -> Self {
        Self {
            zero,
            width: width.0.max(1),
            bins: VecDeque::new(),
            generation: 1,
        }
    }

    /// Width of a bin by now.
    #[must_use]
    pub fn width(&self) -> Ticks {
        Ticks(self.width)
    }

    /// Adds `stays` stays in `state` from `begin` to `end` together. What was
    /// counted is shared out over the bins by `Q(t) = floor(c (t - a) / (b - a))`
    /// in integers; the stays count where they end.
    pub fn add(&mut self, begin: Ticks, end: Ticks, state: State, counts: &Counts, stays: u64) {
        let begin = begin.max(self.zero);
        let end = end.max(begin);
        self.widen_to(end);
        let (first, last) = (self.bin_of(begin), self.bin_of(end));
        // What ends where a bin begins ended in the bin before.
        let ends_at_edge = last > first && self.edge(last) == end;
        let last = if ends_at_edge { last - 1 } else { last };
        let span = end.since(begin).0;
        let mut before = Counts::ZERO;
        for bin in first..=last {
            let to = if bin == last { end } else { self.edge(bin + 1) };
            let from = if bin == first { begin } else { self.edge(bin) };
            let so_far = if bin == last {
                *counts
            } else {
                share(counts, to.since(begin).0, span)
            };
            let mut part = BinCell {
                ticks: to.since(from).0,
                stays: if bin == last { stays } else { 0 },
                counts: Counts::ZERO,
            };
            for (number, part) in part.counts.0.iter_mut().enumerate() {
                *part = so_far.0[number] - before.0[number];
            }
            before = so_far;
            self.cell(bin, state).add(&part);
        }
    }

    /// Appends a block with all sums, which takes the place of the one before.
    pub(super) fn put(&mut self, out: &mut Vec<u8>, origin: Origin) {
        let mut payload = Vec::new();
        payload.extend(self.zero.0.to_le_bytes());
        payload.extend(self.width.to_le_bytes());
        let mut before = 0;
        for (bin, states) in self.bins.iter().enumerate() {
            for (state, cell) in states.iter().enumerate() {
                let Some(cell) = cell else { continue };
                payload.push(state as u8);
                varint::append(&mut payload, (bin - before) as u64);
                before = bin;
                varint::append(&mut payload, cell.ticks);
                varint::append(&mut payload, cell.stays);
                put_counts(&mut payload, &cell.counts);
            }
        }
        let origin = Origin {
            position: self.generation,
            ..origin
        };
        self.generation += 1;
        fathomp_blocks::put(out, Kind::Bins as u32, origin, &payload);
    }

    fn bin_of(&self, at: Ticks) -> usize {
        (at.since(self.zero).0 / self.width) as usize
    }

    fn edge(&self, bin: usize) -> Ticks {
        self.zero + Ticks((bin as u64).saturating_mul(self.width))
    }

    fn cell(&mut self, bin: usize, state: State) -> &mut BinCell {
        if self.bins.len() <= bin {
            self.bins.resize_with(bin + 1, Default::default);
        }
        self.bins[bin][state.index()].get_or_insert_default()
    }

    /// Doubles the width until `end` lies in the last bin at most.
    fn widen_to(&mut self, end: Ticks) {
        while self.bin_of(end) >= BINS_MAX {
            self.width = self.width.saturating_mul(2);
            let halves = std::mem::take(&mut self.bins);
            for (bin, states) in halves.into_iter().enumerate() {
                for (state, cell) in State::ALL.into_iter().zip(states) {
                    if let Some(cell) = cell {
                        self.cell(bin / 2, state).add(&cell);
                    }
                }
            }
        }
    }
}

/// `floor(counts * part / whole)`.
fn share(counts: &Counts, part: u64, whole: u64) -> Counts {
    let mut shares = Counts::ZERO;
    if whole != 0 {
        for (share, count) in shares.0.iter_mut().zip(counts.0) {
            *share = (u128::from(count) * u128::from(part) / u128::from(whole)) as u64;
        }
    }
    shares
}

/// Appends a mask of what was counted, and how much.
pub(super) fn put_counts(out: &mut Vec<u8>, counts: &Counts) {
    let mask = counts
        .nonzero()
        .fold(0u64, |mask, (one, _)| mask | 1 << one.index());
    varint::append(out, mask);
    for (_, count) in counts.nonzero() {
        varint::append(out, count);
    }
}

/// Reads what [`put_counts`] wrote. Counters that are not known are left out.
pub(super) fn read_counts(bytes: &[u8], at: &mut usize) -> Option<Counts> {
    let mut mask = varint::read(bytes, at)?;
    let mut counts = Counts::ZERO;
    while mask != 0 {
        let number = mask.trailing_zeros() as usize;
        let count = varint::read(bytes, at)?;
        if number < Counter::COUNT {
            counts.0[number] = count;
        }
        mask &= mask - 1;
    }
    Some(counts)
}

/// Goes through the cells of a block of bins: begin of the bin, end of it, state,
/// sums. Gives whether the block was sound.
pub(crate) fn unpack_bins(
    payload: &[u8],
    mut each: impl FnMut(Ticks, Ticks, State, &BinCell),
) -> bool {
    let mut unpack = || -> Option<()> {
        let word = |at: usize| {
            let bytes = payload.get(at..at + 8)?.try_into().ok()?;
            Some(u64::from_le_bytes(bytes))
        };
        let (zero, width) = (word(0)?, word(8)?);
        let mut at = 16;
        let mut bin = 0_u64;
        while at < payload.len() {
            let state = State::from_index(payload[at].into())?;
            at += 1;
            bin = bin.checked_add(varint::read(payload, &mut at)?)?;
            let cell = BinCell {
                ticks: varint::read(payload, &mut at)?,
                stays: varint::read(payload, &mut at)?,
                counts: read_counts(payload, &mut at)?,
            };
            let begin = zero.checked_add(bin.checked_mul(width)?)?;
            each(
                Ticks(begin),
                Ticks(begin.saturating_add(width)),
                state,
                &cell,
            );
        }
        Some(())
    };
    unpack().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Kind;
    use proptest::prelude::*;

    /// An interval: its length, state and counts.
    fn stays() -> impl Strategy<Value = Vec<(u64, usize, u64, u64)>> {
        let length = prop_oneof![
            0_u64..50,
            0_u64..100_000,
            any::<u64>().prop_map(|n| n >> 16)
        ];
        let stay = (length, 0..State::COUNT, any::<u64>(), 0_u64..9);
        proptest::collection::vec(stay, 0..60)
    }

    /// Ticks, stays and two counters per state.
    type Sums = [(u128, u64, u128, u128); State::COUNT];

    fn add(sums: &mut Sums, state: State, ticks: u64, stays: u64, counts: &Counts) {
        let sum = &mut sums[state.index()];
        sum.0 += u128::from(ticks);
        sum.1 += stays;
        sum.2 += u128::from(counts[Counter::MinorFaults]);
        sum.3 += u128::from(counts[Counter::BytesRead]);
    }

    proptest! {
        #[test]
        fn totals_are_exact_whatever_is_merged(
            stays in stays(), width in 1_u64..1_000_000, halves: bool,
        ) {
            let mut bins = Bins::new(Ticks(1000), Ticks(width));
            let mut expected = Sums::default();
            let mut at = Ticks(1000);
            for (length, state, faults, bytes) in stays {
                let end = at + Ticks(length);
                let state = State::ALL[state];
                let mut counts = Counts::ZERO;
                // Sums of sixty must fit.
                counts[Counter::MinorFaults] = faults >> 8;
                counts[Counter::BytesRead] = bytes;
                add(&mut expected, state, length, 1, &counts);
                if halves {
                    // In two parts it comes to the same.
                    let middle = at + Ticks(length / 3);
                    bins.add(at, middle, state, &Counts::ZERO, 0);
                    bins.add(middle, end, state, &counts, 1);
                } else {
                    bins.add(at, end, state, &counts, 1);
                }
                at = end;
            }
            let mut out = Vec::new();
            bins.put(&mut out, Origin::default());
            let (block, _) = fathomp_blocks::read(&out).unwrap();
            prop_assert_eq!(block.kind, Kind::Bins as u32);
            let mut found = Sums::default();
            let mut last = Ticks(0);
            let mut in_bin = 0;
            let sound = unpack_bins(block.payload, |begin, end, state, cell| {
                if begin != last {
                    in_bin = 0;
                }
                last = begin;
                in_bin += cell.ticks;
                assert!(in_bin <= end.since(begin).0, "more time in a bin than it is wide");
                add(&mut found, state, cell.ticks, cell.stays, &cell.counts);
            });
            prop_assert!(sound);
            prop_assert_eq!(found, expected);
            prop_assert!(bins.bins.len() <= BINS_MAX);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            unpack_bins(&bytes, |begin, end, _, _| assert!(begin <= end));
        }
    }

    #[test]
    fn counts_are_shared_out_by_time() {
        let mut bins = Bins::new(Ticks(0), Ticks(10));
        let mut counts = Counts::ZERO;
        counts[Counter::PageIns] = 7;
        bins.add(Ticks(5), Ticks(25), State::ALL[0], &counts, 1);
        // Ends in the bin that ends there, with what it counted at its very end.
        bins.add(Ticks(25), Ticks(30), State::ALL[0], &counts, 1);
        let cells: Vec<_> = bins
            .bins
            .iter()
            .map(|states| states[0].as_deref().copied().unwrap_or_default())
            .map(|cell| (cell.ticks, cell.stays, cell.counts[Counter::PageIns]))
            .collect();
        // Q(10) = floor(7 * 5 / 20) = 1, Q(20) = floor(7 * 15 / 20) = 5.
        assert_eq!(cells, [(5, 0, 1), (10, 0, 4), (10, 2, 9)]);
    }
}
