//! Dealing a loop's iterations to the members.
//!
//! A member claims iterations (how depends on the schedule) and hands them out
//! to the program a chunk at a time; most calls only do the latter.
//!
//! * Static schedules need no claim: a member computes its own iterations.
//! * Dynamic schedules add to the slot's claim word as many units as their
//!   [`Pace`](super::pace::Pace) says; one in ordered loops, whose other members would wait for
//!   their turn meanwhile. A member gets its units in increasing order. Compiled code relies on
//!   that where it recognises the thread that ran the last iteration (`lastprivate`) by the last
//!   value of its loop variable.
//! * Guided schedules take a share of what is left from the claim word.
//! * Trapezoidal schedules take the number of a chunk from it, which tells the iterations.
//!
//! * Where members are on several nodes, all requests go to the node's
//!   [`Batch`](super::batch::Batch), which comes from the node's own part of the
//!   loop if the schedule is nonmonotonic.
//!
//! Claims count *units*. A unit is one chunk, or a power of two of them where
//! the loop has more chunks than a word can count.

use super::batch::{Batch, Cut, Sharers};
use super::claim;
use super::cursor::{Cursor, Place};
use super::iterations::{Iterations, share};
use super::ordered;
use super::shares::{self, Trapezoid};
use super::wanted::Dealing;
use crate::cluster::{Dealt, Nodes, Of, PartedLoop, of_construct};
use crate::team::Member;
use fathomp_sys::clock::now;
use std::sync::atomic::Ordering;

/// How a member makes its next claim; a number so that it fits an
/// [`Own`](crate::own::Own).
pub(super) mod kind {
    /// No claim: what is left to hand out is all.
    pub(in super::super) const NONE: u32 = 0;
    /// Every `size`-th chunk.
    pub(super) const CHUNKS: u32 = 1;
    /// The next unit of the claim word.
    pub(super) const SHARED: u32 = 2;
    /// The next units of the claim word, as many as their pace says.
    pub(super) const PACED: u32 = 3;
    /// A share of what is left in the claim word.
    pub(super) const GUIDED: u32 = 4;
    /// The next unit of the node's batch.
    pub(in super::super) const BATCH: u32 = 5;
    /// A share of the node's batch.
    pub(in super::super) const GUIDED_BATCH: u32 = 6;
    /// The next unit of the node's batch, which comes from its own part of the loop.
    pub(in super::super) const PARTED_BATCH: u32 = 7;
    /// The next number of the claim word, which is that of a trapezoidal chunk.
    pub(super) const TRAPEZOIDAL: u32 = 8;
}

impl Cursor {
    /// Prepares for handing out this member's iterations of a loop.
    #[inline]
    pub(super) fn set_up(
        &self,
        member: &Member,
        size: u32,
        iterations: &Iterations,
        dealing: Dealing,
        place: Option<Place>,
    ) {
        self.set_iterations(iterations);
        let count = iterations.count();
        self.at.set(0);
        self.until.set(0);
        self.deal.set(kind::NONE);
        if count == 0 {
            return;
        }
        let Some(place) = place.filter(|_| size > 1) else {
            self.until.set(count);
            self.chunk.set(match dealing {
                Dealing::Dynamic { .. } => dealing.chunk().max(1),
                Dealing::Static { chunk } if chunk > 0 => chunk,
                _ => count,
            });
            return;
        };
        let (who, size) = (u64::from(member.thread_num()), u64::from(size));
        match dealing {
            Dealing::Static { chunk: 0 } => {
                let (first, end) = share(count, who, size);
                self.at.set(first);
                self.until.set(end);
                self.chunk.set(count);
                self.position.set(who);
                self.position_after.set(who + 1);
            }
            Dealing::Static { chunk } => {
                self.chunk.set(chunk);
                self.unit.set(chunk.saturating_mul(size));
                self.total.set(chunk.saturating_mul(who));
                self.amount.set(size);
                self.position_after
                    .set(who.wrapping_sub(size).wrapping_add(1));
                self.deal.set(kind::CHUNKS);
            }
            Dealing::Dynamic { chunk, monotonic } => {
                let chunk = chunk.clamp(1, count);
                self.chunk.set(chunk);
                let (total, unit) = units(count, chunk, claim::UNITS_MAX);
                self.total.set(total);
                self.unit.set(unit);
                if member.team().nodes().is_some() {
                    // What every member has anyway is all, or is better handed out in order.
                    let parted = !monotonic && total > size && !ordered::is_ordered(self);
                    self.deal.set(match parted {
                        true => kind::PARTED_BATCH,
                        false => kind::BATCH,
                    });
                } else {
                    self.deal.set(match ordered::is_ordered(self) {
                        true => kind::SHARED,
                        false => kind::PACED,
                    });
                    self.pace.restart();
                    self.open_unit(place.slot.claim.add(place.tag(), 1));
                }
            }
            Dealing::Trapezoidal { chunk } if member.team().nodes().is_none() => {
                self.unit.set(1);
                self.amount.set(chunk);
                self.chunk.set(count);
                self.deal.set(kind::TRAPEZOIDAL);
            }
            Dealing::Guided { chunk }
            | Dealing::GuidedWhole { chunk }
            | Dealing::Trapezoidal { chunk } => {
                let least = match dealing {
                    Dealing::GuidedWhole { .. } => chunk.clamp(1, count),
                    _ => 1,
                };
                let (total, unit) = units(count, least, claim::UNITS_MAX);
                self.total.set(total);
                self.unit.set(unit);
                self.amount.set(chunk.max(1).div_ceil(unit));
                self.chunk.set(count);
                self.deal.set(match member.team().nodes() {
                    Some(_) => kind::GUIDED_BATCH,
                    None => kind::GUIDED,
                });
            }
        }
    }

