//! The stream file of a process inside a recording: blocks, each with its own
//! checksum, only ever appended (docs/trace-format.md, "Streams").

use crate::model::SiteKind;
use crate::stack::StackOverflow;
use fathomp_base::{Clock, NodeId, ThreadId, Ticks};
use serde::{Deserialize, Serialize};

/// First bytes of a stream.
pub(crate) const MAGIC: [u8; 8] = *b"FTHSTRM\0";
/// Version of streams and records.
pub(crate) const VERSION: u32 = 1;
/// Bytes before the first block.
pub(crate) const START_BYTES: usize = 16;
/// Bytes of a block before its payload.
pub(crate) const BLOCK_BYTES: usize = 32;
/// First bytes of a block.
const MARK: [u8; 4] = *b"FBLK";
/// Larger payloads are not written, so a larger length is damage.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 16 << 20;
/// File name extension of a stream.
pub(crate) const EXTENSION: &str = "fthr";

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// A [`ProcessNote`]; the last one counts.
    Process = 1,
    /// A [`SitesNote`].
    Sites = 2,
    /// Words of records of one thread.
    Records = 3,
    /// A [`ThreadNote`]; the last one of a thread counts.
    Thread = 4,
}

impl Kind {
    fn from_number(number: u32) -> Option<Self> {
        [Self::Process, Self::Sites, Self::Records, Self::Thread]
            .into_iter()
            .find(|&kind| kind as u32 == number)
    }
}

/// Where the contents of a block came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Slot of the ring file.
    pub(crate) slot: u32,
    /// Thread.
    pub(crate) thread: ThreadId,
    /// Everything in the slot's ring before this word is in the stream; 0 for
    /// blocks that say nothing about that.
    pub(crate) position: u64,
}

/// The process a stream belongs to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ProcessNote {
    pub(crate) pid: u32,
    pub(crate) node: NodeId,
    /// Process number of node 0 of the cluster it belongs to; 0 for none.
    pub(crate) cluster: u32,
    pub(crate) executable: String,
    pub(crate) runtime: String,
    pub(crate) zero: Ticks,
    pub(crate) zero_unix_ns: u64,
    pub(crate) nanos_per_tick: f64,
    /// When the process said it was about to end.
    pub(crate) end: Option<Ticks>,
    pub(crate) hardware_counters: bool,
    /// Nothing more will come.
    pub(crate) complete: bool,
    /// The process was still running when the recording ended.
    pub(crate) running: bool,
    /// When the drainer saw the process alive for the last time.
    pub(crate) last_seen: Ticks,
    pub(crate) sites_lost: u64,
    pub(crate) threads_lost: u64,
    pub(crate) too_deep: u64,
    /// Details left out to keep the recording small.
    pub(crate) details_left_out: u64,
    /// Executions summed to keep the recording small.
    pub(crate) executions_merged: u64,
    /// Executions that could not even be summed.
    pub(crate) executions_lost: u64,
    /// Times a ring held something that cannot be.
    pub(crate) damaged: u64,
    /// The disk was full for a while.
    pub(crate) disk_full: bool,
    /// Another process that was recorded forked it.
    pub(crate) forked: bool,
    /// A thread's stack ran out.
    pub(crate) stack_overflow: Option<StackOverflow>,
}

impl ProcessNote {
    pub(crate) fn clock(&self) -> Clock {
        Clock {
            zero: self.zero,
            zero_unix_ns: self.zero_unix_ns,
            nanos_per_tick: self.nanos_per_tick,
        }
    }
}

/// Sites, numbered on from `first`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SitesNote {
    pub(crate) first: u32,
    pub(crate) sites: Vec<SiteNote>,
}

/// One site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SiteNote {
    pub(crate) kind: SiteKind,
    pub(crate) module: String,
    pub(crate) call: u64,
    pub(crate) function: u64,
}

/// A thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ThreadNote {
    pub(crate) id: ThreadId,
    pub(crate) os_id: u32,
    pub(crate) begin: Ticks,
    /// Last sign of life.
    pub(crate) end: Ticks,
    pub(crate) dropped: u64,
    /// The thread ended properly.
    pub(crate) ended: bool,
    /// Regions it was in when it stopped.
    pub(crate) open: u32,
}

/// The bytes before the first block.
pub(crate) fn start() -> [u8; START_BYTES] {
    let mut bytes = [0; START_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}

/// Appends a block to `out`.
pub(crate) fn put_block(out: &mut Vec<u8>, kind: Kind, origin: Origin, payload: &[u8]) {
    let begin = out.len();
    out.extend(MARK);
    out.extend([0; 4]);
    out.extend((kind as u32).to_le_bytes());
    out.extend((payload.len() as u32).to_le_bytes());
    out.extend(origin.slot.to_le_bytes());
    out.extend(origin.thread.0.to_le_bytes());
    out.extend(origin.position.to_le_bytes());
    out.extend(payload);
    let checksum = crc32fast::hash(&out[begin + 8..]);
    out[begin + 4..begin + 8].copy_from_slice(&checksum.to_le_bytes());
}

/// Appends a block with a note as JSON to `out`.
pub(crate) fn put_note(out: &mut Vec<u8>, kind: Kind, origin: Origin, note: &impl Serialize) {
    // Numbers, strings and lists have no keys or floats that JSON could refuse.
    let json = serde_json::to_vec(note).unwrap_or_default();
    put_block(out, kind, origin, &json);
}

/// Appends a block with records to `out`.
pub(crate) fn put_records(out: &mut Vec<u8>, origin: Origin, words: &[u64]) {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    put_block(out, Kind::Records, origin, &bytes);
}

/// A block of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block<'a> {
    /// `None` for a kind from a later version.
    pub(crate) kind: Option<Kind>,
    pub(crate) origin: Origin,
    pub(crate) payload: &'a [u8],
}

