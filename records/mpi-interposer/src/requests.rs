//! Messages under way that a later call completes, by their requests.
//!
//! A table of fixed size, so that nothing is allocated per call. Messages that find no room are told
//! when they begin and never when they end.

use fathomp_types::mpi::{NO_BYTES, NO_PEER, NO_TAG, Transfer, TransferKind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, so that threads of a process seldom wait for each other.
const SHARDS: usize = 16;
/// Messages that one lock guards.
const ROOM: usize = 256;

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Underway {
    /// What was told when it began; its request's number is 0 while a persistent request rests.
    pub(crate) transfer: Transfer,
    /// The communicator in C, to translate the source of a message that any rank may send.
    pub(crate) communicator: usize,
    /// The request stays when the message is over.
    pub(crate) is_persistent: bool,
}

/// Handles and what they stand for; a handle of 0 is a free place. Open MPI's handles are addresses,
/// MPICH's numbers with bits set for their kind, Fortran's of Open MPI count from 0: all are kept
/// one higher.
struct Shard([(usize, Underway); ROOM]);

const NOTHING: Underway = Underway {
    transfer: Transfer {
        kind: TransferKind::SendPosted,
        request: 0,
        peer: NO_PEER,
        tag: NO_TAG,
        communicator: 0,
        bytes: NO_BYTES,
    },
    communicator: 0,
    is_persistent: false,
};

static TABLE: [Mutex<Shard>; SHARDS] = [const { Mutex::new(Shard([(0, NOTHING); ROOM])) }; SHARDS];

/// A number for a new message.
pub(crate) fn next_number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        if number != 0 {
            return number;
        }
    }
}

/// A message begins. What its request stood for before is over.
pub(crate) fn insert(handle: usize, underway: Underway) {
    let (mut shard, key, start) = shard(handle);
    if let Some(at) = shard.place(key, start).or_else(|| shard.place(0, start)) {
        shard.0[at] = (key, underway);
    }
}

/// The message of that request, if one is under way.
pub(crate) fn find(handle: usize) -> Option<Underway> {
    let (shard, key, start) = shard(handle);
    let at = shard.place(key, start)?;
    Some(shard.0[at].1).filter(|one| one.transfer.request != 0)
}

/// A persistent request begins a message, which gets a number.
pub(crate) fn start(handle: usize) -> Option<Transfer> {
    let (mut shard, key, start) = shard(handle);
    let at = shard.place(key, start)?;
    let one = &mut shard.0[at].1;
    one.transfer.request = next_number();
    one.is_persistent.then_some(one.transfer)
}

/// The message of that number is over.
pub(crate) fn finish(handle: usize, number: u32) {
    let (mut shard, key, start) = shard(handle);
    let Some(at) = shard.place(key, start) else {
        return;
    };
    let one = &mut shard.0[at];
    if one.1.transfer.request == number {
        match one.1.is_persistent {
            true => one.1.transfer.request = 0,
            false => one.0 = 0,
        }
    }
}

/// The program gives the request back.
pub(crate) fn free(handle: usize) {
    let (mut shard, key, start) = shard(handle);
    if let Some(at) = shard.place(key, start) {
        shard.0[at].0 = 0;
    }
}

/// Places are searched from one that follows from the handle, for so many at most: what is freed
/// leaves holes, so a search does not end at one.
const SEARCHED: usize = 16;

fn shard(handle: usize) -> (MutexGuard<'static, Shard>, usize, usize) {
    let key = handle.wrapping_add(1);
    let hash = (key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let shard = &TABLE[hash as usize % SHARDS];
    let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
    (shard, key, hash as usize / SHARDS % ROOM)
}

impl Shard {
    /// Where a key is, searched from a place on.
    fn place(&self, key: usize, start: usize) -> Option<usize> {
        let places = (0..SEARCHED).map(|step| (start + step) % ROOM);
        let mut found = places.filter(|at| self.0[*at].0 == key);
        found.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn underway(is_persistent: bool) -> Underway {
        let mut one = NOTHING;
        one.transfer.request = next_number();
        one.is_persistent = is_persistent;
        one
    }

    #[test]
    fn a_message_is_found_until_it_is_over() {
        let one = underway(false);
        insert(0x9800_0001, one);
        let found = find(0x9800_0001).expect("it is under way").transfer;
        assert_eq!(found.request, one.transfer.request);
        // The handle stands for another message meanwhile.
        let other = underway(false);
        insert(0x9800_0001, other);
        finish(0x9800_0001, one.transfer.request);
        assert!(find(0x9800_0001).is_some());
        finish(0x9800_0001, other.transfer.request);
        assert!(find(0x9800_0001).is_none());
    }

    #[test]
    fn a_persistent_request_is_started_again() {
        let mut one = underway(true);
        one.transfer.request = 0;
        insert(77, one);
        assert!(find(77).is_none());
        let first = start(77).expect("it is known").request;
        finish(77, first);
        assert!(find(77).is_none());
        assert_ne!(start(77).expect("it stays").request, first);
        free(77);
        assert!(start(77).is_none());
    }
}
