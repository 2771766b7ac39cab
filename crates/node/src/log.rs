//! A log of intervals in memory that all nodes share: whoever flushes enters what it
//! has written, and reads what others have entered, without a message to anybody.
//!
//! Each epoch has a log of its own, in one of two places by turns: when a node comes to
//! an epoch, all others have left the one before the last. The log is a row of slots,
//! each with a single word. A node writes an entry where nobody else writes, and then puts
//! it into the first empty slot, by one atomic operation that is its moment in the order
//! of all flushes. So an entry is complete as soon as it is there: nobody ever waits for
//! somebody who has been stopped or killed in between. Slots and the nodes' own places
//! are rings; the log closes for its epoch if somebody has not read for so long that there
//! is no room. Then messages tell.

use fathomp_base::{NodeId, PageId};
use fathomp_dsm::{Interval, Notice, PageRange, PageSet};
use fathomp_sys::shared_memory::{Sections, SharedMemory};
use std::cmp::Ordering::{Equal, Greater, Less};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Slots of a log.
const SLOTS: u64 = 1 << 13;
/// How often slots can be used in an epoch.
const LAPS: u64 = (1 << 9) - 1;
/// Words for a node's entries. One of a few pages takes about four.
const RING: u64 = 1 << 14;
/// A node writes over one half when all have read what was there, while the other waits
/// to be read.
const HALF: u64 = RING / 2;
/// Most words of an entry: what writes more goes by message.
const ENTRY_MAX: u64 = HALF / 4;
/// Words of an entry before its ranges of pages.
const HEAD: u64 = 2;

/// Logs of two epochs, and who has read how much of them.
#[derive(Debug)]
pub(crate) struct Logs {
    shared: SharedMemory,
    nodes: usize,
}

/// Who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    Node(NodeId),
    Sequencer,
}

/// What lies in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// Nothing of this epoch and lap; the word that says so.
    Empty(u64),
    /// An entry: whose words, and where.
    Entry(NodeId, u64),
    /// Nothing will follow.
    Closed,
}

/// Bits of a slot's word: epoch, lap, node, whether the log is closed, place. So words
/// of later slots at a place are greater, and none is 0.
const NODE_AT: u32 = 15;
const LAP_AT: u32 = 23;
const EPOCH_AT: u32 = 32;
const CLOSED: u64 = 1 << (NODE_AT - 1);

/// One of the logs.
struct Log<'a> {
    epoch: u32,
    /// No slot before this number is empty.
    filled: &'a AtomicU64,
    /// How many slots each reader has read.
    read: &'a [AtomicU64],
    slots: &'a [AtomicU64],
    /// Each node's own.
    own: &'a [AtomicU64],
}

/// What a node knows of its own entries in a log, and their words. Only this node, where
/// one thread at a time does so, writes here.
struct Own<'a> {
    epoch: &'a AtomicU64,
    /// The first word that was not used.
    next: &'a AtomicU64,
    /// The number of slots up to the last entry in each half.
    last: [&'a AtomicU64; 2],
    ring: &'a [AtomicU64],
}

impl Own<'_> {
    const HEAD: usize = 4;
    const WORDS: usize = Self::HEAD + RING as usize;
}

/// A number of slots in an epoch, as one word.
fn number(epoch: u32, slots: u64) -> u64 {
    u64::from(epoch) << 32 | slots
}

/// The number of slots in an epoch; none yet if a word is of an earlier one, and None if
/// it is of a later one.
fn slots_of(word: u64, epoch: u32) -> Option<u64> {
    match (word >> 32).cmp(&epoch.into()) {
        Less => Some(0),
        Equal => Some(word & u64::from(u32::MAX)),
        Greater => None,
    }
}

impl Logs {
    /// For so many nodes, 256 at most.
    ///
    /// # Errors
    /// If there is no memory.
    pub(crate) fn new(nodes: u16) -> io::Result<Self> {
        let nodes = usize::from(nodes);
        let sections = Sections {
            halves: 0,
            words: 2 * Self::words(nodes),
            bytes: 0,
        };
        let shared = SharedMemory::new(sections)?;
        Ok(Self { shared, nodes })
    }

    /// Words of a log.
    fn words(nodes: usize) -> usize {
        // The nodes read, and the sequencer.
        1 + nodes + 1 + SLOTS as usize + nodes * Own::WORDS
    }

