//! A ring of words between one producer and one consumer, which may live in
//! different processes and need not trust each other.
//!
//! `head` and `tail` count words since the beginning and never wrap; the place
//! of word `n` is `n` modulo the capacity. The producer alone advances `head`,
//! the consumer alone advances `tail`:
//!
//! * the producer writes words, then stores `head` (release); the consumer
//!   loads `head` (acquire), then reads words: it sees them complete;
//! * the consumer reads words, then stores `tail` (release); the producer loads
//!   `tail` (acquire), then overwrites: it never does so under a reader.
//!
//! Each side keeps its own counter privately and only believes the other's as
//! far as it makes sense: whatever stands in the shared memory, both sides stay
//! inside the ring. The protocol is checked with loom in this crate's tests.
//!
//! [`mod@file`] is the file in which a process keeps its rings, [`bell`] calls whoever empties
//! them, and [`drain`] is what all have in common who do that.
#![forbid(unsafe_code)]

pub mod bell;
pub mod drain;
pub mod file;

use fathomp_sys::shm;
use std::sync::atomic::{AtomicU64, Ordering};

/// Takes words one by one.
pub trait Sink {
    /// Takes a word.
    fn put(&mut self, word: u64);
}

impl Sink for Vec<u64> {
    #[inline]
    fn put(&mut self, word: u64) {
        self.push(word);
    }
}

/// The atomic operations the ring needs, so that loom can stand in.
pub trait Word {
    /// The value, in no order with other words.
    fn get(&self) -> u64;
    /// Stores a value, in no order with other words.
    fn set(&self, value: u64);
    /// The value, before anything that follows.
    fn acquire(&self) -> u64;
    /// Stores a value, after everything before.
    fn release(&self, value: u64);
    /// Adds to a word that nobody else writes, which needs no read-modify-write instruction.
    #[inline(always)]
    fn add(&self, value: u64) {
        self.set(self.get().wrapping_add(value));
    }
    /// The word will be written soon.
    fn prefetch(&self) {}
}

impl Word for AtomicU64 {
    #[inline(always)]
    fn get(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }
    #[inline(always)]
    fn set(&self, value: u64) {
        self.store(value, Ordering::Relaxed);
    }
    #[inline(always)]
    fn acquire(&self) -> u64 {
        self.load(Ordering::Acquire)
    }
    #[inline(always)]
    fn release(&self, value: u64) {
        self.store(value, Ordering::Release);
    }
    #[inline(always)]
    fn prefetch(&self) {
        shm::prefetch_for_write(self);
    }
}

/// The shared part of a ring.
#[derive(Debug)]
pub struct Ring<'a, W> {
    /// Storage; its length is a power of two.
    words: &'a [W],
    /// Words written so far.
    head: &'a W,
    /// Words read so far.
    tail: &'a W,
}

impl<W> Clone for Ring<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<W> Copy for Ring<'_, W> {}

impl<'a, W: Word> Ring<'a, W> {
    /// A ring over `words`. `None` unless their number is a power of two.
    pub fn new(words: &'a [W], head: &'a W, tail: &'a W) -> Option<Self> {
        words
            .len()
            .is_power_of_two()
            .then_some(Self { words, head, tail })
    }

    /// Number of words the ring holds.
    #[inline]
    pub fn capacity(&self) -> u64 {
        self.words.len() as u64
    }

    #[inline(always)]
    fn place(&self, position: u64) -> &W {
        &self.words[position as usize & (self.words.len() - 1)]
    }

    /// Producer: words written so far.
    #[inline]
    pub fn head(&self) -> u64 {
        self.head.get()
    }

    /// Producer: readies the memory of the next record of a usual size. The
    /// consumer has read it in the round before, so that without this every
    /// record would wait for it to come back from the consumer's cache.
    #[inline(always)]
    pub fn prefetch(&self) {
        const LINE_WORDS: u64 = 8;
        let head = self.head();
        for line in 0..3 {
            self.place(head.wrapping_add(line * LINE_WORDS)).prefetch();
        }
    }

