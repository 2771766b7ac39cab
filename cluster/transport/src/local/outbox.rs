//! The sending end of a link: into the ring as far as there is room, into a
//! queue of our own beyond that.

use super::frame::Header;
use crate::ring::Ring;
use std::collections::VecDeque;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// Bytes written into the ring so far.
    head: u64,
    seen_tail: u64,
    sequence: u32,
    /// Frames that did not fit, in order. The first may have left in part.
    queue: VecDeque<Box<[u8]>>,
    /// Bytes of the first queued frame that have left.
    sent: usize,
    /// Bytes queued.
    backlog: usize,
}

impl Outbox {
    /// Bytes that wait for room.
    pub(super) fn backlog(&self) -> usize {
        self.backlog
    }

    /// Appends a message of `length` bytes, the lengths of `parts` added up, that
    /// is not to arrive before `due_ns`. Says whether anything has entered the
    /// ring.
    pub(super) fn push(
        &mut self,
        ring: Ring<'_>,
        length: u32,
        parts: &[&[u8]],
        due_ns: u64,
    ) -> bool {
        let header = Header {
            length,
            sequence: self.sequence,
            due_ns,
        };
        debug_assert_eq!(
            parts.iter().map(|part| part.len()).sum::<usize>(),
            length as usize
        );
        self.sequence = self.sequence.wrapping_add(1);
        let frame_bytes = Header::BYTES + header.padded();
        let fits = self.queue.is_empty()
            && ring.free(self.head, &mut self.seen_tail, frame_bytes) >= frame_bytes;
        if fits {
            ring.write(self.head, &header.encode());
            let mut position = self.head.wrapping_add(Header::BYTES as u64);
            for part in parts {
                ring.write(position, part);
                position = position.wrapping_add(part.len() as u64);
            }
            self.head = self.head.wrapping_add(frame_bytes as u64);
            ring.publish(self.head);
            return true;
        }
        let mut frame = Vec::with_capacity(frame_bytes);
        frame.extend(header.encode());
        parts.iter().for_each(|part| frame.extend(*part));
        frame.resize(frame_bytes, 0);
        self.backlog += frame_bytes;
        self.queue.push_back(frame.into_boxed_slice());
        self.drain(ring)
    }

    /// Moves from the queue into the ring what there is room for. If some
    /// remains, the consumer will tell when it has made room. Says whether
    /// anything has moved.
    pub(super) fn drain(&mut self, ring: Ring<'_>) -> bool {
        let mut moved = self.fill(ring);
        if !self.queue.is_empty() {
            ring.starve();
            moved |= self.fill(ring);
        }
        moved
    }

    fn fill(&mut self, ring: Ring<'_>) -> bool {
        let before = self.head;
        while let Some(frame) = self.queue.front() {
            let rest = &frame[self.sent..];
            let free = ring.free(self.head, &mut self.seen_tail, rest.len());
            let count = free.min(rest.len());
            ring.write(self.head, &rest[..count]);
            self.head = self.head.wrapping_add(count as u64);
            self.sent += count;
            self.backlog -= count;
            if self.sent < frame.len() {
                break;
            }
            self.queue.pop_front();
            self.sent = 0;
        }
        let moved = self.head != before;
        if moved {
            ring.publish(self.head);
        }
        moved
    }
}
