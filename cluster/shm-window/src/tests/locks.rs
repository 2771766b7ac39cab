//! Locks, one step after the other.

use crate::locks::{Attempt, Locks};
use crate::memory::Memory;
use crate::sizes::{Keeping, Sizes};
use fathomp_protocols::{Holder, LockId};
use fathomp_types::NodeId;

const A: NodeId = NodeId(0);
const B: NodeId = NodeId(700);

fn memory() -> Memory {
    Memory::in_process(2, 0, Sizes::default())
}

fn keeping() -> Keeping {
    Sizes::default().keeping
}

fn take(locks: Locks<'_>, lock: LockId, node: NodeId) -> Attempt {
    locks.take(lock, node, true, 7)
}

fn holder(node: NodeId, keeps: bool) -> Option<Holder> {
    Some(Holder { node, keeps })
}

#[test]
fn a_free_lock_needs_no_sequencer() {
    let memory = memory();
    let locks = memory.locks();
    for lock in [0, 0x7fff_ffff_1234, u64::MAX].map(LockId) {
        assert_eq!(take(locks, lock, B), Attempt::Taken);
        assert_eq!(take(locks, lock, A), Attempt::Held);
        assert!(!locks.give(lock, A));
        assert!(locks.give(lock, B));
        assert_eq!(locks.take(lock, A, false, 7), Attempt::Taken);
    }
}

#[test]
fn a_node_that_is_waited_for_tells_the_sequencer() {
    let memory = memory();
    let (locks, lock) = (memory.locks(), LockId(64));
    assert_eq!(take(locks, lock, B), Attempt::Taken);
    assert_eq!(locks.claim(lock), holder(B, false));
    assert!(!locks.give(lock, B) && !locks.keep(lock, B, 7));
    assert_eq!(take(locks, lock, A), Attempt::Held);
    locks.unclaim(lock);
    assert_eq!(locks.claim(lock), None);
    assert_eq!(take(locks, lock, A), Attempt::Sequenced);
    locks.unclaim(lock);
    assert_eq!(take(locks, lock, A), Attempt::Taken);
}

/// Takes a lock and gives it back until it is kept; how often that was.
fn until_kept(locks: Locks<'_>, lock: LockId, node: NodeId) -> u64 {
    let mut times = 1;
    assert_eq!(take(locks, lock, node), Attempt::Taken);
    while !locks.keep(lock, node, 7) {
        assert!(locks.give(lock, node));
        assert_eq!(take(locks, lock, node), Attempt::Taken);
        times += 1;
    }
    times
}

#[test]
fn a_node_that_takes_a_lock_again_and_again_keeps_it() {
    let memory = memory();
    let (locks, lock) = (memory.locks(), LockId(64));
    assert!(!locks.take_kept(lock, A));
    assert_eq!(
        until_kept(locks, lock, A),
        u64::from(keeping().streak_min) + 1
    );
    // Nobody else gets it, also not at once, before a barrier has passed.
    assert!(!locks.take_kept(lock, B));
    for waits in [true, false] {
        for passed in [6, 7] {
            assert_eq!(locks.take(lock, B, waits, passed), Attempt::Kept);
        }
    }
    assert!(locks.take_kept(lock, A) && !locks.take_kept(lock, A));
    assert_eq!(take(locks, lock, B), Attempt::Held);
    assert!(locks.keep(lock, A, 7));
    assert_eq!(locks.take(lock, B, true, 8), Attempt::Taken);
    assert!(!locks.take_kept(lock, A) && !locks.keep(lock, A, 8));
    // It is given back now and then nevertheless.
    assert!(locks.give(lock, B));
    until_kept(locks, lock, A);
    let mut kept = 0;
    while locks.take_kept(lock, A) && locks.keep(lock, A, 7) {
        kept += 1;
    }
    assert_eq!(kept, keeping().streak_max - keeping().streak_min - 1);
    assert!(locks.give(lock, A));
    assert_eq!(until_kept(locks, lock, A), 1);
}

#[test]
fn a_lock_that_was_kept_to_no_use_is_kept_later() {
    let memory = memory();
    let (locks, lock) = (memory.locks(), LockId(64));
    let worth = keeping().worth;
    let mut recall = |takes: u8| {
        let times = until_kept(locks, lock, A);
        for _ in 0..takes {
            assert!(locks.take_kept(lock, A) && locks.keep(lock, A, 7));
        }
        assert_eq!(locks.claim(lock), holder(A, true));
        assert!(!locks.take_kept(lock, A) && !locks.give(lock, A));
        assert_eq!(take(locks, lock, A), Attempt::Kept);
        locks.unclaim(lock);
        times
    };
    let recalled = [0, 0, worth, worth, 0].map(&mut recall);
    assert_eq!(recalled.map(|times| times - 1), [2, 4, 8, 4, 2]);
}

#[test]
fn barriers_are_counted_round() {
    for (passed, settled) in [
        (u32::MAX - 1, false),
        (u32::MAX, false),
        (0, true),
        (1, true),
    ] {
        let memory = Memory::in_process(2, 0, Sizes::small());
        let (locks, lock) = (memory.locks(), LockId(8));
        assert_eq!(take(locks, lock, A), Attempt::Taken);
        assert!(locks.keep(lock, A, u32::MAX));
        let taken = locks.take(lock, B, true, passed) == Attempt::Taken;
        assert_eq!(taken, settled, "{passed}");
    }
}

#[test]
fn locks_without_a_place_are_the_sequencers() {
    const PLACES: u64 = 1 << 10;
    let sizes = Sizes {
        lock_places: PLACES as usize,
        ..Sizes::default()
    };
    let memory = Memory::in_process(2, 0, sizes);
    let locks = memory.locks();
    let taken = |lock: &u64| take(locks, LockId(lock * 8), A) == Attempt::Taken;
    let there = (0..2 * PLACES).filter(taken).count() as u64;
    assert!(there > PLACES / 2 && there <= PLACES, "{there}");
    // Each of them is a lock of its own.
    let given = (0..2 * PLACES).filter(|lock| locks.give(LockId(lock * 8), A));
    assert_eq!(given.count() as u64, there);
}
