//! Room for a thread's records: memory for its ring, and a drainer that empties it in time.

use super::ThreadRecorder;
use crate::wire;
use fathomp_ring::Word;
use fathomp_sys::clock::now;

/// Words of a ring kept free for the mark that ends a thread.
const RESERVE: u64 = wire::THREAD_END_WORDS as u64;
/// Words of a ring that get memory at a time: enough for a thousand executions,
/// and no noticeable delay for a thread that begins.
const GROWTH: usize = 16 << 10;

impl ThreadRecorder {
    /// Whether a record of that many words fits.
    #[inline(always)]
    pub(in crate::recorder) fn fits(&self, words: usize) -> bool {
        self.room(words as u64, RESERVE)
    }

    /// Whether a record of that many words fits and leaves `margin` free.
    #[inline(always)]
    pub(super) fn room(&self, words: u64, margin: u64) -> bool {
        let wanted = words + margin;
        let mut seen = self.own.seen_tail.get();
        let free = self.ring.free(&mut seen, wanted);
        self.own.seen_tail.set(seen);
        if free < wanted {
            self.recorder.call_drainer();
            return false;
        }
        let position = self.ring.head().wrapping_add(words + RESERVE);
        position <= self.own.limit.get() || self.pass_limit(position)
    }

    /// Sees to it that records can be written up to `position`, and sets the next limit. The
    /// drainer, which may sleep for longer than a burst of events takes to fill the ring, is
    /// called when half of it is full, and again should it not hear that.
    #[cold]
    fn pass_limit(&self, position: u64) -> bool {
        if position > self.own.grown.get() && !self.grow(position) {
            return false;
        }
        let capacity = self.ring.capacity();
        let mut tail = 0;
        // Nothing is as much as this: the drainer's position is looked at.
        let free = self.ring.free(&mut tail, u64::MAX);
        self.own.seen_tail.set(tail);
        let next = if free > capacity / 2 {
            tail.wrapping_add(capacity / 2)
        } else {
            self.recorder.call_drainer();
            position.wrapping_add(capacity / 8)
        };
        let grown = self.own.grown.get();
        self.own.limit.set(next.max(position).min(grown));
        true
    }

    /// Gives the ring memory up to `position`, on the first way round. The one
    /// system call in an event's path, eight times in a thread's life.
    #[cold]
    fn grow(&self, position: u64) -> bool {
        /// Time after which it is tried again.
        const PATIENCE_US: f64 = 10_000.0;
        let (at, patience) = (now().0, self.recorder.ticks(PATIENCE_US));
        let stunted = self.own.stunted.get();
        if stunted != 0 && at.saturating_sub(stunted) < patience {
            return false;
        }
        let capacity = self.ring.capacity() as usize;
        let grown = self.own.grown.get() as usize;
        let target = (grown + GROWTH).max(position as usize).min(capacity);
        let range = self.ring_at + grown.min(target)..self.ring_at + target;
        // The page faults of this are ours, not the program's.
        let made = self
            .sampler()
            .without(|| self.recorder.file.populate(range));
        if made.is_err() {
            self.own.stunted.set(at.max(1));
            return false;
        }
        self.own.grown.set(if target == capacity {
            u64::MAX
        } else {
            target as u64
        });
        true
    }
}
