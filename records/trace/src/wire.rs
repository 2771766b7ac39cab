//! Records as words of 64 bits: the form they have in a ring and in the
//! recording (docs/trace-format.md, "Records").
//!
//! The first word of a record holds its kind (bits 0-7) and its length in words
//! including this one (bits 8-15). A reader skips kinds it does not know, and
//! words at the end of a record that it does not know.

use crate::dsm::{DsmCount, DsmCounts};
use crate::record::{
    Allowed, CounterReading, Counters, Decider, DryRun, Instance, Interval, LoopKind, LoopShare,
    Phase, Record, WordSet,
};
use crate::state::{PerState, State};
use fathomp_ring::Sink;
use fathomp_types::{InstanceId, SiteId, ThreadId, Ticks};

mod message;
mod words;

use message::{MESSAGE, TRANSFER, read_message, read_transfer};
pub(crate) use message::{MESSAGE_WORDS, TRANSFER_WORDS, write_message, write_transfer};
pub(crate) use words::{write_dry, write_words};

const INSTANCE: u64 = 1;
const INTERVAL: u64 = 2;
const LOOP: u64 = 3;
const COUNTERS: u64 = 4;
const THREAD_BEGIN: u64 = 5;
const THREAD_END: u64 = 6;
const PHASE: u64 = 7;
const WORDS: u64 = 8;
const DRY: u64 = 9;

/// Words of an interval.
pub(crate) const INTERVAL_WORDS: usize = 3;
/// Words of a loop.
pub(crate) const LOOP_WORDS: usize = 8;
/// Most words of a counter reading.
pub(crate) const COUNTERS_WORDS: usize = 3 + 10;
/// Most words of a phase.
pub(crate) const PHASE_WORDS: usize = 5 + DsmCount::COUNT;
/// Values of a set, at most.
pub(crate) const SET_VALUES_MAX: usize = 64;
/// Most words of a set of values.
pub(crate) const SET_WORDS: usize = 3 + SET_VALUES_MAX;
/// Words of what a dry run found of a loop.
pub(crate) const DRY_WORDS: usize = 4;
/// Words of the mark that a thread begins.
pub(crate) const THREAD_BEGIN_WORDS: usize = 3;
/// Words of the mark that a thread ends.
pub(crate) const THREAD_END_WORDS: usize = 3;

/// What stands in a ring or in a block of records.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    Record(Record),
    Words(WordSet),
    Dry(DryRun),
    ThreadBegin {
        thread: ThreadId,
        os_id: u32,
        at: Ticks,
    },
    ThreadEnd {
        thread: ThreadId,
        at: Ticks,
        dropped: u64,
    },
    /// Of a kind from a later version.
    Unknown,
}

/// Words that are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

#[inline(always)]
fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

#[inline(always)]
fn low(word: u64) -> u32 {
    word as u32
}

#[inline(always)]
fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

/// Nesting level (16 bits), floating-point environment (4 bits) and decider (4 bits): the high half
/// of [`InstanceHead::site_and_level`].
#[inline(always)]
pub(crate) fn ways(level: u32, decider: Decider, floats: u8) -> u32 {
    level.min(0xffff) | u32::from(floats & 0xf) << 16 | (decider as u32) << 20
}

/// What [`ways`] was made of.
pub(crate) fn ways_apart(ways: u32) -> (u32, Decider, u8) {
    let decider = Decider::from_number((ways >> 20 & 0xf) as u8);
    (ways & 0xffff, decider, (ways >> 16 & 0xf) as u8)
}

/// An instance, ready to be written, without its states.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InstanceHead {
    pub(crate) site_and_level: u64,
    pub(crate) instance: u64,
    pub(crate) parent: u64,
    /// Thread number (low half), team size (high half).
    pub(crate) team: u64,
    pub(crate) fork: u64,
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) loops: u64,
    pub(crate) chunks: u64,
    pub(crate) iterations: u64,
    pub(crate) tasks_created: u64,
    pub(crate) tasks_run: u64,
    pub(crate) tasks_undeferred: u64,
    pub(crate) tasks_dependent: u64,
    pub(crate) longest_task: u64,
    pub(crate) single_wait: u64,
    /// States that follow, one bit each.
    pub(crate) mask: u16,
    /// Executions and their time, if more than one.
    pub(crate) merged: Option<(u32, u64)>,
    /// Counts of sharing between nodes that follow, one bit each.
    pub(crate) dsm: u64,
    pub(crate) mutexes: u64,
    /// Set of values that it was begun with.
    pub(crate) set: u64,
}

