//! Packs the marks of one task.

use super::buffer::Buffer;
use crate::MarkKind;
use crate::stream::{BY_INTERPOSER, EndNote, Kind};
use fathomp_types::Ticks;

/// Bits of a mark's first number that hold its kind.
pub(super) const KIND_BITS: u32 = 3;

/// Packs the marks of one task into blocks.
#[derive(Debug)]
pub struct MarkPacker {
    buffer: Buffer,
    full: bool,
    end: EndNote,
}

impl MarkPacker {
    /// A packer of the task with number `task`, whose first mark is not before
    /// `begin`.
    #[must_use]
    pub fn new(task: u32, begin: Ticks) -> Self {
        Self {
            buffer: Buffer::new(Kind::Marks, BY_INTERPOSER, task, begin),
            full: false,
            end: EndNote::default(),
        }
    }

    /// Goes on where another packer of the task's marks left off, which packed `blocks`
    /// blocks; what it came to is in the note of the intervals' packer.
    #[must_use]
    pub fn after(mut self, blocks: u64) -> Self {
        self.buffer.begin_after(blocks);
        self
    }

    /// A mark of a name, or of none (0). A time before that of the last mark is
    /// taken for it, and counted.
    pub fn mark(&mut self, at: Ticks, kind: MarkKind, name: u32) {
        let before = self.buffer.head.end;
        if at < before {
            self.end.clock_went_back += 1;
        }
        let at = at.max(before);
        let ticks = at.since(before).0;
        // A difference that the kind would push over 64 bits is of no clock.
        if self.full || ticks >> (64 - KIND_BITS) != 0 || !self.buffer.make_room() {
            self.end.marks_left_out += 1;
            return;
        }
        self.end.marks += 1;
        self.buffer
            .put_number(ticks << KIND_BITS | kind.index() as u64);
        self.buffer.put_number(name.into());
        self.buffer.use_name(name);
        self.buffer.end_entry(at);
    }

    /// From now on marks are only counted: the recording has reached its limit.
    pub fn leave_out(&mut self) {
        self.full = true;
    }

    /// Whether it is time to [`seal`](Self::seal) and write the block.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.buffer.is_full()
    }

    /// Completes the block under construction, if there is anything in it.
    pub fn seal(&mut self) -> Option<&[u8]> {
        self.buffer.seal()
    }

    /// What was packed and left out so far.
    #[must_use]
    pub fn end_note(&self) -> EndNote {
        self.end
    }
}
