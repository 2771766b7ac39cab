//! Records as words of 64 bits: the form they have in rings and messages.
//!
//! A record is a moment (or ticks), a head word, and further words as the head says. Heads
//! hold, from the lowest bit: kind (4), whether counts are narrow (1), a small number such as
//! the state (3), the mask of counts (20), a large number such as the cause (32).
//!
//! Counts are those of the mask, in order: four to a word if all are below 65,536 (narrow),
//! else one to a word.

use fathomp_paging::{Cause, Counter, Counts, Ending, MarkKind, State};
use fathomp_ring::Sink;
use fathomp_types::Ticks;

const INTERVAL: u64 = 1;
const MERGED: u64 = 2;
const OMITTED: u64 = 3;
const GAP: u64 = 4;
const MARK: u64 = 5;
const BEGIN: u64 = 6;
const IDENTITY: u64 = 7;
const END: u64 = 8;

const NARROW: u64 = 1 << 4;
const SMALL: u32 = 5;
const MASK: u32 = 8;
const LARGE: u32 = 28;
/// Counts below this may be narrow.
const WIDE: u64 = 1 << 16;
/// "Not known", where a number may be missing.
const NONE: u32 = u32::MAX;

/// Most words of a record.
pub const WORDS_MOST: usize = 3 + Counter::COUNT;
/// Words of the record that ends a thread.
pub const END_WORDS: usize = 2;

/// What a thread says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// A thread begins to use the channel.
    Begin {
        /// When.
        at: Ticks,
        /// Its number in its process, from 0.
        number: u32,
        /// Number by which the kernel knows it.
        os_id: u32,
    },
    /// What the thread's numbers are, as far as known.
    Identity {
        /// Rank in `MPI_COMM_WORLD`.
        rank: Option<u32>,
        /// Node.
        node: Option<u32>,
        /// Number among the OpenMP threads.
        openmp_thread: Option<u32>,
        /// Whether its intervals are recorded, if that can be told by now.
        selected: Option<bool>,
    },
    /// A stay that began where the last one ended; or several, merged to one.
    Interval {
        /// When it ended.
        at: Ticks,
        /// State.
        state: State,
        /// Cause.
        cause: Cause,
        /// Stays it stands for.
        merged: u64,
        /// What rose meanwhile.
        counts: Counts,
    },
    /// What was not recorded and is only part of the totals.
    Omitted {
        /// Ticks together.
        ticks: Ticks,
        /// State.
        state: State,
        /// Number of stays.
        stays: u64,
        /// What rose meanwhile.
        counts: Counts,
    },
    /// The next interval begins here.
    Gap {
        /// When.
        at: Ticks,
    },
    /// A mark.
    Mark {
        /// When.
        at: Ticks,
        /// Kind.
        kind: MarkKind,
        /// Number of the name.
        name: u32,
    },
    /// The thread ends.
    End {
        /// When.
        at: Ticks,
        /// How.
        ending: Ending,
    },
}

/// Words that are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

#[inline(always)]
fn head(kind: u64, small: u64, large: u32) -> u64 {
    kind | small << SMALL | u64::from(large) << LARGE
}

/// Which counts are not zero (a bit each), and whether all of them are narrow.
#[inline(always)]
fn shape(counts: &Counts, wanted: u32) -> (u32, bool) {
    let mut mask = 0;
    let mut all = 0;
    for (number, &count) in counts.0.iter().enumerate() {
        mask |= u32::from(count != 0) << number;
        all |= count;
    }
    (mask & wanted, all < WIDE)
}

#[inline(always)]
fn put_counts(out: &mut impl Sink, counts: &Counts, mut mask: u32, narrow: bool) {
    if narrow {
        let (mut word, mut shift) = (0, 0);
        while mask != 0 {
            word |= counts.0[mask.trailing_zeros() as usize] << shift;
            mask &= mask - 1;
            shift += 16;
            if shift == 64 {
                out.put(word);
                (word, shift) = (0, 0);
            }
        }
        if shift != 0 {
            out.put(word);
        }
    } else {
        while mask != 0 {
            out.put(counts.0[mask.trailing_zeros() as usize]);
            mask &= mask - 1;
        }
    }
}

