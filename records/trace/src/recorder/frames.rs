//! What a region has accumulated so far: the frames of a thread's slot.

use crate::dsm::DsmCount;
use crate::layout::{frame, slot};
use crate::record::PIECES_TIMED;
use crate::state::State;
use crate::wire::InstanceHead;
use fathomp_ring::Word;
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
    frame[frame::MASK].set(0);
    frame[frame::DSM_MASK].set(0);
    frame[frame::LOOPS].set(0);
    frame[frame::CHUNKS].set(0);
    frame[frame::ITERATIONS].set(0);
    frame[frame::TASKS_CREATED].set(0);
    frame[frame::TASKS_RUN].set(0);
    frame[frame::TASKS_UNDEFERRED].set(0);
    frame[frame::TASKS_DEPENDENT].set(0);
    frame[frame::SINGLE_WAIT].set(0);
    frame[frame::TASK_TICKS].set(0);
    frame[frame::LONGEST_TASK].set(0);
    frame[frame::MUTEXES].set(0);
}

/// Whether a serial frame holds nothing but waiting for work.
#[inline(always)]
pub(crate) fn is_quiet(frame: &[AtomicU64; frame::WORDS]) -> bool {
    let work = frame[frame::MASK].get() & !(1 << State::Idle as u64)
        | frame[frame::DSM_MASK].get()
        | frame[frame::LOOPS].get()
        | frame[frame::CHUNKS].get()
        | frame[frame::TASKS_CREATED].get()
        | frame[frame::TASKS_RUN].get()
        | frame[frame::MUTEXES].get();
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
        site_and_level: frame[frame::SITE].get(),
        instance: frame[frame::INSTANCE].get(),
        parent: frame[frame::PARENT].get(),
        team: frame[frame::TEAM].get(),
        fork: frame[frame::FORK].get(),
        begin: frame[frame::BEGIN].get(),
        end: end.0,
        loops: frame[frame::LOOPS].get(),
        chunks: frame[frame::CHUNKS].get(),
        iterations: frame[frame::ITERATIONS].get(),
        tasks_created: frame[frame::TASKS_CREATED].get(),
        tasks_run: frame[frame::TASKS_RUN].get(),
        tasks_undeferred: frame[frame::TASKS_UNDEFERRED].get(),
        tasks_dependent: frame[frame::TASKS_DEPENDENT].get(),
        longest_task: match frame[frame::TASKS_RUN].get() {
            0..=PIECES_TIMED => frame[frame::LONGEST_TASK].get(),
            _ => 0,
        },
        single_wait: frame[frame::SINGLE_WAIT].get(),
        mask: frame[frame::MASK].get() as u16 & STATES,
        merged,
        dsm: frame[frame::DSM_MASK].get() & COUNTS,
        mutexes: frame[frame::MUTEXES].get(),
        set: frame[frame::SET].get(),
    }
}
