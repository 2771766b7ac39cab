//! Packs the intervals of one task.

use super::bins::Bins;
use super::buffer::Buffer;
use super::codec::{
    CAUSE, CONTEXTS, COUNTS, GAP, LENGTH, LENGTHS, MERGED, NOTHING, OTHER_COUNTERS, SAME_COUNTERS,
    SAME_COUNTS, context, length_code,
};
use crate::stream::{BY_INTERPOSER, EndNote, Kind};
use crate::{Cause, Counter, CounterSet, Counts, State};
use fathomp_types::Ticks;

/// Width of the first bins where nobody chose one: they double soon.
const FIRST_WIDTH: Ticks = Ticks(1 << 20);

/// Packs the intervals of one task into blocks.
///
/// ```
/// # use fathomp_paging::{Activity, Cause, Counts, State, pack::TaskPacker};
/// # use fathomp_types::Ticks;
/// let mut stream = fathomp_paging::stream::start().to_vec();
/// let mut packer = TaskPacker::new(0, Ticks(1000));
/// let state = State::active(Activity::Compute);
/// packer.change(Ticks(1700), state, Cause::NONE, &Counts::ZERO);
/// if let Some(block) = packer.seal() {
///     stream.extend_from_slice(block);
/// }
/// ```
#[derive(Debug)]
pub struct TaskPacker {
    buffer: Buffer,
    /// The causes of the last intervals of each state, in this block.
    causes: [u32; State::COUNT],
    /// What the last intervals of each context counted, in this block.
    last: Box<[LastCounted; CONTEXTS]>,
    /// Sums, once intervals are merged.
    bins: Option<Box<Bins>>,
    /// Where the last stay ended that was merged into them.
    binned_to: Ticks,
    end: EndNote,
}

/// The last interval of a context in which anything was counted.
#[derive(Clone, Copy, Debug, Default)]
struct LastCounted {
    mask: u32,
    counts: [u64; Counter::COUNT],
}

impl TaskPacker {
    /// A packer of the task with number `task` (in its process), whose first
    /// interval begins at `begin`.
    #[must_use]
    pub fn new(task: u32, begin: Ticks) -> Self {
        Self {
            buffer: Buffer::new(Kind::Intervals, BY_INTERPOSER, task, begin),
            causes: [0; State::COUNT],
            last: Box::new([LastCounted::default(); CONTEXTS]),
            bins: None,
            binned_to: begin,
            end: EndNote::default(),
        }
    }

    /// Goes on where another packer of the task left off, which packed `blocks` blocks and
    /// came to `end`.
    #[must_use]
    pub fn after(mut self, blocks: u64, end: EndNote) -> Self {
        self.buffer.begin_after(blocks);
        self.end = end;
        self
    }

    /// The task stayed in `state` until `end`, for `cause`; `counts` rose
    /// meanwhile. The stay began where the one before ended. An `end` before that
    /// is taken for it, and counted.
    #[inline]
    pub fn change(&mut self, end: Ticks, state: State, cause: Cause, counts: &Counts) {
        self.put(end, state, cause, counts, 1);
    }

    /// The same for `merged` stays that are known only together.
    #[inline]
    pub fn merged(&mut self, end: Ticks, state: State, cause: Cause, counts: &Counts, merged: u64) {
        self.end.merged_early = self.end.merged_early.saturating_add(merged.max(1) - 1);
        self.put(end, state, cause, counts, merged);
    }

    /// Nothing is known until `until`: the next interval begins there.
    pub fn gap(&mut self, until: Ticks) {
        if self.bins.is_some() || !self.buffer.make_room() {
            self.merge(FIRST_WIDTH);
            self.binned_to = self.binned_to.max(until);
            return;
        }
        let ticks = until.since(self.buffer.head.end).0;
        if ticks > 0 {
            self.put_first(GAP, ticks);
            self.buffer.end_gap(until);
        }
    }

    /// Counts changes of state that were lost on the way.
    pub fn lost(&mut self, changes: u64) {
        self.end.changes_lost = self.end.changes_lost.saturating_add(changes);
    }

    /// From now on intervals are merged into [`Bins`], whose first is `width`
    /// wide (a millisecond, say).
    pub fn merge(&mut self, width: Ticks) {
        if self.bins.is_none() {
            let from = self.buffer.head.end;
            self.binned_to = from;
            self.end.binned_from = Some(from);
            self.bins = Some(Box::new(Bins::new(from, width)));
        }
    }

    /// Whether intervals are merged.
    #[must_use]
    pub fn is_merging(&self) -> bool {
        self.bins.is_some()
    }