/// Writes an interval of a single stay; `wanted` are the counters that are recorded.
#[inline(always)]
pub fn put_interval(
    out: &mut impl Sink,
    at: Ticks,
    state: State,
    cause: Cause,
    counts: &Counts,
    wanted: u32,
) {
    let (mask, narrow) = shape(counts, wanted);
    let kind = INTERVAL | if narrow { NARROW } else { 0 };
    out.put(at.0);
    out.put(head(kind, state.index() as u64, cause.0) | u64::from(mask) << MASK);
    put_counts(out, counts, mask, narrow);
}

/// Writes a record; `wanted` are the counters that are recorded.
pub fn put(out: &mut impl Sink, record: &Record, wanted: u32) {
    let (at, kind, small, large) = match *record {
        Record::Interval {
            at,
            state,
            cause,
            merged: 1,
            ref counts,
        } => return put_interval(out, at, state, cause, counts, wanted),
        Record::Interval {
            at,
            state,
            cause,
            merged,
            ref counts,
        } => {
            let sum = (at, MERGED, state, cause.0, merged);
            return put_sum(out, sum, counts, wanted);
        }
        Record::Omitted {
            ticks,
            state,
            stays,
            ref counts,
        } => {
            let sum = (ticks, OMITTED, state, 0, stays);
            return put_sum(out, sum, counts, wanted);
        }
        Record::Begin { at, number, os_id } => {
            out.put(at.0);
            out.put(head(BEGIN, 0, os_id));
            out.put(number.into());
            return;
        }
        Record::Identity {
            rank,
            node,
            openmp_thread,
            selected,
        } => {
            let word = |number: Option<u32>| u64::from(number.unwrap_or(NONE));
            let pair = Ticks(word(rank) | word(node) << 32);
            let small = selected.map_or(0, |selected| 1 + u64::from(selected));
            (pair, IDENTITY, small, openmp_thread.unwrap_or(NONE))
        }
        Record::Gap { at } => (at, GAP, 0, 0),
        Record::Mark { at, kind, name } => (at, MARK, kind as u64, name),
        Record::End { at, ending } => (at, END, crate::layout::ending::to_word(ending), 0),
    };
    out.put(at.0);
    out.put(head(kind, small, large));
}

fn put_sum(
    out: &mut impl Sink,
    (at, kind, state, cause, stays): (Ticks, u64, State, u32, u64),
    counts: &Counts,
    wanted: u32,
) {
    let (mask, narrow) = shape(counts, wanted);
    let kind = kind | if narrow { NARROW } else { 0 };
    out.put(at.0);
    out.put(head(kind, state.index() as u64, cause) | u64::from(mask) << MASK);
    out.put(stays);
    put_counts(out, counts, mask, narrow);
}

/// Reads the record at the beginning of `words`; gives its length, too.
///
/// # Errors
/// If there is none.
#[inline]
pub fn read(words: &[u64]) -> Result<(Record, usize), Malformed> {
    let &[at, head, ..] = words else {
        return Err(Malformed);
    };
    let (at, large) = (Ticks(at), (head >> LARGE) as u32);
    let small = (head >> SMALL & 7) as usize;
    let state = || State::from_index(small).ok_or(Malformed);
    let third = || words.get(2).copied().ok_or(Malformed);
    match head & 0xf {
        INTERVAL => {
            let (counts, length) = read_counts(head, words, 2)?;
            let record = Record::Interval {
                at,
                state: state()?,
                cause: Cause(large),
                merged: 1,
                counts,
            };
            Ok((record, length))
        }
        MERGED => {
            let (counts, length) = read_counts(head, words, 3)?;
            let record = Record::Interval {
                at,
                state: state()?,
                cause: Cause(large),
                merged: third()?,
                counts,
            };
            Ok((record, length))
        }
        OMITTED => {
            let (counts, length) = read_counts(head, words, 3)?;
            let record = Record::Omitted {
                ticks: at,
                state: state()?,
                stays: third()?,
                counts,
            };
            Ok((record, length))
        }
        GAP => Ok((Record::Gap { at }, 2)),
        MARK => {
            let kind = *MarkKind::ALL.get(small).ok_or(Malformed)?;
            let name = large;
            Ok((Record::Mark { at, kind, name }, 2))
        }
        BEGIN => {
            let number = u32::try_from(third()?).map_err(|_| Malformed)?;
            let os_id = large;
            Ok((Record::Begin { at, number, os_id }, 3))
        }
        IDENTITY => {
            let number = |word: u32| (word != NONE).then_some(word);
            let record = Record::Identity {
                rank: number(at.0 as u32),
                node: number((at.0 >> 32) as u32),
                openmp_thread: number(large),
                selected: small.checked_sub(1).map(|selected| selected != 0),
            };
            Ok((record, 2))
        }
        END => {
            let ending = crate::layout::ending::from_word(small as u64).ok_or(Malformed)?;
            Ok((Record::End { at, ending }, 2))
        }
        _ => Err(Malformed),
    }
}