const HAS_PARENT: u64 = 1;
const HAS_WORK: u64 = 2;
const HAS_TASKS: u64 = 4;
const HAS_MERGED: u64 = 8;
const HAS_DSM: u64 = 16;
const HAS_MUTEXES: u64 = 32;
const HAS_SET: u64 = 64;
/// Tasks not deferred (low half) and that wait for others (high half); the longest task; waits for
/// `single` constructs.
const HAS_EXTRA: u64 = 128;
/// Floating-point environment (4 bits) and decider (4 bits), behind the flags.
const TOLD_SHIFT: u64 = 8;

impl InstanceHead {
    #[inline(always)]
    fn flags(&self) -> u64 {
        let flag = |present: bool, flag: u64| if present { flag } else { 0 };
        let tasks = self.tasks_undeferred | self.tasks_dependent | self.longest_task;
        flag(self.parent != 0, HAS_PARENT)
            | flag(self.chunks | self.iterations != 0, HAS_WORK)
            | flag(self.tasks_created | self.tasks_run != 0, HAS_TASKS)
            | flag(self.merged.is_some(), HAS_MERGED)
            | flag(self.dsm != 0, HAS_DSM)
            | flag(self.mutexes != 0, HAS_MUTEXES)
            | flag(self.set != 0, HAS_SET)
            | flag(tasks | self.single_wait != 0, HAS_EXTRA)
    }

    #[inline(always)]
    fn words_with(&self, flags: u64) -> usize {
        let optional = (flags & HAS_PARENT) as usize + (flags >> 1 & 7).count_ones() as usize * 2;
        let dsm = (flags & HAS_DSM) as usize / HAS_DSM as usize + self.dsm.count_ones() as usize;
        let single = (flags & (HAS_MUTEXES | HAS_SET)).count_ones() as usize;
        let extra = usize::from(flags & HAS_EXTRA != 0) * 3;
        7 + optional + self.mask.count_ones() as usize * 2 + dsm + single + extra
    }

    /// Words this instance takes.
    #[inline(always)]
    pub(crate) fn words(&self) -> usize {
        self.words_with(self.flags())
    }

    /// Writes it; `state` gives ticks and waits of a state by its number, `dsm`
    /// a count of sharing by its number.
    #[inline(always)]
    pub(crate) fn write(
        &self,
        sink: &mut impl Sink,
        state: impl Fn(usize) -> (u64, u64),
        dsm: impl Fn(usize) -> u64,
    ) {
        let flags = self.flags();
        let length = self.words_with(flags) as u64;
        let ways = u64::from(high(self.site_and_level));
        let (level, told) = (ways & 0xffff, ways >> 16 & 0xff);
        let bits = flags | told << TOLD_SHIFT | level << 16;
        sink.put(INSTANCE | length << 8 | u64::from(self.mask) << 16 | bits << 32);
        sink.put(pair(low(self.site_and_level), low(self.team)));
        sink.put(pair(
            high(self.team),
            self.loops.min(u64::from(u32::MAX)) as u32,
        ));
        sink.put(self.instance);
        sink.put(self.fork);
        sink.put(self.begin);
        sink.put(self.end.saturating_sub(self.begin));
        if flags & HAS_PARENT != 0 {
            sink.put(self.parent);
        }
        if flags & HAS_WORK != 0 {
            sink.put(self.chunks);
            sink.put(self.iterations);
        }
        if flags & HAS_TASKS != 0 {
            sink.put(self.tasks_created);
            sink.put(self.tasks_run);
        }
        if let Some((merged, busy)) = self.merged {
            sink.put(u64::from(merged));
            sink.put(busy);
        }
        let mut mask = self.mask;
        while mask != 0 {
            let (ticks, waits) = state(mask.trailing_zeros() as usize);
            sink.put(ticks);
            sink.put(waits);
            mask &= mask - 1;
        }
        if flags & HAS_DSM != 0 {
            sink.put(self.dsm);
            let mut mask = self.dsm;
            while mask != 0 {
                sink.put(dsm(mask.trailing_zeros() as usize));
                mask &= mask - 1;
            }
        }
        if flags & HAS_MUTEXES != 0 {
            sink.put(self.mutexes);
        }
        if flags & HAS_SET != 0 {
            sink.put(self.set);
        }
        if flags & HAS_EXTRA != 0 {
            let half = |tasks: u64| u32::try_from(tasks).unwrap_or(u32::MAX);
            let (alone, after) = (half(self.tasks_undeferred), half(self.tasks_dependent));
            sink.put(pair(alone, after));
            sink.put(self.longest_task);
            sink.put(self.single_wait);
        }
    }
}

