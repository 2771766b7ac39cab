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
use fathomp_protocols::{Interval, Notice, PageRange, PageSet};
use fathomp_types::{NodeId, PageId};
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
        // Whatever stands there.
        let next = own.next.load(Ordering::Relaxed).min(2 * self.half());
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
            knew: Vec::new(),
        })
    }
}

fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}
