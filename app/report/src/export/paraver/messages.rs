//! Lines of messages between ranks of which both sides are known.

use crate::export::tracks::{Slice, Tracks};
use fathomp_analysis::{Channel, match_messages};
use fathomp_types::mpi::TransferKind;
use std::collections::HashMap;

/// What one of both ranks did.
struct Half {
    channel: Channel,
    begin_ns: u64,
    end_ns: u64,
    object: String,
    bytes: u64,
    /// The request that completes it; 0 if its own call does.
    request: u32,
}

/// All messages that were told of.
#[derive(Default)]
pub(super) struct Messages {
    sends: Vec<Half>,
    receives: Vec<Half>,
}

impl Messages {
    /// Adds what a thread of a rank did; `ends` gets when receives that it had begun were over, by
    /// their requests.
    pub(super) fn add(
        &mut self,
        rank: u32,
        slices: &[Slice<'_>],
        tracks: &Tracks,
        object: &str,
        ends: &mut HashMap<u32, u64>,
    ) {
        for slice in slices.iter().filter(|slice| slice.call.is_some()) {
            for (kind, what) in tracks.transfers(slice) {
                let peer = what.peer.unsigned_abs();
                let (halves, from, to) = match kind {
                    TransferKind::SendPosted => (&mut self.sends, rank, peer),
                    TransferKind::ReceivePosted => (&mut self.receives, peer, rank),
                    TransferKind::ReceiveDone => {
                        ends.insert(what.request, slice.end_ns);
                        continue;
                    }
                    TransferKind::SendDone
                    | TransferKind::CollectivePosted
                    | TransferKind::CollectiveDone => continue,
                };
                halves.push(Half {
                    channel: (what.communicator, from, to, what.tag),
                    begin_ns: slice.begin_ns,
                    end_ns: slice.end_ns,
                    object: object.to_owned(),
                    bytes: what.bytes,
                    request: what.request,
                });
            }
        }
    }

    /// Ends a process, whose first receive that was added has this number.
    pub(super) fn end_process(&mut self, first: usize, ends: &HashMap<u32, u64>) {
        for half in &mut self.receives[first..] {
            if let Some(end) = ends.get(&half.request) {
                half.end_ns = *end;
            }
        }
    }

    /// How many receives there are.
    pub(super) fn receives(&self) -> usize {
        self.receives.len()
    }

    /// The lines of messages of which both sides are known, by time.
    pub(super) fn lines(mut self) -> Vec<String> {
        let in_order = |halves: &mut Vec<Half>| {
            halves.sort_by_key(|half| half.begin_ns);
            let halves = std::mem::take(halves).into_iter();
            halves.map(|half| (half.channel, half)).collect()
        };
        let matched = match_messages(in_order(&mut self.sends), in_order(&mut self.receives));
        let line = |(from, to): &(Half, Half)| {
            let begin = from.begin_ns;
            let line = format!(
                "3:{}:{begin}:{begin}:{}:{}:{}:{}:{}",
                from.object, to.object, to.begin_ns, to.end_ns, from.bytes, from.channel.3
            );
            (begin, line)
        };
        let mut lines: Vec<(u64, String)> = matched.iter().map(line).collect();
        lines.sort_by_key(|(at, _)| *at);
        lines.into_iter().map(|(_, line)| line).collect()
    }
}
