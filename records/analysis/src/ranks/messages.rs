//! Messages between ranks: which send belongs to which receive.
//!
//! Of messages with the same communicator, sender, receiver and tag, the n-th that is sent is the
//! n-th that is received (MPI 4.1, section 3.5: messages do not overtake). Where both sides do not
//! count the same number, some were not seen, and none of them is matched.

use super::events::Events;

/// A send and the receive that gets it: for both, the rank's index and that of the half message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) from: (usize, usize),
    pub(super) to: (usize, usize),
}

/// What tells messages that are in order among themselves from others: communicator, sender,
/// receiver, tag.
type Channel = (u32, u32, u32, i32);

/// The messages of which both ends are known. `numbers` are the ranks' in `MPI_COMM_WORLD`.
pub(super) fn pairs(all: &[&Events], numbers: &[u32]) -> Vec<Pair> {
    let mut sends = halves(all, numbers, true);
    let mut receives = halves(all, numbers, false);
    // Stable: within a channel they stay in order.
    sends.sort_by_key(|one| one.0);
    receives.sort_by_key(|one| one.0);
    let mut pairs = Vec::with_capacity(sends.len().min(receives.len()));
    let by_channel = |a: &(Channel, (usize, usize)), b: &(Channel, (usize, usize))| a.0 == b.0;
    let mut received = receives.chunk_by(by_channel).peekable();
    for sent in sends.chunk_by(by_channel) {
        while received.next_if(|group| group[0].0 < sent[0].0).is_some() {}
        let Some(got) = received.next_if(|group| group[0].0 == sent[0].0) else {
            continue;
        };
        if sent.len() == got.len() {
            let together = sent.iter().zip(got);
            pairs.extend(together.map(|(a, b)| Pair { from: a.1, to: b.1 }));
        }
    }
    pairs
}

fn halves(all: &[&Events], numbers: &[u32], sends: bool) -> Vec<(Channel, (usize, usize))> {
    let mut found = Vec::new();
    for (rank, events) in all.iter().enumerate() {
        if !sends && events.is_receiving_unseen {
            continue;
        }
        for (index, half) in events.halves.iter().enumerate() {
            let Ok(peer) = u32::try_from(half.peer) else {
                continue;
            };
            if half.is_send != sends || half.tag < 0 {
                continue;
            }
            let own = numbers[rank];
            let (from, to) = if sends { (own, peer) } else { (peer, own) };
            let channel = (half.communicator, from, to, half.tag);
            found.push((channel, (rank, index)));
        }
    }
    found
}