    fn of(&self, epoch: u32) -> Option<Log<'_>> {
        let words = Self::words(self.nodes);
        let start = (epoch & 1) as usize * words;
        let words = self.shared.words().get(start..start + words)?;
        let (filled, rest) = words.split_first()?;
        let (read, rest) = rest.split_at_checked(self.nodes + 1)?;
        let (slots, own) = rest.split_at_checked(SLOTS as usize)?;
        Some(Log {
            epoch,
            filled,
            read,
            slots,
            own,
        })
    }

    /// Enters an interval, if there is one, by node `me`. Returns the number of slots to
    /// which whoever flushes has to read; None if the log is closed.
    pub(crate) fn enter(&self, epoch: u32, me: NodeId, notice: Option<&Notice>) -> Option<u64> {
        let log = self.of(epoch)?;
        match notice {
            Some(notice) => log.enter(me, notice),
            None => {
                let (end, slot) = log.end()?;
                matches!(slot, Slot::Empty(_)).then_some(end)
            }
        }
    }

    /// Whether something is in the log that a node has not read, or nothing will be any more.
    pub(crate) fn has_news(&self, epoch: u32, node: NodeId) -> bool {
        let Some(log) = self.of(epoch) else {
            return true;
        };
        let read = log.read.get(usize::from(node.0));
        let read = read.and_then(|read| slots_of(read.load(Ordering::Relaxed), epoch));
        let next = read.and_then(|read| log.slot(read));
        !matches!(next, Some(Slot::Empty(_)))
    }

    /// What others than a node have entered that it has not read, up to a number of
    /// slots, or all there is. None if what lies there makes no sense.
    pub(crate) fn read(&self, epoch: u32, reader: Reader, end: Option<u64>) -> Option<Vec<Notice>> {
        let log = self.of(epoch)?;
        let (place, but) = match reader {
            Reader::Node(node) => (usize::from(node.0), Some(node)),
            Reader::Sequencer => (self.nodes, None),
        };
        let place = log.read.get(place)?;
        let first = slots_of(place.load(Ordering::Relaxed), epoch)?;
        let mut at = first;
        let mut notices = Vec::new();
        while end.is_none_or(|end| at < end) {
            match log.slot(at)? {
                Slot::Entry(node, first) => {
                    let notice = log.entry(node, first)?;
                    notices.extend(Some(notice).filter(|notice| Some(notice.writer) != but));
                }
                // The end.
                Slot::Empty(_) | Slot::Closed if end.is_none() => break,
                Slot::Empty(_) | Slot::Closed => return None,
            }
            at += 1;
        }
        if at > first {
            // After what was read, which may be written over now.
            place.store(number(epoch, at), Ordering::Release);
        }
        Some(notices)
    }
}

