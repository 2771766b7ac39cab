//! Messages between ranks: which send belongs to which receive.

use super::events::Events;

/// A send and the receive that gets it: for both, the rank's index and that of the half message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) from: (usize, usize),
    pub(super) to: (usize, usize),
}

/// What tells messages that are in order among themselves from others: communicator, sender and
/// receiver in `MPI_COMM_WORLD`, tag.
pub type Channel = (u32, u32, u32, i32);

/// Puts sends and receives together that are given in the order in which each rank began them.
///
/// Of messages with the same communicator, sender, receiver and tag, the n-th that is sent is the
/// n-th that is received (MPI 4.1, section 3.5: messages do not overtake). Where both ends do not
/// count the same number, some were not seen, and none of them is matched.
#[must_use]
pub fn match_messages<T>(
    mut sends: Vec<(Channel, T)>,
    mut receives: Vec<(Channel, T)>,
) -> Vec<(T, T)> {
    // Stable: within a channel they stay in order.
    sends.sort_by_key(|one| one.0);
    receives.sort_by_key(|one| one.0);
    let mut pairs = Vec::with_capacity(sends.len().min(receives.len()));
    let (mut sends, mut receives) = (
        sends.into_iter().peekable(),
        receives.into_iter().peekable(),
    );
    while let Some((channel, first)) = sends.next() {
        let mut sent = vec![first];
        while let Some((_, next)) = sends.next_if(|one| one.0 == channel) {
            sent.push(next);
        }
        while receives.next_if(|one| one.0 < channel).is_some() {}
        let mut received = Vec::with_capacity(sent.len());
        while let Some((_, next)) = receives.next_if(|one| one.0 == channel) {
            received.push(next);
        }
        if sent.len() == received.len() {
            pairs.extend(sent.into_iter().zip(received));
        }
    }
    pairs
}

/// The messages of which both ends are known. `numbers` are the ranks' in `MPI_COMM_WORLD`.
pub(super) fn pairs(all: &[&Events], numbers: &[u32]) -> Vec<Pair> {
    let matched = match_messages(halves(all, numbers, true), halves(all, numbers, false));
    let pairs = matched.into_iter().map(|(from, to)| Pair { from, to });
    pairs.collect()
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