/// Writes an instance as the drainer and the tests have it. The time in
/// [`State::Compute`] is not written: it is what is left.
pub(crate) fn write_instance(sink: &mut impl Sink, instance: &Instance) {
    let states = State::ALL.into_iter().skip(1);
    let mask = states
        .filter(|&state| instance.states[state].0 != 0 || instance.waits[state] != 0)
        .fold(0, |mask, state| mask | 1 << state as u16);
    let head = InstanceHead {
        site_and_level: pair(
            instance.site.0,
            ways(instance.level, instance.decider, instance.floats),
        ),
        instance: instance.instance.0,
        parent: instance.parent.0,
        team: pair(instance.thread_num, instance.team_size),
        fork: instance.fork.0,
        begin: instance.begin.0,
        end: instance.end.0,
        loops: u64::from(instance.loops),
        chunks: instance.chunks,
        iterations: instance.iterations,
        tasks_created: instance.tasks_created,
        tasks_run: instance.tasks_run,
        tasks_undeferred: instance.tasks_undeferred,
        tasks_dependent: instance.tasks_dependent,
        longest_task: instance.longest_task.0,
        single_wait: instance.single_wait.0,
        mask,
        merged: (instance.merged > 1).then_some((instance.merged, instance.busy.0)),
        dsm: instance.dsm_counts().mask(),
        mutexes: instance.mutexes,
        set: instance.set,
    };
    let state = |state: usize| {
        (
            instance.states.0[state].0,
            u64::from(instance.waits.0[state]),
        )
    };
    let dsm = instance.dsm_counts();
    head.write(sink, state, |count| dsm.0[count]);
}

/// Writes an interval.
#[inline]
pub(crate) fn write_interval(sink: &mut impl Sink, interval: &Interval) {
    let state = interval.state as u64;
    sink.put(
        INTERVAL | (INTERVAL_WORDS as u64) << 8 | state << 16 | u64::from(interval.site.0) << 32,
    );
    sink.put(interval.begin.0);
    sink.put(interval.end.since(interval.begin).0);
}

/// Writes a thread's share of a loop.
#[inline]
pub(crate) fn write_loop(sink: &mut impl Sink, share: &LoopShare) {
    let kind = share.kind as u64 | u64::from(share.ordered) << 8;
    sink.put(LOOP | (LOOP_WORDS as u64) << 8 | kind << 16 | u64::from(share.site.0) << 32);
    sink.put(share.instance.0);
    sink.put(share.begin.0);
    sink.put(share.end.since(share.begin).0);
    sink.put(share.chunk);
    sink.put(share.iterations);
    sink.put(share.chunks);
    sink.put(share.longest.0);
}

/// Writes a counter reading; counts of zero take no space.
pub(crate) fn write_counters(sink: &mut impl Sink, reading: &CounterReading) {
    let counts = &reading.counts;
    let some = |count: u64| (count != 0).then_some(count);
    let values = [
        some(counts.minor_faults),
        some(counts.major_faults),
        some(counts.voluntary_switches),
        some(counts.involuntary_switches),
        counts.cycles,
        counts.instructions,
        counts.processor_ns,
        counts.run_delay_ns,
        counts.asleep_ns,
        counts.allowed.map(Allowed::word),
    ];
    let mask = (0..values.len()).fold(0_u64, |mask, i| mask | u64::from(values[i].is_some()) << i);
    let length = 3 + u64::from(mask.count_ones());
    sink.put(COUNTERS | length << 8 | mask << 16 | u64::from(reading.site.0) << 32);
    sink.put(reading.since.0);
    sink.put(reading.at.since(reading.since).0);
    values
        .into_iter()
        .flatten()
        .for_each(|value| sink.put(value));
}

/// Writes a phase; counts of zero take no space.
pub(crate) fn write_phase(sink: &mut impl Sink, phase: &Phase) {
    let mask = phase.dsm.mask();
    let length = 5 + u64::from(mask.count_ones());
    sink.put(PHASE | length << 8 | u64::from(phase.site.0) << 32);
    sink.put(phase.instance.0);
    sink.put(phase.begin.0);
    sink.put(phase.end.since(phase.begin).0);
    sink.put(mask);
    let counts = phase.dsm.0.into_iter();
    counts
        .filter(|count| *count != 0)
        .for_each(|count| sink.put(count));
}

