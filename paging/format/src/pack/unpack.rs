//! From a block's bytes to intervals and marks.

use super::buffer::BlockHead;
use super::codec::{
    CAUSE, CONTEXTS, COUNTS, GAP, LENGTH, LENGTHS, MERGED, NOTHING, OTHER_COUNTERS, SAME_COUNTERS,
    STATE, context,
};
use super::marks::KIND_BITS;
use super::varint;
use crate::{Cause, Counter, CounterSet, Counts, Interval, Mark, MarkKind, State};
use fathomp_types::Ticks;

/// Bytes that are nothing that is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a block holds bytes that mean nothing; it was written by another program or damaged")]
pub struct Malformed;

/// Unpacks blocks of intervals of one task.
#[derive(Debug)]
pub struct Unpacker {
    wanted: u32,
    /// By state: what is handed out when nothing was counted. Its cause is the last
    /// of the state.
    quiet: [Interval; State::COUNT],
    /// The same causes, by the process's numbers.
    causes: [u32; State::COUNT],
    contexts: Box<[Context; CONTEXTS]>,
}

/// The last interval of a context in which anything was counted: it is filled in and
/// handed out, so that most counts stay where they are.
#[derive(Clone, Copy, Debug)]
struct Context {
    interval: Interval,
    /// Counters, wanted or not.
    mask: u32,
}

fn quiet(state: State) -> Interval {
    Interval {
        begin: 0,
        end: 0,
        state,
        cause: Cause::NONE,
        counts: Counts::ZERO,
        merged: 1,
    }
}

/// What came of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// Intervals handed out.
    pub intervals: u64,
    /// Tick at which the last one ended.
    pub end: Ticks,
    /// What follows them could not be understood.
    pub malformed: bool,
    /// Counts over [`Counts::MOST`], in whose place zero was handed out.
    pub implausible: u64,
}

impl Unpacker {
    /// An unpacker that hands out the counts of `wanted` counters; the others
    /// stay zero.
    #[must_use]
    pub fn new(wanted: CounterSet) -> Self {
        Self {
            wanted: wanted.bits(),
            quiet: State::ALL.map(quiet),
            causes: [0; State::COUNT],
            contexts: Box::new(
                [Context {
                    interval: quiet(State::ALL[0]),
                    mask: 0,
                }; CONTEXTS],
            ),
        }
    }

    /// Hands out the intervals of a block's payload, in order. `time` turns ticks
    /// into the times of intervals, `name` the process's number of a name into that
    /// of the recording.
    ///
    /// Nothing is allocated; an interval may not be kept without being copied.
    #[inline]
    pub fn unpack(
        &mut self,
        payload: &[u8],
        time: impl Fn(Ticks) -> u64,
        name: impl Fn(u32) -> u32,
        mut each: impl FnMut(&Interval),
    ) -> Unpacked {
        let mut unpacked = Unpacked {
            intervals: 0,
            end: Ticks(0),
            malformed: true,
            implausible: 0,
        };
        let Some((head, packed)) = BlockHead::split(payload) else {
            return unpacked;
        };
        self.restart();
        let mut end = head.begin.0;
        let mut begin_time = time(head.begin);
        let mut at = 0;
        unpacked.malformed = false;
        while at < packed.len() {
            let mut merged = 1;
            let mut word = load(packed, at);
            if word as u8 & STATE == MERGED {
                at += 1;
                let Some(number) = varint::read(packed, &mut at) else {
                    unpacked.malformed = true;
                    break;
                };
                merged = number;
                word = load(packed, at);
            }
            let first = word as u8;
            let length = LENGTHS[usize::from(first >> LENGTH)];
            let ticks = match length {
                8 => load(packed, at + 1),
                length => word >> 8 & ((1 << (8 * length)) - 1),
            };
            at += 1 + length;
            end = end.saturating_add(ticks);
            let state = first & STATE;
            if at > packed.len() || state == MERGED {
                unpacked.malformed = true;
                break;
            }
            if state == GAP {
                begin_time = time(Ticks(end));
                continue;
            }
            let implausible = &mut unpacked.implausible;
            let Some(interval) = self.read(first, packed, &mut at, &name, implausible) else {
                unpacked.malformed = true;
                break;
            };
            interval.begin = begin_time;
            begin_time = time(Ticks(end));
            interval.end = begin_time;
            interval.merged = merged;
            unpacked.intervals += 1;
            each(interval);
        }
        unpacked.end = Ticks(end);
        unpacked
    }

