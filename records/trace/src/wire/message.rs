//! Calls of MPI as words.

use crate::record::Message;
use fathomp_ring::Sink;
use fathomp_types::mpi::NO_BYTES;
use fathomp_types::{SiteId, Ticks};

/// The kind of such records.
pub(crate) const MESSAGE: u64 = 10;
/// Words of one.
pub(crate) const MESSAGE_WORDS: usize = 5;
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
}

/// Decodes one from its first word and the others; `None` if there are too few.
pub(crate) fn read_message(first: u64, rest: &[u64]) -> Option<Message> {
    let &[begin, length, bytes, peer, ..] = rest else {
        return None;
    };
    Some(Message {
        site: SiteId((first >> 32) as u32),
        function: (first >> 16) as u16,
        begin: Ticks(begin),
        end: Ticks(begin.saturating_add(length)),
        bytes: Some(bytes).filter(|bytes| *bytes != NO_BYTES),
        peer: Some(peer as u32).filter(|peer| *peer != NO_PEER),
        waits_for_all: peer & OF_ALL != 0,
    })
}