/// Marks that a thread begins to use a ring.
pub(crate) fn write_thread_begin(sink: &mut impl Sink, thread: ThreadId, os_id: u32, at: Ticks) {
    let words = THREAD_BEGIN_WORDS as u64;
    sink.put(THREAD_BEGIN | words << 8 | u64::from(thread.0) << 32);
    sink.put(u64::from(os_id));
    sink.put(at.0);
}

/// Marks that a thread will write no more.
pub(crate) fn write_thread_end(sink: &mut impl Sink, thread: ThreadId, at: Ticks, dropped: u64) {
    let words = THREAD_END_WORDS as u64;
    sink.put(THREAD_END | words << 8 | u64::from(thread.0) << 32);
    sink.put(at.0);
    sink.put(dropped);
}

/// Any record.
pub(crate) fn write_record(sink: &mut impl Sink, record: &Record) {
    match record {
        Record::Instance(instance) => write_instance(sink, instance),
        Record::Interval(interval) => write_interval(sink, interval),
        Record::Loop(share) => write_loop(sink, share),
        Record::Counters(reading) => write_counters(sink, reading),
        Record::Phase(phase) => write_phase(sink, phase),
        Record::Message(message) => write_message(sink, message),
        Record::Transfer(transfer) => write_transfer(sink, transfer),
    }
}

/// Decodes the first entry of `words`; also gives the number of words it took.
///
/// # Errors
/// If the words cannot be an entry; nothing after them can be found then.
pub(crate) fn read(words: &[u64]) -> Result<(Entry, usize), Malformed> {
    let first = *words.first().ok_or(Malformed)?;
    let length = (first >> 8 & 0xff) as usize;
    if length == 0 || length > words.len() {
        return Err(Malformed);
    }
    let body = Body {
        first,
        rest: &words[1..length],
    };
    let entry = match first & 0xff {
        INSTANCE => Entry::Record(body.instance()?.into()),
        INTERVAL => Entry::Record(Record::Interval(body.interval()?)),
        LOOP => Entry::Record(Record::Loop(body.share()?)),
        COUNTERS => Entry::Record(body.counters()?.into()),
        PHASE => Entry::Record(body.phase()?.into()),
        MESSAGE => Entry::Record(read_message(first, body.rest).ok_or(Malformed)?),
        TRANSFER => Entry::Record(read_transfer(first, body.rest).ok_or(Malformed)?),
        WORDS => Entry::Words(body.words()?),
        DRY => Entry::Dry(body.dry()?),
        THREAD_BEGIN => Entry::ThreadBegin {
            thread: ThreadId(high(first)),
            os_id: low(body.at(0)?),
            at: Ticks(body.at(1)?),
        },
        THREAD_END => Entry::ThreadEnd {
            thread: ThreadId(high(first)),
            at: Ticks(body.at(0)?),
            dropped: body.at(1)?,
        },
        // No writer leaves a kind of zero; it is what unwritten memory holds.
        0 => return Err(Malformed),
        _ => Entry::Unknown,
    };
    Ok((entry, length))
}

/// A record under decoding.
struct Body<'a> {
    first: u64,
    rest: &'a [u64],
}

