//! Worksharing loops and sections.

use super::cursor::Place;
use super::ordered;
use super::slot::Extra;
use super::wanted::Loop;
use crate::barrier;
use crate::cluster::of_construct;
use crate::observer::{self, Wait};
use crate::team::Member;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

/// The member meets a loop.
#[inline]
pub fn start(member: &'static Member, wanted: &Loop) {
    let cursor = &member.share;
    let size = member.team().size();
    let place = if size > 1 {
        let place = cursor.advance(member);
        cursor.slot.store(Some(place.slot), Ordering::Relaxed);
        Some(place)
    } else {
        None
    };
    prepare(member, wanted, size, place);
}

/// The member meets a loop whose members share more than iterations; `set_up`
/// runs before any other member's.
pub fn start_with<R>(
    member: &'static Member,
    wanted: &Loop,
    set_up: impl FnOnce(&mut SharedParts<'_>) -> R,
) -> R {
    let cursor = &member.share;
    let place = cursor.advance(member);
    cursor.slot.store(Some(place.slot), Ordering::Relaxed);
    prepare(member, wanted, member.team().size(), Some(place));
    set_up(&mut SharedParts {
        member,
        construct: place.construct,
        extra: place.slot.extra(place.construct),
    })
}

#[inline]
pub(super) fn prepare(member: &'static Member, wanted: &Loop, size: u32, place: Option<Place>) {
    let cursor = &member.share;
    cursor.in_loop.set(cursor.construct());
    ordered::prepare(member, cursor, wanted.ordered && size > 1);
    cursor.set_up(member, size, &wanted.iterations, wanted.dealing, place);
    observer::loop_begins(member, wanted);
}

/// Loop bounds of the member's next chunk; none if it has no more work.
#[inline]
pub fn next(member: &'static Member) -> Option<(u64, u64)> {
    observer::hands_out(member)
}

/// The same in a loop with an `ordered` clause.
#[inline]
pub fn next_ordered(member: &'static Member) -> Option<(u64, u64)> {
    ordered::finish_chunk(member);
    let chunk = next(member);
    ordered::begin_chunk(member, chunk.is_some());
    chunk
}

/// A chunk as code that wants both ends of it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The loop variable's value in the first iteration.
    pub first: u64,
    /// Its value in the last one.
    pub last: u64,
    /// What lies between two iterations.
    pub step: u64,
    /// Whether the loop's last iteration is in it.
    pub is_last: bool,
}

/// The member's next chunk of a loop [up to](super::Iterations::up_to) some value, with an
/// `ordered` clause or without. Without another one it is through with the loop.
#[inline]
pub fn next_or_end(member: &'static Member) -> Option<Chunk> {
    let Some((first, end)) = next_ordered(member) else {
        end_nowait(member);
        return None;
    };
    let iterations = member.share.iterations();
    let step = iterations.step();
    Some(Chunk {
        first,
        last: end.wrapping_sub(step),
        step,
        is_last: end == iterations.end(),
    })
}

/// Number of the member's next section, from 1; 0 if there is none.
#[inline]
pub fn next_section(member: &'static Member) -> u32 {
    // Sections are numbered by a `u32`, so the bound fits.
    next(member).map_or(0, |(from, _)| from as u32 + 1)
}

/// The member is through with the loop; others may not be.
#[inline]
pub fn end_nowait(member: &'static Member) {
    let cursor = &member.share;
    ordered::finish_chunk(member);
    cursor.stop();
    observer::loop_ends(member);
}

/// The end of a loop with its implicit barrier.
#[inline]
pub fn end(member: &'static Member) {
    end_nowait(member);
    barrier::barrier(member, Wait::ImplicitBarrier);
}

/// The same where the region may have been cancelled; `true` if it has.
pub fn end_cancel(member: &'static Member) -> bool {
    end_nowait(member);
    barrier::cancellable(member, Wait::ImplicitBarrier)
}

/// As aligned as any compiled code expects, in bytes.
const MEMORY_ALIGN: usize = 64;

/// What the members of a loop share besides its iterations.
pub struct SharedParts<'a> {
    member: &'static Member,
    construct: u32,
    pub(super) extra: MutexGuard<'a, Extra>,
}

impl SharedParts<'_> {
    /// Address of `bytes` bytes of memory all members share, zero at first,
    /// until the loop's end.
    pub fn memory(&mut self, bytes: usize) -> usize {
        let Some(nodes) = self.member.team().nodes() else {
            return self.extra.memory(bytes);
        };
        *self.extra.lent.get_or_insert_with(|| {
            let cell = |of| of_construct(self.member, self.construct, of);
            nodes.lend_to_all(&[(bytes, MEMORY_ALIGN)], cell)[0]
        })
    }
}
