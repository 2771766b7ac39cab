//! A log of intervals in memory that all nodes share: whoever flushes enters what it
//! has written, and reads what others have entered, without a message to anybody.
//!
//! Each epoch has a log of its own, in one of two places by turns: when a node comes to
//! an epoch, all others have left the one before the last. A log's end is one word, so
//! that entering an interval and reading up to it is one moment in the order of all
//! flushes. Entries lie in a ring; the log closes for its epoch if somebody has not read
//! for so long that there is no room. Then messages tell.

use fathomp_base::{NodeId, PageId};
use fathomp_dsm::{Interval, Notice, PageRange, PageSet};
use fathomp_sys::process::yield_now;
use fathomp_sys::shared_memory::{Sections, SharedMemory};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Words of a ring. A notice of a few pages takes about five.
const RING: u64 = 1 << 15;
/// Most words of an entry: what writes more goes by message.
const ENTRY_MAX: u64 = RING / 8;
/// Says that a word is an entry's first.
const MARKED: u64 = 1 << 63;
/// Words of an entry before its ranges of pages.
const HEAD: u64 = 3;

/// Logs of two epochs, and who has read how much of them.
#[derive(Debug)]
pub(crate) struct Logs {
    shared: SharedMemory,
    /// Those who read: the nodes, and the sequencer.
    readers: usize,
}

/// Who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    Node(NodeId),
    Sequencer,
}

/// The end of a log, as it lies in memory: its epoch, whether it is closed, and the
/// number of words that were ever entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct End {
    epoch: u32,
    closed: bool,
    words: u64,
}

impl End {
    const CLOSED: u64 = 1 << 31;

    fn word(self) -> u64 {
        u64::from(self.epoch) << 32 | u64::from(self.closed) << 31 | self.words
    }

    /// The end of an epoch's log; None if there is a later one in its place.
    fn of(word: u64, epoch: u32) -> Option<Self> {
        let there = (word >> 32) as u32;
        let words = word & (Self::CLOSED - 1);
        match there.cmp(&epoch) {
            std::cmp::Ordering::Less => Some(Self {
                epoch,
                closed: false,
                words: 0,
            }),
            std::cmp::Ordering::Equal => Some(Self {
                epoch,
                closed: word & Self::CLOSED != 0,
                words,
            }),
            std::cmp::Ordering::Greater => None,
        }
    }
}

/// One of the logs.
struct Log<'a> {
    epoch: u32,
    end: &'a AtomicU64,
    /// How far each reader has come, in the form of an [`End`].
    read: &'a [AtomicU64],
    ring: &'a [AtomicU64],
}

impl Logs {
    /// For so many nodes.
    ///
    /// # Errors
    /// If there is no memory.
    pub(crate) fn new(nodes: u16) -> io::Result<Self> {
        let readers = usize::from(nodes) + 1;
        let sections = Sections {
            halves: 0,
            words: 2 * Self::words(readers),
            bytes: 0,
        };
        let shared = SharedMemory::new(sections)?;
        Ok(Self { shared, readers })
    }

    fn words(readers: usize) -> usize {
        1 + readers + RING as usize
    }

    fn of(&self, epoch: u32) -> Option<Log<'_>> {
        let words = Self::words(self.readers);
        let start = (epoch & 1) as usize * words;
        let words = self.shared.words().get(start..start + words)?;
        let (end, rest) = words.split_first()?;
        let (read, ring) = rest.split_at_checked(self.readers)?;
        Some(Log {
            epoch,
            end,
            read,
            ring,
        })
    }

    /// Enters an interval, if there is one. Returns the end to which its writer has to
    /// read if it flushes; None if the log is closed.
    pub(crate) fn enter(&self, epoch: u32, notice: Option<&Notice>) -> Option<u64> {
        let log = self.of(epoch)?;
        match notice {
            Some(notice) => log.enter(notice),
            None => log.end().filter(|end| !end.closed).map(|end| end.words),
        }
    }

    /// What others than a node have entered that it has not read, up to an end, or all
    /// there is. None if that cannot be read: an entry makes no sense, or `goes_on` was
    /// false while somebody was entering one.
    pub(crate) fn read(
        &self,
        epoch: u32,
        reader: Reader,
        end: Option<u64>,
        goes_on: impl Fn() -> bool,
    ) -> Option<Vec<Notice>> {
        let log = self.of(epoch)?;
        let (place, but) = match reader {
            Reader::Node(node) => (usize::from(node.0), Some(node)),
            Reader::Sequencer => (self.readers - 1, None),
        };
        let place = log.read.get(place)?;
        let mut at = End::of(place.load(Ordering::Relaxed), epoch)?.words;
        let end = match end {
            Some(end) => end,
            None => log.end()?.words,
        };
        let mut notices = Vec::new();
        if at >= end {
            return Some(notices);
        }
        while at < end {
            let (notice, words) = log.entry(at, &goes_on)?;
            notices.extend(Some(notice).filter(|notice| Some(notice.writer) != but));
            at += words;
        }
        let read = End {
            epoch,
            closed: false,
            words: at,
        };
        // After what was read, which may be written over now.
        place.store(read.word(), Ordering::Release);
        Some(notices)
    }
}

