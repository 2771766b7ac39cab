//! A block under construction, with room for its heads before what is packed.

use super::varint;
use crate::stream::Kind;
use fathomp_blocks::Origin;
use fathomp_types::Ticks;

/// Bytes of a packed block's own head.
pub const HEAD_BYTES: usize = 24;
/// Where packed bytes begin.
const BEGIN: usize = fathomp_blocks::HEAD_BYTES + HEAD_BYTES;
/// Bytes from which a block should be written: a block's heads cost 56.
const FULL_BYTES: usize = 32 << 10;
/// Room that is kept for one more entry, whatever it is.
const ENTRY_BYTES: usize = 256;

/// What a block of intervals, marks or samples begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockHead {
    /// Tick from which on it tells: the first difference of times counts from
    /// here.
    pub begin: Ticks,
    /// Tick up to which it tells.
    pub end: Ticks,
    /// Entries in it; gaps are none.
    pub entries: u32,
    /// One more than the largest number of a name in it.
    pub names: u32,
}

impl BlockHead {
    /// Splits a payload into its head and what is packed; `None` if it is too
    /// short for that.
    #[must_use]
    pub fn split(payload: &[u8]) -> Option<(Self, &[u8])> {
        let (head, packed) = payload.split_first_chunk::<HEAD_BYTES>()?;
        let word = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&head[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        let head = Self {
            begin: Ticks(word(0)),
            end: Ticks(word(8)),
            entries: word(16) as u32,
            names: (word(16) >> 32) as u32,
        };
        Some((head, packed))
    }
}

/// A block under construction. Its memory is had once, when it is made.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    /// Where the next byte goes.
    at: usize,
    kind: Kind,
    /// Origin of the next block.
    origin: Origin,
    pub(super) head: BlockHead,
    /// The block was handed out; the next entry begins another.
    is_sealed: bool,
}

impl Buffer {
    pub(super) fn new(kind: Kind, source: u32, task: u32, begin: Ticks) -> Self {
        Self {
            bytes: vec![0; BEGIN + FULL_BYTES + ENTRY_BYTES],
            at: BEGIN,
            kind,
            origin: Origin {
                source,
                owner: task,
                position: 1,
            },
            head: BlockHead {
                begin,
                end: begin,
                ..BlockHead::default()
            },
            is_sealed: false,
        }
    }

    /// Makes room for one more entry. Says whether there is: there is none if
    /// blocks were not taken away for long.
    #[inline]
    pub(super) fn make_room(&mut self) -> bool {
        if self.is_sealed {
            self.restart();
        }
        self.at + ENTRY_BYTES <= self.bytes.len() || self.grow()
    }

    #[cold]
    fn restart(&mut self) {
        self.at = BEGIN;
        self.origin.position += 1;
        self.head = BlockHead {
            begin: self.head.end,
            end: self.head.end,
            ..BlockHead::default()
        };
        self.is_sealed = false;
    }

    #[cold]
    fn grow(&mut self) -> bool {
        let more = self.bytes.len() * 2;
        let fits = more <= fathomp_blocks::PAYLOAD_BYTES_MAX;
        if fits {
            self.bytes.resize(more, 0);
        }
        fits
    }

    /// Ends an entry.
    #[inline]
    pub(super) fn end_entry(&mut self, end: Ticks) {
        self.head.end = end;
        self.head.entries += 1;
    }

    /// Ends something that is no entry, but moves the time.
    pub(super) fn end_gap(&mut self, end: Ticks) {
        self.head.end = end;
    }

    /// Writes the low `length` (at most 8) bytes of `word`.
    #[inline]
    pub(super) fn put_word(&mut self, word: u64, length: usize) {
        // Always eight, which is one instruction; the next entry overwrites those
        // beyond `length`. `make_room` has seen to it that there is room.
        if let Some(bytes) = self.bytes[self.at..].first_chunk_mut::<8>() {
            *bytes = word.to_le_bytes();
        }
        self.at += length;
    }

    /// Writes a number of variable length.
    #[inline]
    pub(super) fn put_number(&mut self, value: u64) {
        if value < 0x80 {
            self.bytes[self.at] = value as u8;
            self.at += 1;
        } else {
            self.at += varint::write(&mut self.bytes[self.at..], value);
        }
    }

    /// Notes that a name is used.
    #[inline]
    pub(super) fn use_name(&mut self, name: u32) {
        self.head.names = self.head.names.max(name.saturating_add(1));
    }

    pub(super) fn origin(&self) -> Origin {
        self.origin
    }

    pub(super) fn is_empty(&self) -> bool {
        self.is_sealed || self.at == BEGIN
    }

    /// The first block comes after so many of another packer.
    pub(super) fn begin_after(&mut self, blocks: u64) {
        self.origin.position = blocks.saturating_add(1);
    }

    /// Moves the begin of a block without entries.
    pub(super) fn begin_at(&mut self, begin: Ticks) {
        self.head.begin = begin;
        self.head.end = begin;
    }

    pub(super) fn is_full(&self) -> bool {
        !self.is_sealed && self.at >= BEGIN + FULL_BYTES
    }

    /// Completes the block, if there is anything in it, and hands its bytes out.
    pub(super) fn seal(&mut self) -> Option<&[u8]> {
        if self.is_empty() {
            return None;
        }
        let head = &mut self.bytes[fathomp_blocks::HEAD_BYTES..BEGIN];
        head[..8].copy_from_slice(&self.head.begin.0.to_le_bytes());
        head[8..16].copy_from_slice(&self.head.end.0.to_le_bytes());
        head[16..20].copy_from_slice(&self.head.entries.to_le_bytes());
        head[20..24].copy_from_slice(&self.head.names.to_le_bytes());
        let block = &mut self.bytes[..self.at];
        fathomp_blocks::seal(block, self.kind as u32, self.origin);
        self.is_sealed = true;
        Some(block)
    }
}
