//! Which program had which cores when: what a program tells the launcher, through a ring
//! of its slot.
//!
//! A record is a head and some words. The head holds what it is, its length and a check.
//! Regions are named once, by the file that holds their code and the address in it, and
//! then by the address of the code in the process.

use crate::cores::{Cores, WORDS};
use fathomp_ring::{Ring, Sink};
use std::sync::atomic::AtomicU64;

/// Executions of a region, one after the other on the same cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Address of the region's code in its process.
    pub region: u64,
    /// When the first began, nanoseconds of the monotonic clock.
    pub begin_ns: u64,
    /// When the last ended.
    pub end_ns: u64,
    /// How many there were.
    pub instances: u64,
    /// Threads of the team.
    pub threads: u32,
    /// The cores it had.
    pub cores: Cores,
}

/// What a program tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The regions that it executed.
    Span(Span),
    /// What a region is.
    Name {
        /// See [`Span::region`].
        region: u64,
        /// Its address in its file.
        address: u64,
        /// The path of the file.
        module: Vec<u8>,
    },
    /// So many events had no room.
    Lost(u64),
}

const SPAN: u64 = 1;
const NAME: u64 = 2;
const LOST: u64 = 3;
const SPAN_WORDS: usize = 5 + WORDS;
/// Longer paths are cut at the front.
const MODULE_BYTES_MAX: usize = 1024;
const WORDS_MAX: usize = 3 + MODULE_BYTES_MAX / 8;
const CHECK: u64 = 0x6174_6f70;

fn head(tag: u64, words: usize) -> u64 {
    CHECK << 32 | (words as u64) << 8 | tag
}

/// Events of one slot. One process writes them, one reads them.
#[derive(Clone, Copy, Debug)]
pub struct Log<'a>(Ring<'a, AtomicU64>);

/// What the writer remembers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Writer {
    seen_tail: u64,
    lost: u64,
}

/// Where the reader is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reader {
    position: u64,
    damaged: bool,
}

impl<'a> Log<'a> {
    pub(crate) fn new(ring: Ring<'a, AtomicU64>) -> Self {
        Self(ring)
    }

    /// A writer that goes on where the last one ended.
    #[must_use]
    pub fn writer(&self) -> Writer {
        Writer {
            seen_tail: self.0.consumed(),
            lost: 0,
        }
    }

    /// Writes executions of a region, or counts them as lost if there is no room.
    pub fn span(&self, writer: &mut Writer, span: &Span) {
        let mut words = [0; SPAN_WORDS];
        let [first, second, third, fourth, fifth, cores @ ..] = &mut words;
        *first = span.region;
        *second = span.begin_ns;
        *third = span.end_ns;
        *fourth = span.instances;
        *fifth = u64::from(span.threads);
        cores.copy_from_slice(&span.cores.words());
        self.put(writer, SPAN, &words);
    }

    /// Names a region.
    pub fn name(&self, writer: &mut Writer, region: u64, address: u64, module: &[u8]) {
        let from = module.len().saturating_sub(MODULE_BYTES_MAX);
        let module = module.get(from..).unwrap_or_default();
        let mut words = vec![region, address, module.len() as u64];
        words.extend(module.chunks(8).map(|piece| {
            let mut bytes = [0; 8];
            for (byte, from) in bytes.iter_mut().zip(piece) {
                *byte = *from;
            }
            u64::from_le_bytes(bytes)
        }));
        self.put(writer, NAME, &words);
    }

    fn put(&self, writer: &mut Writer, tag: u64, words: &[u64]) {
        let tell = if writer.lost > 0 { 2 } else { 0 };
        let wanted = words.len() as u64 + 1 + tell;
        if self.0.free(&mut writer.seen_tail, wanted) < wanted {
            writer.lost += 1;
            return;
        }
        let mut cursor = self.0.append();
        if writer.lost > 0 {
            cursor.put(head(LOST, 1));
            cursor.put(std::mem::take(&mut writer.lost));
        }
        cursor.put(head(tag, words.len()));
        for word in words {
            cursor.put(*word);
        }
        cursor.commit();
    }

