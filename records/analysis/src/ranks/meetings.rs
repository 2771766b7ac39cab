//! Collective operations of all ranks of a communicator, put together.

use super::events::{Events, Pattern};
use std::collections::BTreeMap;

/// One collective operation of all ranks of a communicator.
#[derive(Clone, Debug)]
pub(super) struct Meeting {
    pub(super) communicator: u32,
    pub(super) pattern: Pattern,
    /// The root's place in `stays`, if there is one.
    pub(super) root: Option<usize>,
    /// For each rank of it: the rank's index, and the index of its part in its
    /// [`Events::collectives`].
    pub(super) stays: Vec<(u32, u32)>,
}

/// All of them, by communicator and in order. A communicator whose ranks do not call the same
/// functions in the same order, as far as each of them got, is left out: some calls were not seen.
/// `numbers` are the ranks' in `MPI_COMM_WORLD`.
pub(super) fn meetings(all: &[&Events], numbers: &[u32]) -> Vec<Meeting> {
    // For each communicator, the collective calls of each rank that has any.
    let mut by_communicator: BTreeMap<u32, Vec<(usize, Vec<usize>)>> = BTreeMap::new();
    for (rank, events) in all.iter().enumerate() {
        for (index, one) in events.collectives.iter().enumerate() {
            let ranks = by_communicator.entry(one.communicator).or_default();
            match ranks.last_mut().filter(|last| last.0 == rank) {
                Some(last) => last.1.push(index),
                None => ranks.push((rank, vec![index])),
            }
        }
    }
    let mut found = Vec::new();
    for (communicator, ranks) in by_communicator {
        let length = ranks.iter().map(|(_, calls)| calls.len()).min();
        let mut here = Vec::new();
        for index in 0..length.unwrap_or(0) {
            let of = |(rank, calls): &(usize, Vec<usize>)| {
                (*rank, &all[*rank].collectives[calls[index]])
            };
            let (_, first) = of(&ranks[0]);
            let agree = ranks
                .iter()
                .map(of)
                .all(|(_, one)| one.function == first.function && one.root == first.root);
            if !agree {
                here.clear();
                break;
            }
            here.push(Meeting {
                communicator,
                pattern: first.pattern,
                root: first
                    .root
                    .and_then(|root| ranks.iter().position(|(rank, _)| numbers[*rank] == root)),
                stays: ranks
                    .iter()
                    .map(|(rank, calls)| (*rank as u32, calls[index] as u32))
                    .collect(),
            });
        }
        found.append(&mut here);
    }
    found
}