impl Log<'_> {
    fn end(&self) -> Option<End> {
        End::of(self.end.load(Ordering::SeqCst), self.epoch)
    }

    fn word(&self, at: u64) -> Option<&AtomicU64> {
        self.ring.get((at % RING) as usize)
    }

    /// The mark of an entry that is complete: no other has the same, and nothing else
    /// in an entry the highest bit.
    fn mark(&self, at: u64) -> u64 {
        MARKED | u64::from(self.epoch) << 32 | at
    }

    /// Whether all readers are past what lies where the ring ends at `end`.
    fn has_room(&self, end: u64) -> bool {
        end <= RING || {
            let read = |word: &AtomicU64| End::of(word.load(Ordering::Acquire), self.epoch);
            let mut read = self.read.iter().map(read);
            read.all(|read| read.is_some_and(|read| end - read.words <= RING))
        }
    }

    fn enter(&self, notice: &Notice) -> Option<u64> {
        let ranges = notice.pages.ranges();
        let ranges = ranges
            .iter()
            .map(|range| pair(range.len(), range.first().0));
        let version = pair(notice.interval.0, notice.writer.0.into());
        let size = HEAD + ranges.len() as u64;
        if version >= MARKED || ranges.clone().any(|range| range >= MARKED) {
            return None;
        }
        let mut word = self.end.load(Ordering::SeqCst);
        let at = loop {
            let mut end = End::of(word, self.epoch).filter(|end| !end.closed)?;
            let at = end.words;
            let fits = size <= ENTRY_MAX && at + size < End::CLOSED && self.has_room(at + size);
            match fits {
                true => end.words += size,
                false => end.closed = true,
            }
            let ordering = Ordering::SeqCst;
            match self
                .end
                .compare_exchange(word, end.word(), ordering, ordering)
            {
                Ok(_) if fits => break at,
                Ok(_) => return None,
                Err(now) => word = now,
            }
        };
        let put = |offset: u64, value: u64, ordering| {
            if let Some(word) = self.word(at + offset) {
                word.store(value, ordering);
            }
        };
        put(1, version, Ordering::Relaxed);
        put(2, ranges.len() as u64, Ordering::Relaxed);
        for (offset, range) in (HEAD..).zip(ranges) {
            put(offset, range, Ordering::Relaxed);
        }
        put(0, self.mark(at), Ordering::Release);
        Some(at + size)
    }

    /// The entry at `at` and its length, once it is complete.
    fn entry(&self, at: u64, goes_on: impl Fn() -> bool) -> Option<(Notice, u64)> {
        let mark = self.word(at)?;
        let mut looks = 0_u32;
        while mark.load(Ordering::Acquire) != self.mark(at) {
            looks += 1;
            match looks {
                ..SPINS => std::hint::spin_loop(),
                _ if looks.is_multiple_of(SPINS) && !goes_on() => return None,
                // Its writer may need this processor.
                _ => yield_now(),
            }
        }
        let get = |offset: u64| Some(self.word(at + offset)?.load(Ordering::Relaxed));
        let (version, count) = (get(1)?, get(2)?);
        let count = Some(count).filter(|count| HEAD + count <= ENTRY_MAX)?;
        let ranges = (HEAD..HEAD + count).map(|offset| {
            let range = get(offset)?;
            PageRange::new(PageId(range as u32), (range >> 32) as u32)
        });
        let pages = PageSet::from_ranges(ranges.collect::<Option<_>>()?).ok()?;
        let notice = Notice {
            writer: NodeId(u16::try_from(version & u64::from(u32::MAX)).ok()?),
            interval: Interval((version >> 32) as u32),
            pages,
            foreseen: false,
            late: false,
        };
        Some((notice, HEAD + count))
    }
}

fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Looks at an entry that is being written before its reader gives its processor away.
const SPINS: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(writer: u16, interval: u32, pages: &[u32]) -> Notice {
        Notice {
            writer: NodeId(writer),
            interval: Interval(interval),
            pages: pages.iter().copied().map(PageId).collect(),
            foreseen: false,
            late: false,
        }
    }

    fn flush(logs: &Logs, epoch: u32, node: u16, notice: Option<&Notice>) -> Option<Vec<Notice>> {
        let end = logs.enter(epoch, notice)?;
        logs.read(epoch, Reader::Node(NodeId(node)), Some(end), || true)
    }

    #[test]
    fn everybody_reads_what_others_have_entered_once() {
        let logs = Logs::new(2).unwrap();
        let (first, second) = (notice(0, 1, &[3, 4, 9]), notice(1, 1, &[u32::MAX]));
        assert_eq!(flush(&logs, 0, 0, Some(&first)), Some(vec![]));
        assert_eq!(flush(&logs, 0, 1, Some(&second)), Some(vec![first.clone()]));
        assert_eq!(flush(&logs, 0, 1, None), Some(vec![]));
        assert_eq!(flush(&logs, 0, 0, None), Some(vec![second.clone()]));
        let all = logs.read(0, Reader::Sequencer, None, || true);
        assert_eq!(all, Some(vec![first, second]));
    }

    #[test]
    fn epochs_do_not_meet() {
        let logs = Logs::new(2).unwrap();
        for epoch in 0..5 {
            assert_eq!(flush(&logs, epoch, 1, None), Some(vec![]), "{epoch}");
            let own = notice(0, epoch + 1, &[epoch]);
            flush(&logs, epoch, 0, Some(&own)).unwrap();
            // Somebody is in the next epoch already.
            flush(&logs, epoch + 1, 0, None).unwrap();
            assert_eq!(flush(&logs, epoch, 1, None), Some(vec![own]), "{epoch}");
        }
        assert_eq!(flush(&logs, 2, 1, None), None);
    }

    #[test]
    fn a_ring_goes_round_while_all_read() {
        let logs = Logs::new(1).unwrap();
        for interval in 1..=RING as u32 {
            let own = notice(0, interval, &[interval, interval + 2]);
            assert_eq!(flush(&logs, 7, 0, Some(&own)), Some(vec![]));
            let told = logs.read(7, Reader::Sequencer, None, || true);
            assert_eq!(told, Some(vec![own]));
        }
    }

    #[test]
    fn a_log_closes_when_somebody_does_not_read() {
        let logs = Logs::new(1).unwrap();
        let own = notice(0, 1, &[1]);
        let mut entered = 0;
        while flush(&logs, 1, 0, Some(&own)).is_some() {
            entered += 1;
        }
        assert_eq!(entered as u64, RING / (HEAD + 1));
        assert_eq!(flush(&logs, 1, 0, None), None);
        // What was entered before is there.
        let told = logs.read(1, Reader::Sequencer, None, || true);
        assert_eq!(told.map(|told| told.len()), Some(entered));
        // The next epoch has room, and the one after it the same place.
        assert!(flush(&logs, 2, 0, Some(&own)).is_some());
        assert!(flush(&logs, 3, 0, Some(&own)).is_some());
    }

    #[test]
    fn what_makes_no_sense_is_not_read() {
        for (offset, word) in [(1, u64::MAX), (2, ENTRY_MAX), (HEAD, 0)] {
            let logs = Logs::new(1).unwrap();
            logs.enter(0, Some(&notice(0, 1, &[1]))).unwrap();
            let log = logs.of(0).unwrap();
            log.word(offset).unwrap().store(word, Ordering::Relaxed);
            let read = logs.read(0, Reader::Sequencer, None, || true);
            assert_eq!(read, None, "{offset}");
        }
    }

    #[test]
    fn what_is_never_complete_is_given_up() {
        let logs = Logs::new(2).unwrap();
        let log = logs.of(0).unwrap();
        log.end.store(
            End {
                epoch: 0,
                closed: false,
                words: HEAD,
            }
            .word(),
            Ordering::SeqCst,
        );
        let read = logs.read(0, Reader::Sequencer, None, || false);
        assert_eq!(read, None);
    }
}