    /// Takes what has come since the last time. Garbage ends the reading for good.
    pub fn read(&self, reader: &mut Reader, mut take: impl FnMut(Event)) {
        if reader.damaged {
            return;
        }
        let written = self.0.written();
        let mut words = Vec::new();
        if self.0.copy(reader.position, written, &mut words).is_err() {
            reader.damaged = true;
            return;
        }
        let mut rest = words.as_slice();
        while !rest.is_empty() {
            let Some((event, behind)) = parse(rest) else {
                reader.damaged = true;
                break;
            };
            take(event);
            rest = behind;
        }
        reader.position = written;
        self.0.consume(written);
    }
}

impl Reader {
    /// Whether what the program told could not be understood.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.damaged
    }
}

/// The first event, and what comes behind it.
fn parse(words: &[u64]) -> Option<(Event, &[u64])> {
    let (first, rest) = words.split_first()?;
    let length = (first >> 8 & 0x00ff_ffff) as usize;
    if first >> 32 != CHECK || length > WORDS_MAX {
        return None;
    }
    let (body, behind) = rest.split_at_checked(length)?;
    let event = match (first & 0xff, body) {
        (SPAN, [region, begin_ns, end_ns, instances, threads, cores @ ..]) => Event::Span(Span {
            region: *region,
            begin_ns: *begin_ns,
            end_ns: *end_ns,
            instances: *instances,
            threads: u32::try_from(*threads).ok()?,
            cores: Cores::from_words(cores.try_into().ok()?),
        }),
        (NAME, [region, address, bytes, module @ ..]) => {
            let bytes = usize::try_from(*bytes).ok()?;
            let all: Vec<u8> = module.iter().flat_map(|word| word.to_le_bytes()).collect();
            Event::Name {
                region: *region,
                address: *address,
                module: all.get(..bytes)?.to_vec(),
            }
        }
        (LOST, [count]) => Event::Lost(*count),
        _ => return None,
    };
    Some((event, behind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::atomic::Ordering;

    fn words(count: usize) -> Vec<AtomicU64> {
        (0..count).map(|_| AtomicU64::new(0)).collect()
    }

    fn span(number: u64) -> Span {
        Span {
            region: 0x1234,
            begin_ns: number,
            end_ns: number + 1,
            instances: 3,
            threads: 2,
            cores: Cores::first(2),
        }
    }

    #[test]
    fn events_come_out_as_they_went_in_and_the_lost_are_counted() {
        let (storage, counters) = (words(64), words(2));
        let log = Log::new(Ring::new(&storage, &counters[0], &counters[1]).unwrap());
        let (mut writer, mut reader) = (log.writer(), Reader::default());
        log.name(&mut writer, 0x1234, 0x34, b"/bin/a program");
        for number in 0..20 {
            log.span(&mut writer, &span(number));
        }
        let mut seen = Vec::new();
        log.read(&mut reader, |event| seen.push(event));
        log.span(&mut writer, &span(99));
        log.read(&mut reader, |event| seen.push(event));
        assert_eq!(
            seen[0],
            Event::Name {
                region: 0x1234,
                address: 0x34,
                module: b"/bin/a program".to_vec()
            }
        );
        let spans = seen
            .iter()
            .filter(|one| matches!(one, Event::Span(_)))
            .count();
        let lost: u64 = seen
            .iter()
            .map(|one| {
                if let Event::Lost(count) = one {
                    *count
                } else {
                    0
                }
            })
            .sum();
        assert_eq!(
            (spans as u64 - 1 + lost, seen.last()),
            (20, Some(&Event::Span(span(99))))
        );
        assert!(lost > 0 && !reader.is_damaged());
    }

    proptest! {
        #[test]
        fn garbage_is_read_without_harm(
            garbage in proptest::collection::vec(any::<u64>(), 64),
            heads in proptest::collection::vec((0_usize..64, 0_u64..5, 0_usize..70), 0..8),
            written: u64,
        ) {
            let (storage, counters) = (words(64), words(2));
            for (word, bits) in storage.iter().zip(garbage) {
                word.store(bits, Ordering::Relaxed);
            }
            for (at, tag, length) in heads {
                storage[at].store(head(tag, length), Ordering::Relaxed);
            }
            counters[0].store(written % 80, Ordering::Relaxed);
            let log = Log::new(Ring::new(&storage, &counters[0], &counters[1]).unwrap());
            let mut reader = Reader::default();
            let mut count = 0;
            log.read(&mut reader, |_| count += 1);
            log.read(&mut reader, |_| count += 1);
            prop_assert!(count <= 64);
        }
    }
}