impl Body<'_> {
    fn at(&self, index: usize) -> Result<u64, Malformed> {
        self.rest.get(index).copied().ok_or(Malformed)
    }

    fn instance(&self) -> Result<Instance, Malformed> {
        let mask = (self.first >> 16) as u16;
        let flags = self.first >> 32 & 0xffff;
        let told = (flags >> TOLD_SHIFT) as u32;
        let (level, decider, floats) = ways_apart((self.first >> 48) as u32 | told << 16);
        let mut words = self.rest.iter().copied();
        let mut next = || words.next().ok_or(Malformed);
        let (site, loops) = (next()?, next()?);
        let (instance, fork, begin, length) = (next()?, next()?, next()?, next()?);
        let mut decoded = Instance {
            site: SiteId(low(site)),
            thread_num: high(site),
            team_size: low(loops),
            loops: high(loops),
            level,
            decider,
            floats,
            instance: InstanceId(instance),
            merged: 1,
            fork: Ticks(fork),
            begin: Ticks(begin),
            end: Ticks(begin.saturating_add(length)),
            busy: Ticks(length),
            ..Instance::default()
        };
        if flags & HAS_PARENT != 0 {
            decoded.parent = InstanceId(next()?);
        }
        if flags & HAS_WORK != 0 {
            (decoded.chunks, decoded.iterations) = (next()?, next()?);
        }
        if flags & HAS_TASKS != 0 {
            (decoded.tasks_created, decoded.tasks_run) = (next()?, next()?);
        }
        if flags & HAS_MERGED != 0 {
            decoded.merged = u32::try_from(next()?).map_err(|_| Malformed)?.max(1);
            decoded.busy = Ticks(next()?);
        }
        let mut states = PerState::<Ticks>::default();
        for number in (0..16).filter(|number| mask & 1 << number != 0) {
            let (ticks, waits) = (next()?, next()?);
            // A state from a later version stays part of the remainder.
            if let Some(state) = State::from_number(number) {
                states[state] = Ticks(ticks);
                decoded.waits[state] = u32::try_from(waits).unwrap_or(u32::MAX);
            }
        }
        decoded.states = states;
        if flags & HAS_DSM != 0 {
            let counts = dsm_counts(next()?, &mut next)?;
            decoded.dsm = (!counts.is_zero()).then(|| Box::new(counts));
        }
        if flags & HAS_MUTEXES != 0 {
            decoded.mutexes = next()?;
        }
        if flags & HAS_SET != 0 {
            decoded.set = next()?;
        }
        if flags & HAS_EXTRA != 0 {
            let both = next()?;
            decoded.tasks_undeferred = both & u64::from(u32::MAX);
            decoded.tasks_dependent = both >> 32;
            // Recordings of earlier versions end here.
            decoded.longest_task = Ticks(next().unwrap_or(0));
            decoded.single_wait = Ticks(next().unwrap_or(0));
        }
        Ok(decoded)
    }

    fn interval(&self) -> Result<Interval, Malformed> {
        let begin = self.at(0)?;
        Ok(Interval {
            state: State::from_number((self.first >> 16) as u8).ok_or(Malformed)?,
            begin: Ticks(begin),
            end: Ticks(begin.saturating_add(self.at(1)?)),
            site: SiteId(high(self.first)),
        })
    }

    fn share(&self) -> Result<LoopShare, Malformed> {
        let begin = self.at(1)?;
        Ok(LoopShare {
            site: SiteId(high(self.first)),
            instance: InstanceId(self.at(0)?),
            kind: LoopKind::from_number((self.first >> 16) as u8).ok_or(Malformed)?,
            ordered: self.first >> 24 & 1 != 0,
            begin: Ticks(begin),
            end: Ticks(begin.saturating_add(self.at(2)?)),
            chunk: self.at(3)?,
            iterations: self.at(4)?,
            chunks: self.at(5)?,
            // Recordings of earlier versions end here.
            longest: Ticks(self.at(6).unwrap_or(0)),
        })
    }

    fn phase(&self) -> Result<Phase, Malformed> {
        let begin = self.at(1)?;
        let mut words = self.rest.iter().skip(4).copied();
        Ok(Phase {
            site: SiteId(high(self.first)),
            instance: InstanceId(self.at(0)?),
            begin: Ticks(begin),
            end: Ticks(begin.saturating_add(self.at(2)?)),
            dsm: dsm_counts(self.at(3)?, || words.next().ok_or(Malformed))?,
        })
    }

    fn counters(&self) -> Result<CounterReading, Malformed> {
        let mask = self.first >> 16 & 0xffff;
        let mut values = [None; 10];
        let mut words = self.rest.iter().skip(2);
        for (number, value) in values.iter_mut().enumerate() {
            if mask & 1 << number != 0 {
                *value = Some(*words.next().ok_or(Malformed)?);
            }
        }
        let since = self.at(0)?;
        Ok(CounterReading {
            since: Ticks(since),
            at: Ticks(since.saturating_add(self.at(1)?)),
            site: SiteId(high(self.first)),
            counts: Counters {
                minor_faults: values[0].unwrap_or(0),
                major_faults: values[1].unwrap_or(0),
                voluntary_switches: values[2].unwrap_or(0),
                involuntary_switches: values[3].unwrap_or(0),
                cycles: values[4],
                instructions: values[5],
                processor_ns: values[6],
                run_delay_ns: values[7],
                asleep_ns: values[8],
                allowed: values[9].map(Allowed::from_word),
            },
        })
    }
}

/// Counts of sharing; those from a later version are passed over.
fn dsm_counts(
    mask: u64,
    mut next: impl FnMut() -> Result<u64, Malformed>,
) -> Result<DsmCounts, Malformed> {
    let mut counts = DsmCounts::default();
    for number in (0..u64::BITS as usize).filter(|number| mask >> number & 1 != 0) {
        let value = next()?;
        if number < DsmCount::COUNT {
            counts.0[number] = value;
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests;
