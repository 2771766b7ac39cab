//! The receiving end of a link: takes whole messages out of the ring, and
//! collects those that come in pieces because the ring is shorter.

use super::frame::Header;
use crate::doorbell::Sleep;
use crate::ring::{Overrun, Ring};

/// What is wrong with a peer's bytes.
pub(super) type Garbage = &'static str;

impl From<Overrun> for Garbage {
    fn from(_: Overrun) -> Self {
        "its ring claims to hold more than its size"
    }
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    /// Bytes taken out of the ring so far.
    tail: u64,
    sequence: u32,
    /// The message being collected, if its header has been taken out already.
    begun: Option<Header>,
    collected: Vec<u8>,
    /// The producer waits for room that we have made.
    fed: bool,
    garbage: Option<Garbage>,
}

impl Inbox {
    /// Where the ring's head stands when there is nothing to do here.
    /// Impossible as long as a complete message is kept until it is due.
    pub(super) fn idle_head(&self) -> u64 {
        if self.is_complete() {
            // Heads are multiples of the header's size.
            return 1;
        }
        self.tail
    }

    /// Whether the producer has to be told that there is room. Forgets it.
    pub(super) fn take_fed(&mut self) -> bool {
        std::mem::take(&mut self.fed)
    }

    /// Replaces `message` by the next message, if there is one that is due.
    ///
    /// # Errors
    /// If the peer's bytes make no sense, now or ever before.
    pub(super) fn take(
        &mut self,
        ring: Ring<'_>,
        length_max: usize,
        clock_ns: impl Fn() -> u64,
        message: &mut Vec<u8>,
    ) -> Result<bool, Garbage> {
        if let Some(garbage) = self.garbage {
            return Err(garbage);
        }
        let taken = self.next(ring, length_max, clock_ns, message);
        self.garbage = taken.err();
        taken
    }

    fn next(
        &mut self,
        ring: Ring<'_>,
        length_max: usize,
        clock_ns: impl Fn() -> u64,
        message: &mut Vec<u8>,
    ) -> Result<bool, Garbage> {
        let mut available = ring.available(self.tail)?;
        let is_due = |header: Header| header.due_ns == 0 || header.due_ns <= clock_ns();
        let header = match self.begun {
            Some(header) => header,
            None => {
                let Some(header) = self.peek(ring, available, length_max)? else {
                    return Ok(false);
                };
                available -= Header::BYTES;
                if available >= header.padded() {
                    if !is_due(header) {
                        return Ok(false);
                    }
                    message.clear();
                    let start = self.tail.wrapping_add(Header::BYTES as u64);
                    ring.read(start, header.length as usize, message);
                    self.sequence = self.sequence.wrapping_add(1);
                    self.advance(ring, Header::BYTES + header.padded());
                    return Ok(true);
                }
                self.begun = Some(header);
                self.advance(ring, Header::BYTES);
                header
            }
        };
        let count = available.min(header.padded() - self.collected.len());
        if count > 0 {
            ring.read(self.tail, count, &mut self.collected);
            self.advance(ring, count);
        }
        if !self.is_complete() || !is_due(header) {
            return Ok(false);
        }
        self.collected.truncate(header.length as usize);
        std::mem::swap(message, &mut self.collected);
        self.collected.clear();
        self.begun = None;
        self.sequence = self.sequence.wrapping_add(1);
        Ok(true)
    }

    /// The header at the front of the ring, if there is one.
    fn peek(
        &self,
        ring: Ring<'_>,
        available: usize,
        length_max: usize,
    ) -> Result<Option<Header>, Garbage> {
        if available == 0 {
            return Ok(None);
        }
        if available < Header::BYTES {
            return Err("a message is cut in its header");
        }
        let header = Header::decode(ring.peek(self.tail));
        if header.length as usize > length_max {
            return Err("a message is longer than allowed");
        }
        if header.sequence != self.sequence {
            return Err("a message is out of order");
        }
        Ok(Some(header))
    }

    fn is_complete(&self) -> bool {
        self.begun
            .is_some_and(|header| self.collected.len() >= header.padded())
    }

    fn advance(&mut self, ring: Ring<'_>, count: usize) {
        self.tail = self.tail.wrapping_add(count as u64);
        self.fed |= ring.consume(self.tail);
    }

    /// How long a thread may sleep as far as this link is concerned.
    pub(super) fn sleep(&self, ring: Ring<'_>, clock_ns: impl Fn() -> u64) -> Sleep {
        let until = |due_ns: u64| {
            if due_ns == 0 || due_ns <= clock_ns() {
                Sleep::Not
            } else {
                Sleep::Until(due_ns)
            }
        };
        if self.garbage.is_some() {
            // It has been reported and nothing will come of it.
            return Sleep::UntilWoken;
        }
        match (self.begun, ring.available(self.tail)) {
            (Some(header), _) if self.is_complete() => until(header.due_ns),
            (_, Ok(0)) => Sleep::UntilWoken,
            (None, Ok(available)) if available >= Header::BYTES => {
                let header = Header::decode(ring.peek(self.tail));
                if available < Header::BYTES + header.padded() {
                    return Sleep::Not;
                }
                until(header.due_ns)
            }
            _ => Sleep::Not,
        }
    }
}