    /// Loop bounds of the next chunk; none if there is no more work.
    #[inline]
    pub(crate) fn hand_out(&self, member: &'static Member) -> Option<(u64, u64)> {
        let (from, to) = self.next_chunk(member)?;
        Some(self.iterations().bounds(from, to))
    }

    /// Numbers of the iterations of the next chunk.
    #[inline]
    pub(crate) fn next_chunk(&self, member: &'static Member) -> Option<(u64, u64)> {
        let mut at = self.at.get();
        if at == self.until.get() {
            if !self.refill(member) {
                return None;
            }
            at = self.at.get();
        }
        let until = self.until.get();
        let chunk = self.chunk.get();
        let to = if until - at <= chunk {
            until
        } else {
            at + chunk
        };
        self.at.set(to);
        Some((at, to))
    }

    /// Claims more iterations, if there are any.
    #[inline]
    fn refill(&self, member: &'static Member) -> bool {
        let more = match self.deal.get() {
            kind::PACED => self.next_paced(member),
            kind::SHARED => self
                .slot()
                .is_some_and(|slot| self.open_unit(slot.claim.add_more(1))),
            kind::CHUNKS => self.next_static(),
            kind::GUIDED => self.next_guided(member),
            kind::TRAPEZOIDAL => self.next_trapezoidal(member),
            kind::BATCH | kind::GUIDED_BATCH | kind::PARTED_BATCH => self.next_of_batch(member),
            _ => false,
        };
        if !more {
            self.deal.set(kind::NONE);
        }
        more
    }

