//! The stream file of a process inside a recording: blocks, each with its own
//! checksum, only ever appended (docs/trace-format.md, "Streams").

use crate::foreign_recorder::ForeignRecorder;
use crate::model::SiteKind;
use crate::stack::StackOverflow;
use fathomp_blocks::START_BYTES;
use fathomp_types::{Clock, NodeId, ThreadId, Ticks};
use serde::{Deserialize, Serialize};

/// First bytes of a stream.
pub(crate) const MAGIC: [u8; 8] = *b"FTHSTRM\0";
/// Version of streams and records.
pub(crate) const VERSION: u32 = 1;
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
    /// What the recorder says of itself, if it is not part of the runtime.
    /// Older recordings call it `witness`.
    #[serde(alias = "witness")]
    pub(crate) foreign_recorder: Option<ForeignRecorder>,
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
    fathomp_blocks::start(MAGIC, VERSION)
}

/// Appends a block to `out`.
pub(crate) fn put_block(out: &mut Vec<u8>, kind: Kind, origin: Origin, payload: &[u8]) {
    let origin = fathomp_blocks::Origin {
        source: origin.slot,
        owner: origin.thread.0,
        position: origin.position,
    };
    fathomp_blocks::put(out, kind as u32, origin, payload);
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

impl<'a> From<fathomp_blocks::Block<'a>> for Block<'a> {
    fn from(block: fathomp_blocks::Block<'a>) -> Self {
        Self {
            kind: Kind::from_number(block.kind),
            origin: Origin {
                slot: block.origin.source,
                thread: ThreadId(block.origin.owner),
                position: block.origin.position,
            },
            payload: block.payload,
        }
    }
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
    use fathomp_blocks::{Blocks, Piece};
    use std::path::PathBuf;

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
    fn old_name_of_foreign_recorder_is_read() {
        let note: ProcessNote =
            serde_json::from_str(r#"{"witness":{"library":"/x/libgomp.so.1"}}"#).unwrap();
        let library = note.foreign_recorder.unwrap().library;
        assert_eq!(library, PathBuf::from("/x/libgomp.so.1"));
    }

    #[test]
    fn blocks_come_back_as_written() {
        let bytes = sample();
        let blocks: Vec<_> = Blocks::new(&bytes)
            .map(|piece| match piece {
                Piece::Block(block) => Block::from(block),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(blocks.len(), 3);
        assert_eq!(blocks[1].kind, Some(Kind::Records));
        assert_eq!(blocks[1].origin.position, 1 << 40);
        assert_eq!(
            (blocks[1].origin.slot, blocks[1].origin.thread),
            (3, ThreadId(7))
        );
        assert_eq!(words(blocks[1].payload).collect::<Vec<_>>(), [1, 2, 3]);
    }
}
