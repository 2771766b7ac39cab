//! Executions that found the ring full, summed per region until it has room.
//!
//! The sums live in the thread's slot, so that they survive the process.

use super::frames::{head_of, words};
use super::thread::ThreadRecorder;
use crate::dsm::DsmCount;
use crate::layout::{frame, slot};
use crate::state::State;
use fathomp_ring::Word;
use fathomp_types::Ticks;
use std::sync::atomic::AtomicU64;

type Frame = [AtomicU64; frame::WORDS];

fn carry(slot: &[AtomicU64; slot::WORDS], index: usize) -> &Frame {
    words(slot, slot::CARRIES + index * frame::WORDS)
}

/// Carries in use.
fn count(slot: &[AtomicU64; slot::WORDS]) -> usize {
    (slot[slot::CARRIED].get() as usize).min(slot::CARRY_COUNT)
}

/// Adds an execution to the sum of its region. False if there are already sums
/// of as many other regions as can be carried.
#[cold]
pub(super) fn add(thread: &ThreadRecorder, from: &Frame, end: Ticks) -> bool {
    let slot = thread.slot();
    let busy = end.0.saturating_sub(from[frame::BEGIN].get());
    let same = |to: &&Frame| {
        let equal = |word: usize| to[word].get() == from[word].get();
        equal(frame::SITE) && equal(frame::TEAM) && equal(frame::SET)
    };
    let used = count(slot);
    if let Some(to) = (0..used).map(|index| carry(slot, index)).find(same) {
        to[frame::MERGED].add(1);
        to[frame::BUSY].add(busy);
        to[frame::END].set(end.0);
        for word in [
            frame::LOOPS,
            frame::CHUNKS,
            frame::ITERATIONS,
            frame::TASKS_CREATED,
            frame::TASKS_RUN,
            frame::TASKS_UNDEFERRED,
            frame::TASKS_DEPENDENT,
            frame::SINGLE_WAIT,
            frame::MUTEXES,
        ] {
            to[word].add(from[word].get());
        }
        // Which task was the longest is known of single executions.
        to[frame::LONGEST_TASK].set(0);
        let (have, new) = (to[frame::MASK].get(), from[frame::MASK].get());
        for state in (0..State::RECORDED).filter(|state| new & 1 << state != 0) {
            for word in [frame::TICKS + state, frame::WAITS + state] {
                let before = if have & 1 << state != 0 {
                    to[word].get()
                } else {
                    0
                };
                to[word].set(before.wrapping_add(from[word].get()));
            }
        }
        to[frame::MASK].set(have | new);
        let (have, new) = (to[frame::DSM_MASK].get(), from[frame::DSM_MASK].get());
        for count in (0..DsmCount::COUNT).filter(|count| new >> count & 1 != 0) {
            let word = frame::DSM + count;
            let before = if have >> count & 1 != 0 {
                to[word].get()
            } else {
                0
            };
            to[word].set(before.wrapping_add(from[word].get()));
        }
        to[frame::DSM_MASK].set(have | new);
        return true;
    }
    if used == slot::CARRY_COUNT {
        return false;
    }
    let to = carry(slot, used);
    for (to, from) in to.iter().zip(from) {
        to.set(from.get());
    }
    to[frame::MERGED].set(1);
    to[frame::BUSY].set(busy);
    to[frame::END].set(end.0);
    slot[slot::CARRIED].set(used as u64 + 1);
    true
}

/// Writes as many sums as fit, the last first.
#[cold]
pub(super) fn flush(thread: &ThreadRecorder) {
    let slot = thread.slot();
    while let Some(last) = count(slot).checked_sub(1) {
        let frame = carry(slot, last);
        let merged = u32::try_from(frame[frame::MERGED].get()).unwrap_or(u32::MAX);
        let merged = (merged > 1).then(|| (merged, frame[frame::BUSY].get()));
        let head = head_of(frame, Ticks(frame[frame::END].get()), merged);
        if !thread.fits(head.words()) {
            return;
        }
        thread.put_instance(&head, frame);
        slot[slot::CARRIED].set(last as u64);
    }
}

/// Executions in all sums carried.
pub(super) fn executions(thread: &ThreadRecorder) -> u64 {
    let slot = thread.slot();
    (0..count(slot))
        .map(|index| carry(slot, index)[frame::MERGED].get())
        .sum()
}
