//! A ring of bytes between one producer and one consumer, who live in different
//! processes and need not trust each other.
//!
//! `head` and `tail` count bytes since the beginning and never wrap; the place
//! of byte `n` is `n` modulo the capacity. The producer alone advances `head`,
//! the consumer alone advances `tail`:
//!
//! * the producer writes bytes, then stores `head` (release); the consumer
//!   loads `head` (acquire), then reads bytes: it sees them complete;
//! * the consumer reads bytes, then stores `tail` (release); the producer loads
//!   `tail` (acquire), then overwrites: it never does so under a reader.
//!
//! Each side keeps its own counter privately and believes the other's only as
//! far as it makes sense: whatever stands in the shared memory, both stay inside
//! the ring.
//!
//! A producer with more to write than there is room for raises `starved`, looks
//! for room once more, and may then go to sleep. A consumer that made room looks
//! at `starved` afterwards. Each side has a sequentially consistent fence between
//! its store and its load, so one of them sees the other.

use crate::primitive::{AtomicU8, AtomicU64, Ordering, append, copy_in, copy_out, fence};

/// The shared part of a ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ring<'a> {
    head: &'a AtomicU64,
    tail: &'a AtomicU64,
    starved: &'a AtomicU64,
    storage: &'a [AtomicU8],
}

/// The other side claims to have written or read what it cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overrun;

impl<'a> Ring<'a> {
    /// A ring over `storage`, whose length is a power of two.
    pub(crate) fn new(
        head: &'a AtomicU64,
        tail: &'a AtomicU64,
        starved: &'a AtomicU64,
        storage: &'a [AtomicU8],
    ) -> Self {
        assert!(storage.len().is_power_of_two(), "a ring's size");
        Self {
            head,
            tail,
            starved,
            storage,
        }
    }

    /// Bytes the ring holds.
    #[inline]
    pub(crate) fn capacity(&self) -> usize {
        self.storage.len()
    }

    /// The places of `count` bytes from `position` on: up to the seam, and
    /// behind it.
    #[inline]
    fn places(&self, position: u64, count: usize) -> (&'a [AtomicU8], &'a [AtomicU8]) {
        let start = position as usize & (self.capacity() - 1);
        let first = count.min(self.capacity() - start);
        (
            &self.storage[start..start + first],
            &self.storage[..count - first],
        )
    }

    /// Producer: bytes free when `head` bytes were written, given what it last
    /// saw of the consumer. Asks the consumer's counter only if that seems to
    /// leave less than `wanted`.
    #[inline]
    pub(crate) fn free(&self, head: u64, seen_tail: &mut u64, wanted: usize) -> usize {
        let free = |tail| {
            let used = head.wrapping_sub(tail);
            (self.capacity() as u64).saturating_sub(used) as usize
        };
        let known = free(*seen_tail);
        if known >= wanted {
            return known;
        }
        *seen_tail = self.tail.load(Ordering::Acquire);
        free(*seen_tail)
    }

    /// Producer: writes into free space. Nobody sees it before
    /// [`publish`](Self::publish).
    #[inline]
    pub(crate) fn write(&self, position: u64, bytes: &[u8]) {
        let (first, second) = self.places(position, bytes.len());
        let (before, behind) = bytes.split_at(first.len());
        copy_in(first, before);
        if !behind.is_empty() {
            copy_in(second, behind);
        }
    }

    /// Producer: shows the consumer everything before `head`.
    #[inline]
    pub(crate) fn publish(&self, head: u64) {
        self.head.store(head, Ordering::Release);
    }

    /// Producer: asks to be told of room. It has to look for room once more
    /// afterwards.
    pub(crate) fn starve(&self) {
        self.starved.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Consumer: how far the producer says it has come.
    #[inline]
    pub(crate) fn head(&self) -> u64 {
        self.head.load(Ordering::Acquire)
    }

    /// Consumer: bytes to be read when `tail` bytes were read.
    ///
    /// # Errors
    /// [`Overrun`] if that is more than the ring holds.
    #[inline]
    pub(crate) fn available(&self, tail: u64) -> Result<usize, Overrun> {
        let available = self.head().wrapping_sub(tail);
        if available > self.capacity() as u64 {
            return Err(Overrun);
        }
        Ok(available as usize)
    }

    /// Consumer: appends `count` available bytes from `position` on to `out`.
    #[inline]
    pub(crate) fn read(&self, position: u64, count: usize, out: &mut Vec<u8>) {
        let (first, second) = self.places(position, count);
        append(first, out);
        if !second.is_empty() {
            append(second, out);
        }
    }

    /// Consumer: fills `bytes` with available bytes from `position` on.
    #[inline]
    pub(crate) fn copy(&self, position: u64, bytes: &mut [u8]) {
        let (first, second) = self.places(position, bytes.len());
        let (before, behind) = bytes.split_at_mut(first.len());
        copy_out(first, before);
        copy_out(second, behind);
    }

    /// Consumer: copies available bytes from `position` on.
    #[inline]
    pub(crate) fn peek<const COUNT: usize>(&self, position: u64) -> [u8; COUNT] {
        let (first, second) = self.places(position, COUNT);
        let mut places = first.iter().chain(second);
        std::array::from_fn(|_| {
            let place = places.next();
            place.map_or(0, |byte| byte.load(Ordering::Relaxed))
        })
    }

    /// Consumer: gives everything before `tail` back. Returns whether the
    /// producer has to be told.
    #[inline]
    #[must_use]
    pub(crate) fn consume(&self, tail: u64) -> bool {
        self.tail.store(tail, Ordering::Release);
        fence(Ordering::SeqCst);
        if self.starved.load(Ordering::Relaxed) == 0 {
            return false;
        }
        self.starved.store(0, Ordering::Relaxed);
        true
    }
}
