//! Communicators by numbers that all their ranks use, and their members.
//!
//! A communicator that is made by a collective call gets a number that each member computes for
//! itself: from its parent's, how many were made of that before, and its members. The parent's
//! ranks make its children in the same order (MPI 4.1, section 7.4.2), so that they agree.

use crate::arguments::world;
use fathomp_sys::mpi::members;
use fathomp_types::mpi::WORLD;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// A communicator of the program, within which ranks have numbers of their own.
#[derive(Debug)]
pub(crate) struct Communicator {
    /// The same at all its ranks.
    pub(crate) number: u32,
    /// The rank in `MPI_COMM_WORLD` of each of its ranks; none: the same.
    members: Option<Vec<u32>>,
    /// How many were made of it.
    made: AtomicU32,
}

/// `MPI_COMM_WORLD`.
static ALL: Communicator = Communicator {
    number: WORLD,
    members: None,
    made: AtomicU32::new(0),
};

/// Others by their handles in C.
static OTHERS: RwLock<BTreeMap<usize, Arc<Communicator>>> = RwLock::new(BTreeMap::new());

impl Communicator {
    /// The rank in `MPI_COMM_WORLD` of one of its ranks.
    pub(crate) fn in_world(&self, rank: i32) -> Option<i32> {
        let Some(members) = &self.members else {
            return (rank >= 0).then_some(rank);
        };
        let member = members.get(usize::try_from(rank).ok()?)?;
        i32::try_from(*member).ok()
    }
}

/// Uses the communicator that C knows by that handle, if we know it.
pub(crate) fn with<T>(handle: usize, used: impl FnOnce(&Communicator) -> T) -> Option<T> {
    if world().is_some_and(|world| world.in_c == handle) {
        return Some(used(&ALL));
    }
    let others = OTHERS.read().unwrap_or_else(PoisonError::into_inner);
    others.get(&handle).map(|one| used(one))
}

/// A collective call of all of `parent` has made one; with a tag, one of its members alone.
///
/// # Safety
/// `handle` is a communicator of the program that is valid, in C.
pub(crate) unsafe fn made(parent: usize, handle: usize, tag: Option<i32>) {
    // Counted also where this rank is no member of what was made.
    let seed = with(parent, |parent| {
        let before = match tag {
            Some(_) => 0,
            None => parent.made.fetch_add(1, Ordering::Relaxed),
        };
        (parent.number, before)
    });
    let (Some((number, before)), Some(world)) = (seed, world()) else {
        return;
    };
    if world.is_null(handle) {
        return;
    }
    // SAFETY: promised by our caller.
    let Some(members) = (unsafe { members(world, handle) }) else {
        return;
    };
    let words = [number, before, tag.unwrap_or(0) as u32];
    let number = number_of(words.into_iter().chain(members.iter().copied()));
    let one = Communicator {
        number,
        members: Some(members),
        made: AtomicU32::new(0),
    };
    let mut others = OTHERS.write().unwrap_or_else(PoisonError::into_inner);
    others.insert(handle, Arc::new(one));
}

/// The program frees one; its handle may stand for another soon.
pub(crate) fn freed(handle: usize) {
    let mut others = OTHERS.write().unwrap_or_else(PoisonError::into_inner);
    others.remove(&handle);
}

/// FNV-1a of the words; neither 0 nor [`WORLD`].
fn number_of(words: impl Iterator<Item = u32>) -> u32 {
    let hash = words.fold(0x811c_9dc5_u32, |hash, word| {
        word.to_le_bytes().iter().fold(hash, |hash, byte| {
            (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
        })
    });
    hash.max(WORLD + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_translated_by_members() {
        let pair = Communicator {
            number: 9,
            members: Some(vec![4, 2]),
            made: AtomicU32::new(0),
        };
        assert_eq!((pair.in_world(0), pair.in_world(1)), (Some(4), Some(2)));
        assert_eq!((pair.in_world(2), pair.in_world(-1)), (None, None));
        assert_eq!((ALL.in_world(7), ALL.in_world(-2)), (Some(7), None));
    }

    #[test]
    fn numbers_differ_by_parent_order_and_members() {
        let numbers = [
            number_of([1, 0, 0, 1].into_iter()),
            number_of([1, 1, 0, 1].into_iter()),
            number_of([2, 0, 0, 1].into_iter()),
            number_of([1, 0, 0, 2].into_iter()),
        ];
        for (index, number) in numbers.iter().enumerate() {
            assert!(*number > WORLD && !numbers[..index].contains(number));
        }
    }
}
