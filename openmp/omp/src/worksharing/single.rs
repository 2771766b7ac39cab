//! `single`, with and without `copyprivate`.

use super::cursor::Place;
use crate::barrier;
use crate::cluster::{Of, of_construct};
use crate::observer::{self, Wait};
use crate::team::Member;
use fathomp_sys::clock::now;
use std::hint;
use std::sync::atomic::Ordering;

/// How often a member that gives way to another looks whether that has come: for about a
/// microsecond.
const LOOKS: u32 = 64;
/// Ticks from the begin of copying to the next construct from which on there is so much to copy
/// that where it lies matters more than which member is first: about a microsecond.
const WORTH_A_WAIT: u64 = 2000;

/// Whether the calling member is the one that runs the block.
#[inline]
pub fn start(member: &'static Member) -> bool {
    match observer::is_there() {
        true => start_watched(member),
        false => is_first(member),
    }
}

#[cold]
fn start_watched(member: &'static Member) -> bool {
    let runs = is_first(member);
    observer::single(member, runs);
    runs
}

#[inline]
fn is_first(member: &'static Member) -> bool {
    if member.team().size() == 1 {
        return true;
    }
    let place = member.share.advance(member);
    let first = is_first_here(member, place);
    if let (true, Some(nodes)) = (first, member.team().nodes()) {
        let first = is_first_node(member, place.construct);
        // There may be no barrier at its end.
        nodes.claimed(of_construct(member, place.construct, Of::Done), first);
        return first;
    }
    first
}

/// Whether no other member on this node has been first.
#[inline]
fn is_first_here(member: &'static Member, place: Place) -> bool {
    if member.share.copying_since.get() != 0 {
        give_way(member, place);
    }
    place.slot.claim.win(place.tag())
}

/// Lets another member be first if it comes soon. A member that has copied what a `copyprivate`
/// clause broadcasts comes last to the barrier after it, and so leaves it first. If it ran the next
/// block, all that is copied would go back and forth between the caches of two processors.
#[cold]
fn give_way(member: &'static Member, place: Place) {
    let since = member.share.copying_since.get();
    member.share.copying_since.set(0);
    if now().0.wrapping_sub(since) < WORTH_A_WAIT {
        return;
    }
    for _ in 0..LOOKS {
        if place.slot.claim.is_begun(place.tag()) {
            return;
        }
        hint::spin_loop();
    }
}

/// Notes that this member begins to copy what another one broadcasts. Members of other nodes are
/// not worth waiting for: their messages take longer.
fn copies(member: &'static Member) {
    if member.team().nodes().is_none() {
        member.share.copying_since.set(now().0);
    }
}

/// Whether no member on another node has been first.
#[inline]
fn is_first_node(member: &'static Member, construct: u32) -> bool {
    member.team().nodes().is_none_or(|nodes| {
        let cell = of_construct(member, construct, Of::Claim);
        nodes.cluster.add(cell, 1) == 0
    })
}

/// The same with a `copyprivate` clause: the member that runs the block gets
/// `None` and then calls [`finish_copy`]; the others wait and get the address
/// of its data.
pub fn start_copy(member: &'static Member) -> Option<usize> {
    if member.team().size() == 1 {
        observer::single(member, true);
        return None;
    }
    let place = member.share.advance(member);
    let first_here = is_first_here(member, place);
    if first_here && is_first_node(member, place.construct) {
        member.share.copy.store(Some(place.slot), Ordering::Relaxed);
        observer::single(member, true);
        return None;
    }
    observer::single(member, false);
    if let (true, Some(nodes)) = (first_here, member.team().nodes()) {
        let cell = of_construct(member, place.construct, Of::Copy);
        let data = nodes.cluster.wait(cell, 1) as usize;
        place.slot.copy.store(data, Ordering::Relaxed);
    }
    barrier::barrier(member, Wait::ImplicitBarrier);
    copies(member);
    // Written before its writer came to the barrier. The slot is not reused
    // before the next barrier (see `super::slot`).
    Some(place.slot.copy.load(Ordering::Relaxed))
}

/// The member that ran the block broadcasts the address of its data.
pub fn finish_copy(member: &'static Member, data: usize) {
    observer::end_single(member);
    if member.team().size() == 1 {
        return;
    }
    if let Some(slot) = member.share.copy.load(Ordering::Relaxed) {
        slot.copy.store(data, Ordering::Relaxed);
    }
    if let Some(nodes) = member.team().nodes() {
        let cell = of_construct(member, member.share.construct(), Of::Copy);
        nodes.cluster.put(cell, data as u64);
    }
    barrier::barrier(member, Wait::ImplicitBarrier);
}

/// One member has run the block of a `single` and broadcasts the address of its data, which it
/// passes; all others pass `None`. Returns that address when everybody has come. Nobody may go
/// on from here for good before all have read the data.
pub fn broadcast(member: &'static Member, data: Option<usize>) -> usize {
    if member.team().size() == 1 {
        return data.unwrap_or(0);
    }
    let place = member.share.advance(member);
    let nodes = member.team().nodes();
    if let Some(data) = data {
        place.slot.copy.store(data, Ordering::Relaxed);
        if let Some(nodes) = nodes {
            let cell = of_construct(member, place.construct, Of::Copy);
            nodes.cluster.put(cell, data as u64);
        }
    } else if let Some(nodes) = nodes
        && place.slot.claim.win(place.tag())
    {
        let cell = of_construct(member, place.construct, Of::Copy);
        let data = nodes.cluster.wait(cell, 1) as usize;
        place.slot.copy.store(data, Ordering::Relaxed);
    }
    barrier::barrier(member, Wait::ImplicitBarrier);
    if data.is_none() {
        copies(member);
    }
    // As in `start_copy`.
    place.slot.copy.load(Ordering::Relaxed)
}
