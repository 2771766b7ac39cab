//! Calls of MPI and their messages as words.

use crate::record::{Message, Record, Transfer};
use fathomp_ring::Sink;
use fathomp_types::mpi::{self, NO_BYTES, TransferKind};
use fathomp_types::{SiteId, Ticks};

/// The kind of such records.
pub(crate) const MESSAGE: u64 = 10;
/// Words of one.
pub(crate) const MESSAGE_WORDS: usize = 6;
/// The kind of records of messages.
pub(crate) const TRANSFER: u64 = 11;
/// Words of one.
pub(crate) const TRANSFER_WORDS: usize = 5;
/// No other rank is known.
const NO_PEER: u32 = u32::MAX;
/// All ranks of `MPI_COMM_WORLD` called it, beside the other rank.
const OF_ALL: u64 = 1 << 32;

/// Writes a call of MPI.
#[inline]
pub(crate) fn write_message(sink: &mut impl Sink, message: &Message) {
    let head = MESSAGE | (MESSAGE_WORDS as u64) << 8 | u64::from(message.function) << 16;
    sink.put(head | u64::from(message.site.0) << 32);
    sink.put(message.begin.0);
    sink.put(message.end.since(message.begin).0);
    sink.put(message.bytes.unwrap_or(NO_BYTES));
    let all = if message.waits_for_all { OF_ALL } else { 0 };
    sink.put(u64::from(message.peer.unwrap_or(NO_PEER)) | all);
    sink.put(message.communicator.into());
}

/// Decodes one from its first word and the others; `None` if there are too few.
pub(crate) fn read_message(first: u64, rest: &[u64]) -> Option<Record> {
    let &[begin, length, bytes, peer, ref later @ ..] = rest else {
        return None;
    };
    Some(Record::Message(Message {
        site: SiteId((first >> 32) as u32),
        function: (first >> 16) as u16,
        begin: Ticks(begin),
        end: Ticks(begin.saturating_add(length)),
        bytes: Some(bytes).filter(|bytes| *bytes != NO_BYTES),
        peer: Some(peer as u32).filter(|peer| *peer != NO_PEER),
        // Recordings of earlier versions have no communicator.
        communicator: later.first().map_or(0, |word| *word as u32),
        waits_for_all: peer & OF_ALL != 0,
    }))
}

/// Writes a message of a call.
#[inline]
pub(crate) fn write_transfer(sink: &mut impl Sink, transfer: &Transfer) {
    let what = &transfer.what;
    let head = TRANSFER | (TRANSFER_WORDS as u64) << 8 | (what.kind as u64) << 16;
    sink.put(head);
    sink.put(transfer.at.0);
    sink.put(two(what.request, what.communicator));
    sink.put(two(what.peer as u32, what.tag as u32));
    sink.put(what.bytes);
}

/// Decodes one likewise; `None` also if what is done is not known.
pub(crate) fn read_transfer(first: u64, rest: &[u64]) -> Option<Record> {
    let &[at, request, peer, bytes, ..] = rest else {
        return None;
    };
    Some(Record::Transfer(Transfer {
        at: Ticks(at),
        what: mpi::Transfer {
            kind: TransferKind::from_number((first >> 16) as u8)?,
            request: request as u32,
            communicator: (request >> 32) as u32,
            peer: peer as i32,
            tag: (peer >> 32) as i32,
            bytes,
        },
    }))
}

/// Two numbers in a word, the first in its low half.
fn two(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}
