//! Messages between ranks: which send belongs to which receive.

use super::events::Events;
use std::collections::HashMap;

/// A send and the receive that gets it: for both, the rank's index and that of the half message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) from: (u32, u32),
    pub(super) to: (u32, u32),
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
    // One receiving rank after the other, so that little more is in memory than what is found.
    let mut sends: HashMap<u32, Vec<(u32, u32)>> = HashMap::new();
    for (rank, events) in (0..).zip(all) {
        for (index, half) in (0..).zip(&events.halves) {
            if let (true, Ok(to)) = (half.is_send, u32::try_from(half.peer)) {
                sends.entry(to).or_default().push((rank, index));
            }
        }
    }
    let mut found = Vec::new();
    for (rank, events) in (0..).zip(all) {
        let number = numbers[rank as usize];
        if events.is_receiving_unseen {
            continue;
        }
        let sent = sends.remove(&number).unwrap_or_default();
        let sent = sent.into_iter().filter_map(|(from, index)| {
            let half = &all[from as usize].halves[index as usize];
            let channel = (half.communicator, numbers[from as usize], number, half.tag);
            (half.tag >= 0).then_some((channel, (from, index)))
        });
        let received = (0..).zip(&events.halves).filter_map(|(index, half)| {
            let peer = u32::try_from(half.peer).ok()?;
            let channel = (half.communicator, peer, number, half.tag);
            (!half.is_send && half.tag >= 0).then_some((channel, (rank, index)))
        });
        let matched = match_messages(sent.collect(), received.collect());
        found.extend(matched.into_iter().map(|(from, to)| Pair { from, to }));
    }
    found
}
