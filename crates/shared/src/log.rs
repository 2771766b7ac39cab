//! A log of intervals in memory that all nodes share: a node that flushes enters what it
//! has written, and reads what others have entered, without a message to anybody.
//!
//! Each epoch has a log of its own, in one of two places by turns: when a node comes to
//! an epoch, all others have left the one before the last. The log is a row of slots,
//! each with a single word. A node writes an entry where nobody else writes, and then puts
//! it into the first empty slot, by one atomic operation that is its moment in the order
//! of all flushes. So an entry is complete as soon as it is there: nobody ever waits for
//! a node that has been stopped or killed in between. Slots and the nodes' own places
//! are rings; the log closes for its epoch if somebody has not read for so long that there
//! is no room. Then messages tell.

use crate::primitive::{AtomicU64, Ordering};
use crate::sizes::Sizes;
use fathomp_base::{NodeId, PageId};
use fathomp_dsm::{Interval, Notice, PageRange, PageSet};
use std::cmp::Ordering::{Equal, Greater, Less};

/// How often slots can be used in an epoch.
const LAPS: u64 = (1 << 9) - 1;
/// Words of an entry before its ranges of pages.
const HEAD: u64 = 2;

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

/// The log of an epoch.
pub(crate) struct Log<'a> {
    epoch: u32,
    sizes: Sizes,
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

    fn words(sizes: Sizes) -> usize {
        Self::HEAD + sizes.log_ring
    }
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

impl<'a> Log<'a> {
    /// Words of a log.
    pub(crate) fn words(nodes: u16, sizes: Sizes) -> usize {
        let nodes = usize::from(nodes);
        // The nodes read, and the sequencer.
        1 + nodes + 1 + sizes.log_slots + nodes * Own::words(sizes)
    }

    pub(crate) fn over(
        words: &'a [AtomicU64],
        epoch: u32,
        nodes: u16,
        sizes: Sizes,
    ) -> Option<Self> {
        let (filled, rest) = words.split_first()?;
        let (read, rest) = rest.split_at_checked(usize::from(nodes) + 1)?;
        let (slots, own) = rest.split_at_checked(sizes.log_slots)?;
        Some(Self {
            epoch,
            sizes,
            filled,
            read,
            slots,
            own,
        })
    }

    /// Enters an interval, if there is one, by node `me`. Returns the number of slots to
    /// which a node that flushes has to read; None if the log is closed.
    pub(crate) fn enter(&self, me: NodeId, notice: Option<&Notice>) -> Option<u64> {
        match notice {
            Some(notice) => self.put(me, notice),
            None => {
                let (end, slot) = self.end()?;
                matches!(slot, Slot::Empty(_)).then_some(end)
            }
        }
    }

    /// Whether something is in the log that a node has not read, or nothing will be any more.
    pub(crate) fn has_news(&self, node: NodeId) -> bool {
        let read = self.read.get(usize::from(node.0));
        let read = read.and_then(|read| slots_of(read.load(Ordering::Relaxed), self.epoch));
        let next = read.and_then(|read| self.slot(read));
        !matches!(next, Some(Slot::Empty(_)))
    }