/// An interval of a single stay, as most records are.
#[derive(Clone, Copy, Debug)]
pub struct Stay {
    /// When it ended.
    pub at: Ticks,
    /// State.
    pub state: State,
    /// Cause.
    pub cause: Cause,
    /// Counters that rose, a bit each.
    pub mask: u32,
    /// Words of the record.
    pub length: usize,
}

/// Reads the record at the beginning of `words` if it is an interval of a single stay: what
/// [`read`] does, for those that read very many. What rose is put into `counts`, of which
/// nothing else is touched.
#[inline(always)]
#[must_use]
pub fn read_stay(words: &[u64], counts: &mut Counts) -> Option<Stay> {
    let &[at, head, ..] = words else { return None };
    if head & 0xf != INTERVAL {
        return None;
    }
    let mask = (head >> MASK) as u32 & ((1 << Counter::COUNT) - 1);
    let length = fill_counts(counts, head, words, 2).ok()?;
    Some(Stay {
        at: Ticks(at),
        state: State::from_index((head >> SMALL & 7) as usize)?,
        cause: Cause((head >> LARGE) as u32),
        mask,
        length,
    })
}

/// How many of the words, up to `most`, are whole records: so many may be taken without
/// tearing one. All if the first is longer than that, or no record.
#[must_use]
pub fn whole(words: &[u64], most: usize) -> usize {
    let mut end = 0;
    while end < words.len() {
        let Ok((_, length)) = read(&words[end..]) else {
            return words.len();
        };
        if end + length > most {
            break;
        }
        end += length;
    }
    match end {
        0 => words.len(),
        end => end,
    }
}

#[inline]
fn read_counts(head: u64, words: &[u64], first: usize) -> Result<(Counts, usize), Malformed> {
    let mut counts = Counts::ZERO;
    let length = fill_counts(&mut counts, head, words, first)?;
    Ok((counts, length))
}