    /// Forgets the block before.
    fn restart(&mut self) {
        self.causes = [0; State::COUNT];
        for quiet in &mut self.quiet {
            quiet.cause = Cause::NONE;
        }
        for context in self.contexts.iter_mut() {
            context.mask = 0;
            context.interval.counts = Counts::ZERO;
        }
    }

    /// Reads what follows the duration; gives the interval to be handed out.
    #[inline]
    fn read(
        &mut self,
        first: u8,
        packed: &[u8],
        at: &mut usize,
        name: impl Fn(u32) -> u32,
        implausible: &mut u64,
    ) -> Option<&mut Interval> {
        let number = usize::from(first & STATE);
        let quiet = self.quiet.get_mut(number)?;
        let cause = self.causes.get_mut(number)?;
        if first & CAUSE != 0 {
            *cause = u32::try_from(varint::read(packed, at)?).ok()?;
            quiet.cause = Cause(name(*cause));
        }
        let code = first >> COUNTS & 3;
        if code == NOTHING {
            return Some(quiet);
        }
        let context = self.contexts.get_mut(context(number, *cause))?;
        context.interval.state = quiet.state;
        context.interval.cause = quiet.cause;
        if code == OTHER_COUNTERS {
            context.mask = u32::try_from(varint::read(packed, at)?).ok()?;
            context.interval.counts = Counts::ZERO;
        }
        if code == OTHER_COUNTERS || code == SAME_COUNTERS {
            let mut mask = context.mask;
            while mask != 0 {
                let number = mask.trailing_zeros();
                let count = varint::read(packed, at)?;
                // Those of later versions are read over.
                if self.wanted >> number & 1 != 0
                    && let Some(place) = context.interval.counts.0.get_mut(number as usize)
                {
                    *place = count;
                    if count > Counts::MOST {
                        *place = 0;
                        *implausible += 1;
                    }
                }
                mask &= mask - 1;
            }
        }
        Some(&mut context.interval)
    }
}

/// The eight bytes at `at`; zeros where there are none.
#[inline]
fn load(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => load_last(bytes, at),
    }
}

#[cold]
fn load_last(bytes: &[u8], at: usize) -> u64 {
    let mut chunk = [0; 8];
    let rest = bytes.get(at..).unwrap_or(&[]);
    chunk[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(chunk)
}

/// What came of a block of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnpackedMarks {
    /// Marks of kinds from later versions, which were left out.
    pub unknown: u64,
    /// What follows could not be understood.
    pub malformed: bool,
}

/// Hands out the marks of a block's payload, in order.
pub fn unpack_marks(
    payload: &[u8],
    time: impl Fn(Ticks) -> u64,
    mut each: impl FnMut(Mark),
) -> UnpackedMarks {
    let mut unpacked = UnpackedMarks::default();
    let Some((head, packed)) = BlockHead::split(payload) else {
        unpacked.malformed = true;
        return unpacked;
    };
    let (mut tick, mut at) = (head.begin, 0);
    while at < packed.len() {
        let mut read = || {
            let first = varint::read(packed, &mut at)?;
            let name = u32::try_from(varint::read(packed, &mut at)?).ok()?;
            Some((first, name))
        };
        let Some((first, name)) = read() else {
            unpacked.malformed = true;
            break;
        };
        tick += Ticks(first >> KIND_BITS);
        match MarkKind::from_index((first & ((1 << KIND_BITS) - 1)) as usize) {
            Some(kind) => each(Mark {
                at: time(tick),
                kind,
                name,
            }),
            None => unpacked.unknown += 1,
        }
    }
    unpacked
}

const _: () = assert!(Counter::COUNT <= 32, "masks have 32 bits");
const _: () = assert!(MarkKind::ALL.len() <= 1 << KIND_BITS);