    /// Producer: words free, given what it last saw of the consumer. Asks the
    /// consumer's counter only if that seems to leave less than `wanted`.
    #[inline]
    pub fn free(&self, seen_tail: &mut u64, wanted: u64) -> u64 {
        let head = self.head();
        let free = self
            .capacity()
            .saturating_sub(head.wrapping_sub(*seen_tail));
        if free >= wanted {
            return free;
        }
        *seen_tail = self.tail.acquire();
        self.capacity()
            .saturating_sub(head.wrapping_sub(*seen_tail))
    }

    /// Producer: begins to append a record, which must fit (see
    /// [`free`](Self::free)) and is seen by the consumer once it is
    /// [committed](Cursor::commit).
    #[inline(always)]
    pub fn append(&self) -> Cursor<'a, W> {
        Cursor {
            ring: *self,
            position: self.head(),
        }
    }

    /// Consumer: how far the producer has come.
    pub fn written(&self) -> u64 {
        self.head.acquire()
    }

    /// Consumer: where it left off, for a consumer that has just come.
    pub fn consumed(&self) -> u64 {
        self.tail.acquire()
    }

    /// Consumer that is at `from`: up to where it is worth taking words out now. That is if the
    /// ring is fuller than an eighth; with `all`, if there are any.
    pub fn due(&self, from: u64, all: bool) -> Option<u64> {
        /// A ring that is this full (one part in so many) is emptied at once.
        const FULLNESS_DIVISOR: u64 = 8;
        let written = self.written();
        let pending = written.wrapping_sub(from);
        let least = if all {
            1
        } else {
            self.capacity() / FULLNESS_DIVISOR
        };
        (pending >= least.max(1)).then_some(written)
    }

    /// Consumer: copies the words from `from` up to `to` into `out`.
    ///
    /// # Errors
    /// [`Overrun`] if that is more than the ring holds: the producer's counter
    /// is not to be believed.
    pub fn copy(&self, from: u64, to: u64, out: &mut Vec<u64>) -> Result<(), Overrun> {
        let count = to.wrapping_sub(from);
        if count > self.capacity() {
            return Err(Overrun);
        }
        out.extend((0..count).map(|i| self.place(from.wrapping_add(i)).get()));
        Ok(())
    }

    /// Consumer: gives everything up to `position` back to the producer.
    pub fn consume(&self, position: u64) {
        self.tail.release(position);
    }
}

/// A record being written.
#[derive(Debug)]
#[must_use = "an uncommitted record is not seen"]
pub struct Cursor<'a, W> {
    ring: Ring<'a, W>,
    position: u64,
}

impl<W: Word> Cursor<'_, W> {
    /// Words that will have been written once the record is committed.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Shows the record to the consumer.
    #[inline(always)]
    pub fn commit(self) {
        self.ring.head.release(self.position);
    }
}

impl<W: Word> Sink for Cursor<'_, W> {
    #[inline(always)]
    fn put(&mut self, word: u64) {
        self.ring.place(self.position).set(word);
        self.position = self.position.wrapping_add(1);
    }
}

/// The producer claims to have written more than fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrun;

#[cfg(test)]
mod tests {
    use super::*;

