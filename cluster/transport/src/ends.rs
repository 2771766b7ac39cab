//! A ring each way between two processes, and how the one that sleeps is woken.
//!
//! A process that wants to sleep raises `asleep`, looks at both rings once more, and sleeps. One
//! that has written, or has made room for a peer that [starves](Ring::starve), looks at the peer's
//! `asleep` afterwards, takes it down and wakes it: so only the first of several events costs a
//! system call. Each side has a sequentially consistent fence between its store and its load, so
//! one of them sees the other.

use crate::primitive::{AtomicU64, Ordering, fence};
use crate::ring::{Overrun, Ring};

/// What one of the two ends has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End<'a> {
    out: Ring<'a>,
    into: Ring<'a>,
    /// This end sleeps, or is about to; the other does.
    asleep: &'a AtomicU64,
    peer_asleep: &'a AtomicU64,
    /// This end writes no more; the other does not.
    ended: &'a AtomicU64,
    peer_ended: &'a AtomicU64,
}

/// The words of one end that the other reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flags<'a> {
    pub(crate) asleep: &'a AtomicU64,
    pub(crate) ended: &'a AtomicU64,
}

/// What has to be done for the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a peer that is not woken sleeps on"]
pub(crate) enum Call {
    Nothing,
    Wake,
}

impl<'a> End<'a> {
    /// The end that writes to `out` and reads `into`.
    pub(crate) fn new(out: Ring<'a>, into: Ring<'a>, mine: Flags<'a>, theirs: Flags<'a>) -> Self {
        Self {
            out,
            into,
            asleep: mine.asleep,
            peer_asleep: theirs.asleep,
            ended: mine.ended,
            peer_ended: theirs.ended,
        }
    }

    /// Writes as much of the parts, one after another, as there is room for, and says how much
    /// that was. `head` is what has been written before, `seen_tail` what is known of the reader.
    pub(crate) fn write<'b>(
        &self,
        parts: impl IntoIterator<Item = &'b [u8]>,
        head: u64,
        seen_tail: &mut u64,
    ) -> (usize, Call) {
        let mut written = 0;
        for part in parts {
            let at = head.wrapping_add(written as u64);
            let room = self.out.free(at, seen_tail, part.len());
            let fits = part.get(..room).unwrap_or(part);
            self.out.write(at, fits);
            written += fits.len();
            if fits.len() < part.len() {
                break;
            }
        }
        if written == 0 {
            return (0, Call::Nothing);
        }
        self.out.publish(head.wrapping_add(written as u64));
        fence(Ordering::SeqCst);
        (written, self.call())
    }

    /// Whether there is room for anything, also after the peer was asked to tell when there is.
    pub(crate) fn finds_room(&self, head: u64, seen_tail: &mut u64) -> bool {
        self.out.starve();
        self.out.free(head, seen_tail, 1) > 0
    }

    /// Fills `bytes` with what there is, and says how much that was. `tail` is what has been
    /// read before.
    ///
    /// # Errors
    /// If the peer claims to have written more than there is room for.
    pub(crate) fn read(&self, bytes: &mut [u8], tail: u64) -> Result<(usize, Call), Overrun> {
        let count = self.into.available(tail)?.min(bytes.len());
        if count == 0 {
            return Ok((0, Call::Nothing));
        }
        self.into
            .copy(tail, bytes.get_mut(..count).unwrap_or_default());
        let starved = self.into.consume(tail.wrapping_add(count as u64));
        let call = match starved {
            true => self.call(),
            false => Call::Nothing,
        };
        Ok((count, call))
    }

    /// Whether there is anything to read, be it that the peer cannot be believed.
    pub(crate) fn has_bytes(&self, tail: u64) -> bool {
        self.into.available(tail) != Ok(0)
    }

    /// Writes no more.
    pub(crate) fn end(&self) -> Call {
        self.ended.store(1, Ordering::Release);
        fence(Ordering::SeqCst);
        self.call()
    }

    /// Whether the peer writes no more: what it has written is there.
    pub(crate) fn is_at_end(&self, tail: u64) -> bool {
        self.peer_ended.load(Ordering::Acquire) != 0 && !self.has_bytes(tail)
    }

    /// Asks to be woken from now on. Both rings have to be looked at once more before sleeping.
    pub(crate) fn mark_parked(&self) {
        self.asleep.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Asks to be woken no more. Whether the peer has woken, or is about to.
    pub(crate) fn get_up(&self) -> bool {
        self.asleep.swap(0, Ordering::AcqRel) == 0
    }

    fn call(&self) -> Call {
        let asleep = self.peer_asleep.load(Ordering::Relaxed) != 0;
        match asleep && self.peer_asleep.swap(0, Ordering::AcqRel) != 0 {
            true => Call::Wake,
            false => Call::Nothing,
        }
    }
}
