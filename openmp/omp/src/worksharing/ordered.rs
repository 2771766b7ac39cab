//! The `ordered` clause without a parameter.
//!
//! Chunks take turns in the order of their iterations. The turn is the
//! position of the chunk that may run its ordered regions; a member keeps it
//! until it asks for its next chunk and then passes it on to the position
//! after. A chunk that ran no ordered region waits for its turn then, so that
//! the turn passes through all chunks. An iteration has one ordered region at
//! most, so a chunk of one iteration passes the turn on when that region ends.

use super::claim::Tag;
use super::cursor::Cursor;
use crate::cluster::{Of, of_construct};
use crate::event_count::{EventCount, SpinPolicy};
use crate::observer::{self, Wait};
use crate::runtime::runtime;
use crate::team::{Member, Team};
use fathomp_sys::process::yield_now;
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
pub(super) fn prepare(member: &Member, cursor: &Cursor, ordered: bool) {
    if !ordered {
        return cursor.turn.set(state::NOT_ORDERED);
    }
    cursor.turn.set(state::NO_CHUNK);
    // As it is where chunks are dealt in advance: neighbours have neighbouring
    // chunks. Dealing on request knows better.
    let team = member.team();
    let spread = team.nodes().is_some();
    let first = spread && member.index() == 0;
    let last = spread && member.index() + 1 == team.local_size();
    cursor.after_other.set(first.into());
    cursor.before_other.set(last.into());
}

/// Whether the loop met last is an ordered one.
pub(super) fn is_ordered(cursor: &Cursor) -> bool {
    cursor.turn.get() != state::NOT_ORDERED
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

/// `ordered` ends. Other nodes are told with the chunk's end, by when all that they may want is
/// written.
#[inline]
pub fn leave(member: &'static Member) {
    let cursor = &member.share;
    if cursor.turn.get() == state::NOW
        && cursor.chunk.get() == 1
        && cursor.at.get() == cursor.until.get()
        && member.team().nodes().is_none()
    {
        pass_on(member);
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
    pass_on(member);
}

/// The turn, which is the current chunk's, goes to the next one.
#[inline]
fn pass_on(member: &'static Member) {
    let cursor = &member.share;
    let after = cursor.position_after.get();
    if cursor.before_other.get() != 0 {
        pass_to_other(member, after);
    } else if let Some(slot) = cursor.slot.load(Ordering::Relaxed) {
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
    if cursor.after_other.get() != 0 {
        return wait_for_other(member, position);
    }
    let mine = slot.order.at(position);
    if mine.turn.is_at(tag, position) {
        return;
    }
    observer::waits(member, Wait::Ordered, 0, || {
        wait_for_turn(member.team(), &mine.bell, || mine.turn.is_at(tag, position));
    });
}

/// The chunk at this position may be another node's.
#[cold]
fn pass_to_other(member: &'static Member, position: u64) {
    if let Some(nodes) = member.team().nodes() {
        let cell = of_construct(member, member.share.in_loop.get(), Of::Turn);
        nodes.cluster.put(cell, position);
    }
}

/// The chunk before this position may be another node's.
#[cold]
fn wait_for_other(member: &'static Member, position: u64) {
    if let Some(nodes) = member.team().nodes().filter(|_| position != 0) {
        let cell = of_construct(member, member.share.in_loop.get(), Of::Turn);
        observer::waits(member, Wait::Ordered, 0, || {
            wait_for_node(member, || nodes.wait_for_turn(cell, position));
        });
    }
}

/// Waits for a turn that another node passes on, or the region's cancellation, of which this
/// node may not have heard yet otherwise. The other members here have to know at once: who
/// goes on without having had its turn does not wait for them any more, and passes turns on
/// that they have not seen.
pub(super) fn wait_for_node(member: &'static Member, wait: impl FnOnce() -> u64) -> u64 {
    let reached = wait();
    if reached == u64::MAX {
        member.team().cancel();
    }
    reached
}

/// Polls before the processor is offered to others, and from one offer to the
/// next, where there is a processor for each thread: a few microseconds, since an
/// offer that nobody needs takes longer than a hand-off, and one that another
/// program takes costs its whole time slice.
const POLLS: u32 = 256;
const BETWEEN: u32 = 16;
/// Polls before sleeping.
const SPIN_POLICY: SpinPolicy = SpinPolicy::polling(2000);

/// Waits for a turn, which `bell` announces, or the region's cancellation.
///
/// Turns follow each other at a distance that is short against the time a
/// sleeper needs to come back: if each turn found its member asleep, the loop
/// would take only such times, and it would stay so. Hence the same patience
/// under all wait policies; but the thread whose turn it is may need this very
/// processor, so it is offered long before the thread sleeps.
pub(super) fn wait_for_turn(team: &Team, bell: &EventCount, ready: impl Fn() -> bool) {
    let (polls, between) = if team.local_size() <= runtime().processors {
        (POLLS, BETWEEN)
    } else {
        (0, 1)
    };
    let mut poll = 0;
    bell.wait(SPIN_POLICY, || {
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
