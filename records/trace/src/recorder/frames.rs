//! What a region has accumulated so far: the frames of a thread's slot.

use super::cells::Own;
use crate::dsm::DsmCount;
use crate::layout::{frame, slot};
use crate::state::State;
use crate::wire::InstanceHead;
use fathomp_types::Ticks;
use std::sync::atomic::AtomicU64;

/// A frame of a slot.
#[inline(always)]
pub(super) fn words(slot: &[AtomicU64; slot::WORDS], at: usize) -> &[AtomicU64; frame::WORDS] {
    slot[at..]
        .first_chunk()
        .expect("the layout keeps frames inside their slot")
}

/// Empties the sums of a frame.
#[inline(always)]
pub(super) fn clear(frame: &[AtomicU64; frame::WORDS]) {
    frame[frame::MASK].write(0);
    frame[frame::DSM_MASK].write(0);
    frame[frame::LOOPS].write(0);
    frame[frame::CHUNKS].write(0);
    frame[frame::ITERATIONS].write(0);
    frame[frame::TASKS_CREATED].write(0);
    frame[frame::TASKS_RUN].write(0);
    frame[frame::TASKS_UNDEFERRED].write(0);
    frame[frame::MUTEXES].write(0);
}

/// Whether a serial frame holds nothing but waiting for work.
#[inline(always)]
pub(crate) fn is_quiet(frame: &[AtomicU64; frame::WORDS]) -> bool {
    let work = frame[frame::MASK].read() & !(1 << State::Idle as u64)
        | frame[frame::DSM_MASK].read()
        | frame[frame::LOOPS].read()
        | frame[frame::CHUNKS].read()
        | frame[frame::TASKS_CREATED].read()
        | frame[frame::TASKS_RUN].read()
        | frame[frame::MUTEXES].read();
    work == 0
}

/// The execution that a frame describes, as a record to be written.
#[inline(always)]
pub(crate) fn head_of(
    frame: &[AtomicU64; frame::WORDS],
    end: Ticks,
    merged: Option<(u32, u64)>,
) -> InstanceHead {
    /// Known states but the remainder.
    const STATES: u16 = ((1 << State::RECORDED) - 1) & !1;
    const COUNTS: u64 = (1 << DsmCount::COUNT) - 1;
    InstanceHead {
        site_and_level: frame[frame::SITE].read(),
        instance: frame[frame::INSTANCE].read(),
        parent: frame[frame::PARENT].read(),
        team: frame[frame::TEAM].read(),
        fork: frame[frame::FORK].read(),
        begin: frame[frame::BEGIN].read(),
        end: end.0,
        loops: frame[frame::LOOPS].read(),
        chunks: frame[frame::CHUNKS].read(),
        iterations: frame[frame::ITERATIONS].read(),
        tasks_created: frame[frame::TASKS_CREATED].read(),
        tasks_run: frame[frame::TASKS_RUN].read(),
        tasks_undeferred: frame[frame::TASKS_UNDEFERRED].read(),
        mask: frame[frame::MASK].read() as u16 & STATES,
        merged,
        dsm: frame[frame::DSM_MASK].read() & COUNTS,
        mutexes: frame[frame::MUTEXES].read(),
        set: frame[frame::SET].read(),
    }
}