/// Puts what rose into `counts`; gives the words of the record.
#[inline(always)]
fn fill_counts(
    counts: &mut Counts,
    head: u64,
    words: &[u64],
    first: usize,
) -> Result<usize, Malformed> {
    let mut mask = (head >> MASK) as u32 & ((1 << Counter::COUNT) - 1);
    let number = mask.count_ones() as usize;
    let narrow = head & NARROW != 0;
    let length = first + if narrow { number.div_ceil(4) } else { number };
    let raw = words.get(first..length).ok_or(Malformed)?;
    let mut place = 0;
    while mask != 0 {
        let counter = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        counts.0[counter] = if narrow {
            raw[place / 4] >> (place % 4 * 16) & (WIDE - 1)
        } else {
            raw[place]
        };
        place += 1;
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts() -> impl Strategy<Value = Counts> {
        let count = prop_oneof![
            4 => Just(0_u64),
            4 => 0..70_000_u64,
            1 => any::<u64>(),
        ];
        proptest::collection::vec(count, Counter::COUNT).prop_map(|all| {
            let mut counts = Counts::ZERO;
            counts.0.copy_from_slice(&all);
            counts
        })
    }

    fn number() -> impl Strategy<Value = Option<u32>> {
        proptest::option::of(0..u32::MAX)
    }

    fn record() -> impl Strategy<Value = Record> {
        let ticks = || any::<u64>().prop_map(Ticks);
        let state = || (0..State::COUNT).prop_map(|index| State::ALL[index]);
        prop_oneof![
            (ticks(), any::<u32>(), any::<u32>())
                .prop_map(|(at, number, os_id)| { Record::Begin { at, number, os_id } }),
            (number(), number(), number(), any::<Option<bool>>()).prop_map(
                |(rank, node, openmp_thread, selected)| Record::Identity {
                    rank,
                    node,
                    openmp_thread,
                    selected,
                }
            ),
            (ticks(), state(), any::<u32>(), 1..9_u64, counts()).prop_map(
                |(at, state, cause, merged, counts)| Record::Interval {
                    at,
                    state,
                    cause: Cause(cause),
                    merged,
                    counts,
                }
            ),
            (ticks(), state(), any::<u64>(), counts()).prop_map(|(ticks, state, stays, counts)| {
                Record::Omitted {
                    ticks,
                    state,
                    stays,
                    counts,
                }
            }),
            ticks().prop_map(|at| Record::Gap { at }),
            (ticks(), 0..MarkKind::ALL.len(), any::<u32>()).prop_map(|(at, kind, name)| {
                Record::Mark {
                    at,
                    kind: MarkKind::ALL[kind],
                    name,
                }
            }),
            ticks().prop_map(|at| Record::End {
                at,
                ending: Ending::Exec,
            }),
        ]
    }

    proptest! {
        #[test]
        fn records_come_back_as_written(records in proptest::collection::vec(record(), 0..20)) {
            let mut words = Vec::new();
            for record in &records {
                let before = words.len();
                put(&mut words, record, u32::MAX);
                prop_assert!(words.len() - before <= WORDS_MOST);
            }
            let mut rest = &words[..];
            for record in &records {
                let (found, length) = read(rest).unwrap();
                prop_assert_eq!(found, *record);
                let mut counts = Counts::ZERO;
                if let Some(stay) = read_stay(rest, &mut counts) {
                    let same = Record::Interval {
                        at: stay.at,
                        state: stay.state,
                        cause: stay.cause,
                        merged: 1,
                        counts,
                    };
                    prop_assert_eq!((same, stay.length), (found, length));
                    let mask = counts.nonzero().map(|(one, _)| 1 << one.index());
                    prop_assert_eq!(stay.mask, mask.sum::<u32>());
                }
                rest = &rest[length..];
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn records_are_not_torn(
            records in proptest::collection::vec(record(), 1..20), most in WORDS_MOST..60,
        ) {
            let mut words = Vec::new();
            records.iter().for_each(|record| put(&mut words, record, u32::MAX));
            let mut rest = &words[..];
            let mut found = 0;
            while !rest.is_empty() {
                let (mut part, after) = rest.split_at(whole(rest, most));
                prop_assert!(part.len() <= most);
                while !part.is_empty() {
                    let (record, length) = read(part).unwrap();
                    prop_assert_eq!(record, records[found]);
                    found += 1;
                    part = &part[length..];
                }
                rest = after;
            }
            prop_assert_eq!(found, records.len());
        }

        #[test]
        fn no_words_make_it_panic(words in proptest::collection::vec(any::<u64>(), 0..30)) {
            let mut rest = &words[..];
            while let Ok((_, length)) = read(rest) {
                prop_assert!(length >= 2 && length <= rest.len());
                rest = &rest[length..];
            }
        }
    }

    #[test]
    fn an_interval_without_counts_takes_two_words_and_usual_counts_one_more() {
        let mut words = Vec::new();
        let state = State::ALL[2];
        put_interval(
            &mut words,
            Ticks(1),
            state,
            Cause(1),
            &Counts::ZERO,
            u32::MAX,
        );
        assert_eq!(words.len(), 2);
        let mut counts = Counts::ZERO;
        counts[Counter::IoCalls] = 1;
        counts[Counter::BytesRead] = 4096;
        counts[Counter::VoluntarySwitches] = 1;
        put_interval(&mut words, Ticks(1), state, Cause(1), &counts, u32::MAX);
        assert_eq!(words.len(), 5);
    }

    #[test]
    fn counters_that_are_not_wanted_are_zero() {
        let mut words = Vec::new();
        let mut counts = Counts::ZERO;
        counts[Counter::IoCalls] = 1;
        counts[Counter::MinorFaults] = 9;
        let wanted = 1 << Counter::MinorFaults.index();
        put_interval(
            &mut words,
            Ticks(1),
            State::ALL[0],
            Cause(0),
            &counts,
            wanted,
        );
        let (record, _) = read(&words).unwrap();
        let Record::Interval { counts, .. } = record else {
            panic!("{record:?}");
        };
        assert_eq!(counts[Counter::MinorFaults], 9);
        assert_eq!(counts[Counter::IoCalls], 0);
    }

    #[test]
    fn unwritten_memory_is_no_record() {
        assert_eq!(read(&[0; 8]), Err(Malformed));
    }
}