/// What a walk over a stream comes across.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// A sound block.
    Block(Block<'a>),
    /// So many bytes that are no sound block, with more of the stream to come.
    Damage(usize),
    /// So many bytes at the end that are no complete block.
    Cut(usize),
}

/// Walks over the blocks of a stream, after its start.
#[derive(Clone, Debug)]
pub(crate) struct Blocks<'a> {
    rest: &'a [u8],
    /// Bytes that may still be examined in search of a sound block after a
    /// damaged one. Bounds the time a stream made to waste it can take.
    search_bytes: usize,
}

impl<'a> Blocks<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            search_bytes: 1 << 30,
        }
    }
}

impl<'a> Iterator for Blocks<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        if let Some((block, length)) = block(self.rest) {
            self.rest = &self.rest[length..];
            return Some(Piece::Block(block));
        }
        let next = (1..self.rest.len())
            .filter(|&at| self.rest[at..].starts_with(&MARK))
            .take_while(|&at| {
                let examined = block_bytes(&self.rest[at..]).unwrap_or(0);
                let enough = self.search_bytes >= examined;
                self.search_bytes -= examined.min(self.search_bytes);
                enough
            })
            .find(|&at| block(&self.rest[at..]).is_some());
        let skipped = next.unwrap_or(self.rest.len());
        self.rest = &self.rest[skipped..];
        Some(match next {
            Some(_) => Piece::Damage(skipped),
            None => Piece::Cut(skipped),
        })
    }
}

/// Length of the block that `bytes` claim to begin with.
fn block_bytes(bytes: &[u8]) -> Option<usize> {
    let length = bytes.get(12..16)?.try_into().map(u32::from_le_bytes).ok()? as usize;
    let total = BLOCK_BYTES + length;
    (length <= PAYLOAD_BYTES_MAX && total <= bytes.len()).then_some(total)
}

/// The block at the beginning of `bytes` and its length, if it is sound.
fn block(bytes: &[u8]) -> Option<(Block<'_>, usize)> {
    let total = block_bytes(bytes)?;
    let (head, payload) = bytes[..total].split_at(BLOCK_BYTES);
    let word = |at: usize| {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&head[at..at + 4]);
        u32::from_le_bytes(bytes)
    };
    if head[..4] != MARK {
        return None;
    }
    if crc32fast::hash(&bytes[8..total]) != word(4) {
        return None;
    }
    let block = Block {
        kind: Kind::from_number(word(8)),
        origin: Origin {
            slot: word(16),
            thread: ThreadId(word(20)),
            position: u64::from(word(24)) | u64::from(word(28)) << 32,
        },
        payload,
    };
    Some((block, total))
}

/// The words of a block of records.
pub(crate) fn words(payload: &[u8]) -> impl Iterator<Item = u64> {
    payload.chunks_exact(8).map(|chunk| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(chunk);
        u64::from_le_bytes(bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let mut bytes = Vec::new();
        let origin = Origin {
            slot: 3,
            thread: ThreadId(7),
            position: 1 << 40,
        };
        put_block(&mut bytes, Kind::Process, Origin::default(), b"{}");
        put_records(&mut bytes, origin, &[1, 2, 3]);
        put_block(&mut bytes, Kind::Thread, origin, b"");
        bytes
    }

    #[test]
    fn blocks_come_back_as_written() {
        let bytes = sample();
        let blocks: Vec<_> = Blocks::new(&bytes)
            .map(|piece| match piece {
                Piece::Block(block) => block,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(blocks.len(), 3);
        assert_eq!(blocks[1].kind, Some(Kind::Records));
        assert_eq!(blocks[1].origin.position, 1 << 40);
        assert_eq!(words(blocks[1].payload).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn a_cut_costs_only_the_last_block() {
        let bytes = sample();
        for cut in 0..bytes.len() {
            let pieces: Vec<_> = Blocks::new(&bytes[..cut]).collect();
            let (cuts, blocks): (Vec<_>, Vec<_>) = pieces
                .iter()
                .partition(|piece| matches!(piece, Piece::Cut(_)));
            assert!(cuts.len() <= 1);
            assert!(blocks.iter().all(|piece| matches!(piece, Piece::Block(_))));
        }
    }

    #[test]
    fn a_damaged_byte_costs_only_its_block() {
        let bytes = sample();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            let sound = Blocks::new(&damaged)
                .filter(|piece| matches!(piece, Piece::Block(_)))
                .count();
            assert_eq!(sound, 2, "byte {at}");
        }
    }
}