    /// What others than a node have entered that it has not read, up to a number of
    /// slots, or all there is. None if what lies there makes no sense.
    pub(crate) fn read(&self, reader: Reader, end: Option<u64>) -> Option<Vec<Notice>> {
        let (place, but) = match reader {
            Reader::Node(node) => (usize::from(node.0), Some(node)),
            // Behind those of the nodes.
            Reader::Sequencer => (self.read.len().checked_sub(1)?, None),
        };
        let place = self.read.get(place)?;
        let first = slots_of(place.load(Ordering::Relaxed), self.epoch)?;
        let mut at = first;
        let mut notices = Vec::new();
        while end.is_none_or(|end| at < end) {
            match self.slot(at)? {
                Slot::Entry(node, first) => {
                    let notice = self.entry(node, first)?;
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
            place.store(number(self.epoch, at), Ordering::Release);
        }
        Some(notices)
    }
    /// What lies in a slot; None if that makes no sense.
    fn slot(&self, at: u64) -> Option<Slot> {
        let word = self.place(at)?.load(Ordering::Acquire);
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

    fn place(&self, at: u64) -> Option<&'a AtomicU64> {
        self.slots.get((at % self.slot_count()) as usize)
    }

    fn slot_count(&self) -> u64 {
        self.sizes.log_slots as u64
    }

    fn half(&self) -> u64 {
        self.sizes.log_ring as u64 / 2
    }

    fn entry_max(&self) -> u64 {
        self.sizes.log_entry_max as u64
    }

    /// What a slot's word begins with.
    fn tag(&self, at: u64) -> u64 {
        u64::from(self.epoch) << EPOCH_AT | (at / self.slot_count() + 1) << LAP_AT
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

    fn own(&self, node: NodeId) -> Option<Own<'a>> {
        let size = Own::words(self.sizes);
        let start = usize::from(node.0) * size;
        let words = self.own.get(start..start + size)?;
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
        let half = next.saturating_sub(1) / self.half();
        if size > self.entry_max() || next + size <= (half + 1) * self.half() {
            return (size <= self.entry_max()).then_some(next);
        }
        let other = (half + 1) % 2;
        let last = own.last.get(other as usize)?.load(Ordering::Relaxed);
        self.all_read(last).then_some(other * self.half())
    }

    fn put(&self, me: NodeId, notice: &Notice) -> Option<u64> {
        // As a slot names it.
        let name = u64::from(u8::try_from(me.0).ok()?);
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
            let fits = at + 2 < LAPS * self.slot_count()
                && self.all_read((at + 2).saturating_sub(self.slot_count()));
            let first = room.filter(|_| fits);
            let word = first.unwrap_or(CLOSED) | name << NODE_AT | self.tag(at);
            let order = (Ordering::AcqRel, Ordering::Acquire);
            let put = self
                .place(at)?
                .compare_exchange(before, word, order.0, order.1);
            if put.is_err() {
                continue;
            }
            let first = first?;
            own.next.store(first + size, Ordering::Relaxed);
            let last = own.last.get((first / self.half()) as usize)?;
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
        let count = Some(count).filter(|count| HEAD + count <= self.entry_max())?;
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
    use crate::memory::Memory;

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

    /// Smaller than programs have, and not a power of two.
    const SLOTS: u64 = 200;
    const HALF: u64 = 256;
    const ENTRY_MAX: u64 = 64;

    fn memory(nodes: u16) -> Memory {
        let sizes = Sizes {
            log_slots: SLOTS as usize,
            log_ring: 2 * HALF as usize,
            log_entry_max: ENTRY_MAX as usize,
            ..Sizes::small()
        };
        Memory::in_process(nodes, 0, sizes)
    }

    fn flush(
        memory: &Memory,
        epoch: u32,
        node: u16,
        notice: Option<&Notice>,
    ) -> Option<Vec<Notice>> {
        let log = memory.log(epoch)?;
        let end = log.enter(NodeId(node), notice)?;
        log.read(Reader::Node(NodeId(node)), Some(end))
    }

    fn read_all(memory: &Memory, epoch: u32) -> Option<Vec<Notice>> {
        memory.log(epoch)?.read(Reader::Sequencer, None)
    }

    #[test]
    fn everybody_reads_what_others_have_entered_once() {
        let memory = memory(2);
        let (first, second) = (notice(0, 1, &[3, 4, 9]), notice(1, 1, &[u32::MAX]));
        assert_eq!(flush(&memory, 0, 0, Some(&first)), Some(vec![]));
        assert_eq!(
            flush(&memory, 0, 1, Some(&second)),
            Some(vec![first.clone()])
        );
        assert_eq!(flush(&memory, 0, 1, None), Some(vec![]));
        assert_eq!(flush(&memory, 0, 0, None), Some(vec![second.clone()]));
        assert_eq!(read_all(&memory, 0), Some(vec![first, second]));
        assert_eq!(read_all(&memory, 0), Some(vec![]));
    }

    #[test]
    fn epochs_do_not_meet() {
        let memory = memory(2);
        for epoch in 0..5 {
            assert_eq!(flush(&memory, epoch, 1, None), Some(vec![]), "{epoch}");
            let own = notice(0, epoch + 1, &[epoch]);
            flush(&memory, epoch, 0, Some(&own)).unwrap();
            // Somebody is in the next epoch already.
            flush(&memory, epoch + 1, 0, None).unwrap();
            assert_eq!(flush(&memory, epoch, 1, None), Some(vec![own]), "{epoch}");
        }
        flush(&memory, 4, 1, None).unwrap();
        assert_eq!(flush(&memory, 2, 1, None), None);
    }

    #[test]
    fn rings_go_round_while_all_read() {
        let memory = memory(1);
        for interval in 1..=3 * SLOTS as u32 {
            let own = notice(0, interval, &[interval, interval + 2]);
            assert_eq!(flush(&memory, 7, 0, Some(&own)), Some(vec![]));
            assert_eq!(read_all(&memory, 7), Some(vec![own]));
        }
    }

    fn closes(pages: &[u32]) -> u64 {
        let memory = memory(1);
        let own = notice(0, 1, pages);
        let mut entered = 0;
        while flush(&memory, 1, 0, Some(&own)).is_some() {
            entered += 1;
        }
        assert_eq!(flush(&memory, 1, 0, None), None);
        // What was entered before is there.
        let told = read_all(&memory, 1);
        assert_eq!(told.map(|told| told.len()), Some(entered));
        // It stays closed. The next epoch has room, and the one after it the same place.
        assert_eq!(flush(&memory, 1, 0, Some(&own)), None);
        assert!(flush(&memory, 2, 0, Some(&own)).is_some());
        assert!(flush(&memory, 3, 0, Some(&own)).is_some());
        entered as u64
    }

    #[test]
    fn a_log_closes_when_somebody_does_not_read() {
        assert_eq!(closes(&[]), SLOTS - 1);
        assert_eq!(closes(&[1]), 2 * (HALF / (HEAD + 1)));
    }

    #[test]
    fn what_is_too_long_closes_a_log() {
        let memory = memory(1);
        let many: Vec<u32> = (0..ENTRY_MAX as u32).map(|page| 2 * page).collect();
        assert_eq!(flush(&memory, 0, 0, Some(&notice(0, 1, &many))), None);
        assert_eq!(flush(&memory, 0, 0, None), None);
    }

    #[test]
    fn what_makes_no_sense_is_not_read() {
        for (offset, word) in [(0, u64::MAX), (1, ENTRY_MAX), (HEAD as usize, 0)] {
            let memory = memory(1);
            let log = memory.log(0).unwrap();
            log.enter(NodeId(0), Some(&notice(0, 1, &[1]))).unwrap();
            log.own(NodeId(0)).unwrap().ring[offset].store(word, Ordering::Relaxed);
            assert_eq!(read_all(&memory, 0), None, "{offset}");
        }
    }

    #[test]
    fn nobody_waits_for_an_entry_that_is_not_there() {
        let memory = memory(2);
        let log = memory.log(0).unwrap();
        // Another node's word, a later one of this place, and a gap.
        for word in [9 << NODE_AT | log.tag(0), log.tag(SLOTS), 0] {
            log.slots[0].store(word, Ordering::SeqCst);
            let read = log.read(Reader::Node(NodeId(1)), Some(1));
            assert_eq!(read, None, "{word:#x}");
        }
    }

    #[test]
    fn all_read_in_one_order() {
        const EACH: u32 = 1500;
        let memory = Memory::in_process(3, 0, Sizes::default());
        let flush_all = |node: u16| {
            let mut seen = Vec::new();
            for interval in 1..=EACH {
                let own = notice(node, interval, &[u32::from(node), 10 * interval]);
                seen.extend(flush(&memory, 0, node, Some(&own)).unwrap());
            }
            seen
        };
        let mut seen: Vec<Vec<Notice>> = std::thread::scope(|scope| {
            let nodes = [0, 1, 2].map(|node| scope.spawn(move || flush_all(node)));
            nodes.into_iter().map(|node| node.join().unwrap()).collect()
        });
        let all = read_all(&memory, 0).unwrap();
        assert_eq!(all.len(), 3 * EACH as usize);
        for (node, seen) in (0..).zip(&mut seen) {
            seen.extend(flush(&memory, 0, node, None).unwrap());
            let others = all.iter().filter(|notice| notice.writer != NodeId(node));
            assert!(others.eq(seen.iter()), "{node}");
            let own = all.iter().filter(|notice| notice.writer == NodeId(node));
            assert!(own.map(|notice| notice.interval.0).eq(1..=EACH), "{node}");
        }
    }
}
