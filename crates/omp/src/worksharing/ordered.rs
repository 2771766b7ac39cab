//! The `ordered` clause without a parameter.
//!
//! Chunks take turns in the order of their iterations. The turn is the
//! position of the chunk that may run its ordered regions; a member keeps it
//! until it asks for its next chunk and then passes it on to the position
//! after. A chunk that ran no ordered region waits for its turn then, so that
//! the turn passes through all chunks.

use super::claim::Tag;
use super::cursor::Cursor;
use crate::barrier::wait_recorded;
use crate::bell::{Bell, Patience};
use crate::runtime::runtime;
use crate::team::{Member, Team};
use fathomp_sys::process::yield_now;
use fathomp_trace::state::State;
use std::sync::atomic::Ordering;

/// State of the current chunk; numbers so that they fit an
/// [`Own`](crate::own::Own).
mod state {
    /// Not an ordered loop, or one member only.
    pub(super) const NOT_ORDERED: u32 = 0;
    /// No chunk yet, or no more.
    pub(super) const NO_CHUNK: u32 = 1;
    /// The chunk's turn has not been waited for.
    pub(super) const BEFORE: u32 = 2;
    /// It is the chunk's turn.
    pub(super) const NOW: u32 = 3;
}

/// The member meets a loop.
#[inline]
pub(super) fn prepare(cursor: &Cursor, ordered: bool) {
    cursor.turn.set(if ordered {
        state::NO_CHUNK
    } else {
        state::NOT_ORDERED
    });
}

#[inline]
pub(super) fn begin_chunk(member: &'static Member, any: bool) {
    let cursor = &member.share;
    if any && cursor.turn.get() == state::NO_CHUNK {
        cursor.turn.set(state::BEFORE);
    }
}

/// `ordered` begins: waits for the chunk's turn. Outside an ordered loop there
/// is nothing to wait for.
#[inline]
pub fn enter(member: &'static Member) {
    if member.share.turn.get() == state::BEFORE {
        wait(member);
        member.share.turn.set(state::NOW);
    }
}

/// The member has run its chunk: the turn goes to the next one. Several claims
/// made as one (see [`super::deal`]) count as one chunk.
#[inline]
pub(super) fn finish_chunk(member: &'static Member) {
    let cursor = &member.share;
    let turn = cursor.turn.get();
    if turn < state::BEFORE || cursor.at.get() != cursor.until.get() {
        return;
    }
    if turn == state::BEFORE {
        wait(member);
    }
    if let Some(slot) = cursor.slot.load(Ordering::Relaxed) {
        let after = cursor.position_after.get();
        let next = slot.order.at(after);
        next.turn.pass_to(Tag::of(cursor.in_loop.get()), after);
        next.bell.ring();
    }
    cursor.turn.set(state::NO_CHUNK);
}

#[inline]
fn wait(member: &'static Member) {
    let cursor = &member.share;
    let Some(slot) = cursor.slot.load(Ordering::Relaxed) else {
        return;
    };
    let tag = Tag::of(cursor.in_loop.get());
    let position = cursor.position.get();
    let mine = slot.order.at(position);
    if mine.turn.is_at(tag, position) {
        return;
    }
    wait_recorded(member, State::Ordered, || {
        wait_for_turn(member.team(), &mine.bell, || mine.turn.is_at(tag, position));
    });
}

/// Polls before the processor is offered to others, and from one offer to the
/// next, where there is a processor for each thread.
const POLLS: u32 = 64;
const BETWEEN: u32 = 4;
/// Polls before sleeping.
const PATIENCE: Patience = Patience::polling(2000);

/// Waits for a turn, which `bell` announces, or the region's cancellation.
///
/// Turns follow each other at a distance that is short against the time a
/// sleeper needs to come back: if each turn found its member asleep, the loop
/// would take only such times, and it would stay so. Hence the same patience
/// under all wait policies; but the thread whose turn it is may need this very
/// processor, so it is offered early and often.
pub(super) fn wait_for_turn(team: &Team, bell: &Bell, ready: impl Fn() -> bool) {
    let (polls, between) = if team.size() <= runtime().processors {
        (POLLS, BETWEEN)
    } else {
        (0, 1)
    };
    let mut poll = 0;
    bell.wait(PATIENCE, || {
        if ready() || team.cancelled.load(Ordering::SeqCst) {
            return true;
        }
        poll += 1;
        if poll >= polls && poll % between == 0 {
            yield_now();
        }
        false
    });
}