    impl<W: Word> Ring<'_, W> {
        fn push(&self, record: &[u64]) {
            let mut cursor = self.append();
            record.iter().for_each(|&word| cursor.put(word));
            cursor.commit();
        }
    }

    impl Word for loom::sync::atomic::AtomicU64 {
        fn get(&self) -> u64 {
            self.load(Ordering::Relaxed)
        }
        fn set(&self, value: u64) {
            self.store(value, Ordering::Relaxed);
        }
        fn acquire(&self) -> u64 {
            self.load(Ordering::Acquire)
        }
        fn release(&self, value: u64) {
            self.store(value, Ordering::Release);
        }
    }

    fn atomics<const N: usize>() -> [AtomicU64; N] {
        std::array::from_fn(|_| AtomicU64::new(0))
    }

    #[test]
    fn a_length_that_is_no_power_of_two_is_refused() {
        let [head, tail] = atomics();
        assert!(Ring::new(&atomics::<3>(), &head, &tail).is_none());
        assert!(Ring::new(&atomics::<0>(), &head, &tail).is_none());
    }

    #[test]
    fn words_come_out_as_they_went_in_across_the_seam() {
        let (words, [head, tail]) = (atomics::<8>(), atomics());
        let ring = Ring::new(&words, &head, &tail).unwrap();
        let mut seen = 0;
        let mut read = 0;
        let mut next = 0_u64;
        for _ in 0..20 {
            assert!(ring.free(&mut seen, 5) >= 5);
            ring.push(&[next, next + 1, next + 2, next + 3, next + 4]);
            let mut out = Vec::new();
            ring.copy(read, ring.written(), &mut out).unwrap();
            assert_eq!(out, (next..next + 5).collect::<Vec<_>>());
            next += 5;
            read += 5;
            ring.consume(read);
        }
    }

    #[test]
    fn a_full_ring_says_so() {
        let (words, [head, tail]) = (atomics::<8>(), atomics());
        let ring = Ring::new(&words, &head, &tail).unwrap();
        let mut seen = 0;
        ring.push(&[0; 6]);
        assert_eq!(ring.free(&mut seen, 3), 2);
        ring.consume(6);
        assert_eq!(ring.free(&mut seen, 3), 8);
    }

    #[test]
    fn a_lying_producer_is_not_followed() {
        let (words, [head, tail]) = (atomics::<8>(), atomics());
        let ring = Ring::new(&words, &head, &tail).unwrap();
        head.store(u64::MAX, Ordering::Relaxed);
        let mut out = Vec::new();
        assert_eq!(ring.copy(0, ring.written(), &mut out), Err(Overrun));
        assert!(out.is_empty());
    }

    #[test]
    fn a_lying_consumer_cannot_make_room() {
        let (words, [head, tail]) = (atomics::<8>(), atomics());
        let ring = Ring::new(&words, &head, &tail).unwrap();
        let mut seen = 0;
        tail.store(u64::MAX - 3, Ordering::Relaxed);
        ring.push(&[0; 7]);
        assert!(ring.free(&mut seen, 2) <= ring.capacity());
    }

    /// All interleavings, with all values the memory model lets a load see, of a
    /// producer that fills a ring of four words more than once and a consumer
    /// that empties it. (loom does not delay a load past later stores, which is
    /// what the release of `tail` forbids; that one rests on the argument in the
    /// module's documentation.)
    #[test]
    fn loom_finds_no_torn_or_lost_word() {
        use loom::sync::Arc;
        use loom::sync::atomic::AtomicU64 as Modelled;

        struct Shared {
            words: [Modelled; 4],
            head: Modelled,
            tail: Modelled,
        }

        loom::model(|| {
            let shared = Arc::new(Shared {
                words: std::array::from_fn(|_| Modelled::new(u64::MAX)),
                head: Modelled::new(0),
                tail: Modelled::new(0),
            });
            let theirs = Arc::clone(&shared);
            let producer = loom::thread::spawn(move || {
                let ring = Ring::new(&theirs.words, &theirs.head, &theirs.tail).unwrap();
                let mut seen = 0;
                let mut written = 0;
                for record in 0..3_u64 {
                    if ring.free(&mut seen, 2) >= 2 {
                        ring.push(&[record * 2, record * 2 + 1]);
                        written += 1;
                    }
                }
                written
            });
            let ring = Ring::new(&shared.words, &shared.head, &shared.tail).unwrap();
            let mut out = Vec::new();
            let mut read = 0;
            let mut drain = || {
                let to = ring.written();
                ring.copy(read, to, &mut out).unwrap();
                ring.consume(to);
                read = to;
            };
            drain();
            drain();
            let written = producer.join().unwrap();
            drain();
            assert_eq!(out.len(), written * 2);
            // Records may be missing only at the end, never torn or repeated.
            for pair in out.chunks(2) {
                assert_eq!(pair[0] + 1, pair[1]);
                assert_eq!(pair[0] % 2, 0);
            }
            assert!(out.windows(2).all(|pair| pair[0] < pair[1]));
        });
    }
}