    /// Whether it is time to [`seal`](Self::seal) and write the block.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.buffer.is_full()
    }

    /// Completes the block under construction, if there is anything in it. Its
    /// bytes belong into the stream; the next interval begins another block.
    pub fn seal(&mut self) -> Option<&[u8]> {
        self.causes = [0; State::COUNT];
        for last in self.last.iter_mut() {
            // Counts mean nothing without their mask.
            last.mask = 0;
        }
        self.buffer.seal()
    }

    /// Appends a block with all sums of merged intervals, if there are any. It
    /// takes the place of the block before: write it when the task ends, and
    /// now and then before so that a writer that is killed leaves one.
    pub fn put_bins(&mut self, out: &mut Vec<u8>) {
        let origin = self.buffer.origin();
        if let Some(bins) = &mut self.bins {
            bins.put(out, origin);
        }
    }

    /// Where the next interval begins.
    #[must_use]
    pub fn position(&self) -> Ticks {
        match self.bins {
            None => self.buffer.head.end,
            Some(_) => self.binned_to,
        }
    }

    /// What was packed, merged and lost so far.
    #[must_use]
    pub fn end_note(&self) -> EndNote {
        self.end
    }

    #[inline]
    fn put(&mut self, end: Ticks, state: State, cause: Cause, counts: &Counts, merged: u64) {
        if self.bins.is_some() || !self.buffer.make_room() {
            return self.bin(end, state, counts, merged);
        }
        let begin = self.buffer.head.end;
        if end < begin {
            self.end.clock_went_back += 1;
        }
        let end = end.max(begin);
        self.end.intervals += 1;
        if merged != 1 {
            self.buffer.put_word(MERGED.into(), 1);
            self.buffer.put_number(merged);
        }
        let mut first = state.index() as u8;
        let has_cause = self.causes[state.index()] != cause.0;
        if has_cause {
            first |= CAUSE;
        }
        let (mut mask, mut bits) = (0, 0);
        for (number, count) in counts.0.iter().enumerate() {
            mask |= u32::from(*count != 0) << number;
            bits |= count;
        }
        if bits > Counts::MOST {
            mask = self.went_back(counts, mask);
        }
        let place = context(state.index(), cause.0);
        let last = &self.last[place];
        let mut code = NOTHING;
        if mask != 0 {
            code = OTHER_COUNTERS;
            if mask == last.mask {
                code = SAME_COUNTS;
                let mut bits = mask;
                while bits != 0 {
                    let number = bits.trailing_zeros() as usize;
                    if last.counts[number] != counts.0[number] {
                        code = SAME_COUNTERS;
                        break;
                    }
                    bits &= bits - 1;
                }
            }
        }
        first |= code << COUNTS;
        self.put_first(first, end.since(begin).0);
        let last = &mut self.last[place];
        let buffer = &mut self.buffer;
        if has_cause {
            self.causes[state.index()] = cause.0;
            buffer.put_number(cause.0.into());
            buffer.use_name(cause.0);
        }
        if code == OTHER_COUNTERS {
            last.mask = mask;
            buffer.put_number(mask.into());
        }
        if code == OTHER_COUNTERS || code == SAME_COUNTERS {
            while mask != 0 {
                let number = mask.trailing_zeros() as usize;
                last.counts[number] = counts.0[number];
                buffer.put_number(counts.0[number]);
                mask &= mask - 1;
            }
        }
        buffer.end_entry(end);
    }

    /// The first byte and the duration.
    #[inline]
    fn put_first(&mut self, first: u8, ticks: u64) {
        let code = length_code(ticks);
        let first = first | code << LENGTH;
        if code < 3 {
            let word = u64::from(first) | ticks << 8;
            self.buffer.put_word(word, 1 + LENGTHS[usize::from(code)]);
        } else {
            self.buffer.put_word(first.into(), 1);
            self.buffer.put_word(ticks, 8);
        }
    }

    /// The mask without counts that no counter can have risen by.
    #[cold]
    fn went_back(&mut self, counts: &Counts, mut mask: u32) -> u32 {
        for (counter, count) in counts.nonzero() {
            if count > Counts::MOST {
                self.end.counters_went_back += 1;
                mask &= !(1 << counter.index());
            }
        }
        mask
    }

    #[cold]
    fn bin(&mut self, end: Ticks, state: State, counts: &Counts, merged: u64) {
        self.merge(FIRST_WIDTH);
        let begin = self.binned_to;
        if end < begin {
            self.end.clock_went_back += 1;
        }
        let end = end.max(begin);
        let mut counts = *counts;
        let mask = self.went_back(&counts, CounterSet::ALL.bits());
        for counter in Counter::ALL {
            if mask >> counter.index() & 1 == 0 {
                counts[counter] = 0;
            }
        }
        self.end.binned = self.end.binned.saturating_add(merged);
        if let Some(bins) = &mut self.bins {
            bins.add(begin, end, state, &counts, merged);
        }
        self.binned_to = end;
    }
}