impl Log<'_> {
    /// What lies in a slot; None if that makes no sense.
    fn slot(&self, at: u64) -> Option<Slot> {
        let word = self.place(at)?.load(Ordering::SeqCst);
        Some(match (word >> LAP_AT).cmp(&(self.tag(at) >> LAP_AT)) {
            Less => Slot::Empty(word),
            Greater => return None,
            Equal if word & CLOSED != 0 => Slot::Closed,
            Equal => {
                let node = word >> NODE_AT & u64::from(u8::MAX);
                Slot::Entry(NodeId(node as u16), word & (CLOSED - 1))
            }
        })
    }

    fn place(&self, at: u64) -> Option<&AtomicU64> {
        self.slots.get((at % SLOTS) as usize)
    }

    /// What a slot's word begins with.
    fn tag(&self, at: u64) -> u64 {
        u64::from(self.epoch) << EPOCH_AT | (at / SLOTS + 1) << LAP_AT
    }

    /// The first slot without an entry, and what lies there.
    fn end(&self) -> Option<(u64, Slot)> {
        let mut at = slots_of(self.filled.load(Ordering::Acquire), self.epoch)?;
        loop {
            match self.slot(at)? {
                Slot::Entry(..) => at += 1,
                slot => return Some((at, slot)),
            }
        }
    }

    /// Whether all have read so many slots.
    fn all_read(&self, slots: u64) -> bool {
        let read = |word: &AtomicU64| slots_of(word.load(Ordering::Acquire), self.epoch);
        let mut read = self.read.iter().map(read);
        slots == 0 || read.all(|read| read.is_some_and(|read| read >= slots))
    }

    fn own(&self, node: NodeId) -> Option<Own<'_>> {
        let start = usize::from(node.0) * Own::WORDS;
        let words = self.own.get(start..start + Own::WORDS)?;
        let ([epoch, next, first, second], ring) = words.split_first_chunk::<{ Own::HEAD }>()?;
        Some(Own {
            epoch,
            next,
            last: [first, second],
            ring,
        })
    }

    /// Where a node may write an entry of so many words, if it may.
    fn room(&self, own: &Own, size: u64) -> Option<u64> {
        if own.epoch.load(Ordering::Relaxed) != u64::from(self.epoch) {
            own.epoch.store(self.epoch.into(), Ordering::Relaxed);
            let rest = [own.next, own.last[0], own.last[1]];
            rest.iter()
                .for_each(|word| word.store(0, Ordering::Relaxed));
        }
        let next = own.next.load(Ordering::Relaxed);
        let half = next.saturating_sub(1) / HALF;
        if size > ENTRY_MAX || next + size <= (half + 1) * HALF {
            return (size <= ENTRY_MAX).then_some(next);
        }
        let other = (half + 1) % 2;
        let last = own.last.get(other as usize)?.load(Ordering::Relaxed);
        self.all_read(last).then_some(other * HALF)
    }

    fn enter(&self, me: NodeId, notice: &Notice) -> Option<u64> {
        let own = self.own(me)?;
        let ranges = notice.pages.ranges();
        let size = HEAD + ranges.len() as u64;
        let room = self.room(&own, size);
        if let Some(first) = room {
            let version = pair(notice.interval.0, notice.writer.0.into());
            let ranges = ranges.iter();
            let ranges = ranges.map(|range| pair(range.len(), range.first().0));
            let head = [version, ranges.len() as u64];
            let words = own.ring.get(first as usize..)?;
            for (word, value) in words.iter().zip(head.into_iter().chain(ranges)) {
                word.store(value, Ordering::Relaxed);
            }
        }
        loop {
            let (at, Slot::Empty(before)) = self.end()? else {
                return None;
            };
            // One more has to be free, to close the log.
            let fits = at + 2 < LAPS * SLOTS && self.all_read((at + 2).saturating_sub(SLOTS));
            let first = room.filter(|_| fits);
            let word = first.unwrap_or(CLOSED) | u64::from(me.0) << NODE_AT | self.tag(at);
            let order = Ordering::SeqCst;
            let put = self.place(at)?.compare_exchange(before, word, order, order);
            if put.is_err() {
                continue;
            }
            let first = first?;
            own.next.store(first + size, Ordering::Relaxed);
            let last = own.last.get((first / HALF) as usize)?;
            last.store(at + 1, Ordering::Relaxed);
            self.filled
                .fetch_max(number(self.epoch, at + 1), Ordering::AcqRel);
            return Some(at + 1);
        }
    }

    /// The entry that begins at a word of a node.
    fn entry(&self, node: NodeId, first: u64) -> Option<Notice> {
        let words = self.own(node)?.ring.get(first as usize..)?;
        let mut words = words.iter().map(|word| word.load(Ordering::Relaxed));
        let (version, count) = (words.next()?, words.next()?);
        let count = Some(count).filter(|count| HEAD + count <= ENTRY_MAX)?;
        let ranges = words
            .take(count as usize)
            .map(|range| PageRange::new(PageId(range as u32), (range >> 32) as u32));
        let pages = PageSet::from_ranges(ranges.collect::<Option<_>>()?).ok()?;
        Some(Notice {
            writer: NodeId(u16::try_from(version & u64::from(u32::MAX)).ok()?),
            interval: Interval((version >> 32) as u32),
            pages,
            foreseen: false,
            late: false,
            first: false,
        })
    }
}

fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

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
            first: false,
        }
    }

    fn flush(logs: &Logs, epoch: u32, node: u16, notice: Option<&Notice>) -> Option<Vec<Notice>> {
        let end = logs.enter(epoch, NodeId(node), notice)?;
        logs.read(epoch, Reader::Node(NodeId(node)), Some(end))
    }

    fn read_all(logs: &Logs, epoch: u32) -> Option<Vec<Notice>> {
        logs.read(epoch, Reader::Sequencer, None)
    }

    #[test]
    fn everybody_reads_what_others_have_entered_once() {
        let logs = Logs::new(2).unwrap();
        let (first, second) = (notice(0, 1, &[3, 4, 9]), notice(1, 1, &[u32::MAX]));
        assert_eq!(flush(&logs, 0, 0, Some(&first)), Some(vec![]));
        assert_eq!(flush(&logs, 0, 1, Some(&second)), Some(vec![first.clone()]));
        assert_eq!(flush(&logs, 0, 1, None), Some(vec![]));
        assert_eq!(flush(&logs, 0, 0, None), Some(vec![second.clone()]));
        assert_eq!(read_all(&logs, 0), Some(vec![first, second]));
        assert_eq!(read_all(&logs, 0), Some(vec![]));
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
        flush(&logs, 4, 1, None).unwrap();
        assert_eq!(flush(&logs, 2, 1, None), None);
    }

    #[test]
    fn rings_go_round_while_all_read() {
        let logs = Logs::new(1).unwrap();
        for interval in 1..=3 * SLOTS as u32 {
            let own = notice(0, interval, &[interval, interval + 2]);
            assert_eq!(flush(&logs, 7, 0, Some(&own)), Some(vec![]));
            assert_eq!(read_all(&logs, 7), Some(vec![own]));
        }
    }

    fn closes(pages: &[u32]) -> u64 {
        let logs = Logs::new(1).unwrap();
        let own = notice(0, 1, pages);
        let mut entered = 0;
        while flush(&logs, 1, 0, Some(&own)).is_some() {
            entered += 1;
        }
        assert_eq!(flush(&logs, 1, 0, None), None);
        // What was entered before is there.
        let told = read_all(&logs, 1);
        assert_eq!(told.map(|told| told.len()), Some(entered));
        // It stays closed. The next epoch has room, and the one after it the same place.
        assert_eq!(flush(&logs, 1, 0, Some(&own)), None);
        assert!(flush(&logs, 2, 0, Some(&own)).is_some());
        assert!(flush(&logs, 3, 0, Some(&own)).is_some());
        entered as u64
    }

    #[test]
    fn a_log_closes_when_somebody_does_not_read() {
        assert_eq!(closes(&[]), SLOTS - 1);
        assert_eq!(closes(&[1]), 2 * (HALF / (HEAD + 1)));
    }

    #[test]
    fn what_is_too_long_closes_a_log() {
        let logs = Logs::new(1).unwrap();
        let many: Vec<u32> = (0..ENTRY_MAX as u32).map(|page| 2 * page).collect();
        assert_eq!(flush(&logs, 0, 0, Some(&notice(0, 1, &many))), None);
        assert_eq!(flush(&logs, 0, 0, None), None);
    }

    #[test]
    fn what_makes_no_sense_is_not_read() {
        for (offset, word) in [(0, u64::MAX), (1, ENTRY_MAX), (HEAD as usize, 0)] {
            let logs = Logs::new(1).unwrap();
            logs.enter(0, NodeId(0), Some(&notice(0, 1, &[1]))).unwrap();
            let log = logs.of(0).unwrap();
            log.own(NodeId(0)).unwrap().ring[offset].store(word, Ordering::Relaxed);
            assert_eq!(read_all(&logs, 0), None, "{offset}");
        }
    }

    #[test]
    fn nobody_waits_for_an_entry_that_is_not_there() {
        let logs = Logs::new(2).unwrap();
        let log = logs.of(0).unwrap();
        // Another node's word, a later one of this place, and a gap.
        for word in [9 << NODE_AT | log.tag(0), log.tag(SLOTS), 0] {
            log.slots[0].store(word, Ordering::SeqCst);
            let read = logs.read(0, Reader::Node(NodeId(1)), Some(1));
            assert_eq!(read, None, "{word:#x}");
        }
    }

    #[test]
    fn all_read_in_one_order() {
        const EACH: u32 = 1500;
        let logs = Logs::new(3).unwrap();
        let flush_all = |node: u16| {
            let mut seen = Vec::new();
            for interval in 1..=EACH {
                let own = notice(node, interval, &[u32::from(node), 10 * interval]);
                seen.extend(flush(&logs, 0, node, Some(&own)).unwrap());
            }
            seen
        };
        let mut seen: Vec<Vec<Notice>> = std::thread::scope(|scope| {
            let nodes = [0, 1, 2].map(|node| scope.spawn(move || flush_all(node)));
            nodes.into_iter().map(|node| node.join().unwrap()).collect()
        });
        let all = read_all(&logs, 0).unwrap();
        assert_eq!(all.len(), 3 * EACH as usize);
        for (node, seen) in (0..).zip(&mut seen) {
            seen.extend(flush(&logs, 0, node, None).unwrap());
            let others = all.iter().filter(|notice| notice.writer != NodeId(node));
            assert!(others.eq(seen.iter()), "{node}");
            let own = all.iter().filter(|notice| notice.writer == NodeId(node));
            assert!(own.map(|notice| notice.interval.0).eq(1..=EACH), "{node}");
        }
    }
}