    #[inline]
    fn slot(&self) -> Option<&'static super::slot::Slot> {
        self.slot.load(Ordering::Relaxed)
    }

    /// Makes the iterations of a unit the ones to hand out; `false` if the
    /// loop has no such unit.
    #[inline]
    fn open_unit(&self, unit: u64) -> bool {
        if unit >= self.total.get() {
            return false;
        }
        self.open(unit, unit + 1);
        true
    }

    #[inline]
    fn open(&self, from: u64, to: u64) {
        let unit = self.unit.get();
        let count = self.count();
        let at = from * unit;
        let length = (count - at).min((to - from).saturating_mul(unit));
        self.at.set(at);
        self.until.set(at + length);
        self.position.set(from);
        self.position_after.set(to);
    }

    fn next_paced(&self, member: &Member) -> bool {
        let Some(slot) = self.slot() else {
            return false;
        };
        let total = self.total.get();
        // Others may have claimed more since, so that less is left.
        let left = total.saturating_sub(self.position_after.get());
        let members = u64::from(member.team().size());
        let amount = self.pace.amount(left, members, now);
        let first = slot.claim.add_more(amount);
        self.pace.claimed(now);
        if first >= total {
            return false;
        }
        self.open(first, total.min(first + amount));
        true
    }

    fn next_static(&self) -> bool {
        let (count, chunk, next) = (self.count(), self.chunk.get(), self.total.get());
        if next >= count {
            return false;
        }
        self.at.set(next);
        self.until.set(next + chunk.min(count - next));
        // Past the end if the sum is too large for the type.
        self.total.set(next.saturating_add(self.unit.get()));
        let after = self.position_after.get().wrapping_add(self.amount.get());
        self.position.set(after.wrapping_sub(1));
        self.position_after.set(after);
        true
    }

    fn next_guided(&self, member: &Member) -> bool {
        let Some(slot) = self.slot() else {
            return false;
        };
        let size = u64::from(member.team().size());
        let (total, least) = (self.total.get(), self.amount.get());
        let amount = |claimed| shares::size(total.saturating_sub(claimed), size, least);
        let tag = claim::Tag::of(self.in_loop.get());
        match slot.claim.take(tag, amount) {
            Some((from, to)) => {
                self.open(from, to);
                true
            }
            None => false,
        }
    }

    fn next_trapezoidal(&self, member: &Member) -> bool {
        let Some(slot) = self.slot() else {
            return false;
        };
        let size = u64::from(member.team().size());
        let chunks = Trapezoid::new(self.count(), size, self.amount.get());
        let tag = claim::Tag::of(self.in_loop.get());
        let Some((number, after)) = slot.claim.take(tag, |claimed| chunks.left(claimed).min(1))
        else {
            return false;
        };
        let Some(chunk) = chunks.chunk(number) else {
            return false;
        };
        self.at.set(chunk.start);
        self.until.set(chunk.end);
        self.position.set(number);
        self.position_after.set(after);
        true
    }

    #[cold]
    fn next_of_batch(&self, member: &'static Member) -> bool {
        let team = member.team();
        let (Some(slot), Some(nodes)) = (self.slot(), team.nodes()) else {
            return false;
        };
        let construct = self.in_loop.get();
        let mut extra = slot.extra(construct);
        let batch = extra.batch.get_or_insert_with(|| {
            let cut = match self.deal.get() {
                kind::GUIDED_BATCH => Cut::Guided(self.amount.get()),
                kind::PARTED_BATCH => Cut::Parted(self.parted(member, nodes), nodes.cluster.node()),
                _ if ordered::is_ordered(self) => Cut::Ordered,
                _ => Cut::Dynamic,
            };
            let sharers = Sharers {
                first: (member.thread_num() - member.index()).into(),
                here: team.local_size().into(),
                all: team.size().into(),
                nodes: nodes.cluster.nodes().into(),
            };
            Batch::new(cut, sharers, self.total.get())
        });
        let cell = of_construct(member, construct, Of::Claim);
        let cut = batch.cut();
        let draw = |amount| match cut {
            Cut::Parted(parted, _) => nodes.cluster.deal(cell, parted, amount),
            _ => Dealt {
                first: nodes.cluster.add(cell, amount),
                units: amount,
                more: true,
            },
        };
        let chunk = batch.take(draw, now);
        drop(extra);
        let Some(chunk) = chunk else { return false };
        self.open(chunk.from, chunk.to);
        self.after_other.set(chunk.after_other.into());
        self.before_other.set(chunk.before_other.into());
        true
    }

    /// The loop as nodes have parts of it.
    fn parted(&self, member: &Member, nodes: &Nodes) -> PartedLoop {
        let members = member.team().size();
        PartedLoop {
            units: self.total.get(),
            each: nodes.most_per_node(members),
            members,
        }
    }

    #[inline]
    fn count(&self) -> u64 {
        self.iterations().count()
    }
}

/// The loop met last has been cancelled: other nodes draw no more of it.
pub(super) fn give_up(member: &'static Member) {
    let cursor = &member.share;
    let Some(nodes) = member.team().nodes() else {
        return;
    };
    let cell = of_construct(member, cursor.in_loop.get(), Of::Claim);
    match cursor.deal.get() {
        kind::BATCH | kind::GUIDED_BATCH => {
            nodes.cluster.add(cell, claim::UNITS_MAX);
        }
        kind::PARTED_BATCH => {
            nodes.cluster.deal(cell, cursor.parted(member, nodes), 0);
        }
        _ => {}
    }
}

/// How many units of how many iterations make up `count` iterations in chunks
/// of `chunk`, if there may be at most `max` units.
#[inline]
fn units(count: u64, chunk: u64, max: u64) -> (u64, u64) {
    let chunks = if chunk == 1 {
        count
    } else {
        count.div_ceil(chunk)
    };
    if chunks <= max {
        return (chunks, chunk);
    }
    // `chunk << shift` is at most `2 * count / max`: no overflow.
    let shift = (chunks.div_ceil(max)).next_power_of_two().trailing_zeros();
    (chunks.div_ceil(1 << shift), chunk << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn units_cover_the_loop(count in 1u64.., chunk in 1u64.., max in prop_oneof![
            Just(1 << 24), Just(claim::UNITS_MAX)
        ]) {
            let chunk = chunk.min(count);
            let (total, unit) = units(count, chunk, max);
            prop_assert!(total <= max);
            prop_assert_eq!(unit % chunk, 0);
            prop_assert_eq!(total, count.div_ceil(unit));
        }

        #[test]
        fn small_chunks_of_long_loops_are_grouped(count in 1u64 << 40.., chunk in 1u64..1000) {
            let (total, unit) = units(count, chunk, 1 << 24);
            prop_assert!(total <= 1 << 24 && total > 1 << 22);
            prop_assert!((unit / chunk).is_power_of_two());
            prop_assert_eq!(total, count.div_ceil(unit));
        }
    }
}
