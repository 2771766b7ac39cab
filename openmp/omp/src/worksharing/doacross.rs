//! Doacross loops: `ordered(n)` with `depend(source)` and `depend(sink: ...)`.
//!
//! An iteration vector is flattened to its number in the whole iteration
//! space, in lexicographic order. Iterations with the same outermost index are
//! run by one thread in that order, so how far they have come is one number:
//! that of the last posted iteration, plus 1. Where a thread runs all chunks
//! of the outermost loop in order that are dealt to it in advance (static
//! schedules), one number per thread is enough; otherwise there is one per
//! chunk, or per outermost iteration where chunks vary.

use super::ordered::{wait_for_node, wait_for_turn};
use super::progress::Doacross;
pub use super::progress::Nested;
use super::wanted::Dealing;
use crate::cluster::{Cell, Of, of_construct};
use crate::observer::{self, Wait};
use crate::team::Member;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Doacross {
    fn post(&self, member: &'static Member, index: impl FnMut(usize) -> u64) {
        let (number, entry) = self.locate(index);
        if let Some(progress) = self.progress(entry) {
            let next = number.wrapping_add(1);
            progress.store(next, Ordering::SeqCst);
            self.bell(entry).ring();
            if let Some(nodes) = member.team().nodes() {
                let cell = cell(member, entry);
                match self.layout.poster(entry) {
                    Some(_) => nodes.cluster.post(cell, next),
                    None => nodes.cluster.put(cell, next),
                }
            }
        }
    }

    fn wait(&self, member: &'static Member, index: impl FnMut(usize) -> u64) {
        let (number, entry) = self.locate(index);
        let Some(progress) = self.progress(entry) else {
            return;
        };
        let ready = || progress.load(Ordering::SeqCst) > number;
        if ready() {
            return;
        }
        let bell = self.bell(entry);
        observer::waits(member, Wait::Ordered, 0, || match member.team().nodes() {
            Some(nodes) if !self.layout.is_here(entry, member) => {
                let (cell, turn) = (cell(member, entry), number.wrapping_add(1));
                let next = wait_for_node(member, || match self.layout.poster(entry) {
                    Some(poster) => {
                        nodes.wait_for_member((poster, member.team().size()), cell, turn)
                    }
                    None => nodes.wait_for_turn(cell, turn),
                });
                progress.fetch_max(next, Ordering::SeqCst);
            }
            _ => wait_for_turn(member.team(), bell, ready),
        });
    }
}

/// Where the progress of an entry is told to other nodes.
fn cell(member: &'static Member, entry: u64) -> Cell {
    let construct = member.share.in_doacross.get();
    of_construct(member, construct, Of::Progress(entry))
}

/// The loop being started has these trip counts, outermost first.
pub fn set_up(
    member: &'static Member,
    shared: &mut super::SharedParts<'_>,
    counts: &[u64],
    dealing: Dealing,
) {
    let size = member.team().size();
    let doacross = (size > 1).then(|| {
        let make = || Arc::new(Doacross::new(counts, dealing, size));
        Arc::clone(shared.extra.doacross.get_or_insert_with(make))
    });
    member.share.in_doacross.set(member.share.in_loop.get());
    member.share.nest.set(None);
    member.share.doacross.set(doacross);
}

/// A doacross loop over these nested loops follows, outermost first, which is begun as any
/// other loop: how its iterations are dealt is not known yet.
pub fn open(member: &'static Member, nest: Box<[Nested]>) {
    let cursor = &member.share;
    let size = member.team().size();
    let doacross = (size > 1).then(|| {
        let place = cursor.advance(member);
        cursor.in_doacross.set(place.construct);
        let counts: Vec<_> = nest.iter().map(|nested| nested.count).collect();
        let dealing = Dealing::Dynamic {
            chunk: 1,
            monotonic: true,
        };
        let make = || Arc::new(Doacross::new(&counts, dealing, size));
        let mut extra = place.slot.extra(place.construct);
        Arc::clone(extra.doacross.get_or_insert_with(make))
    });
    cursor.doacross.set(doacross);
    cursor.nest.set(Some(nest));
}

/// The loop that was [opened](open) last has ended.
pub fn close(member: &'static Member) {
    member.share.doacross.set(None);
    member.share.nest.set(None);
}

/// Whether a loop has been [opened](open) and not closed.
pub fn is_open(member: &'static Member) -> bool {
    member.share.nest.with(|nest| nest.is_some())
}

/// Loops that a nest may have: more are not compiled.
const DEPTH_MAX: usize = 64;

/// Calls `use_it` with the numbers of the iterations that have these values; not if there is no
/// such iteration.
fn with_numbers(member: &Member, value: impl Fn(usize) -> i64, use_it: impl FnOnce(&[u64])) {
    let mut numbers = [0; DEPTH_MAX];
    let depth = member.share.nest.with(|nest| {
        let nest = nest.as_deref()?;
        for (depth, (number, nested)) in numbers.iter_mut().zip(nest).enumerate() {
            *number = nested.number(value(depth))?;
        }
        Some(nest.len())
    });
    if let Some(numbers) = depth.and_then(|depth| numbers.get(..depth)) {
        use_it(numbers);
    }
}

/// The iteration with these values, outermost first, is done.
pub fn post_values(member: &'static Member, value: impl Fn(usize) -> i64) {
    with_numbers(member, &value, |numbers| {
        let told = |depth| value(depth) as u64;
        post_told(member, |depth| numbers[depth], told);
    });
}

/// Waits until the iteration with these values is done, if there is one.
pub fn wait_for_values(member: &'static Member, value: impl Fn(usize) -> i64) {
    with_numbers(member, &value, |numbers| {
        let told = |depth| value(depth) as u64;
        wait_told(member, |depth| numbers[depth], told);
    });
}

/// `depend(source)`: the iteration with this vector, outermost first, is done.
pub fn post(member: &'static Member, index: impl Fn(usize) -> u64) {
    post_told(member, &index, &index);
}

/// `depend(sink: ...)`: waits until the iteration with this vector is done.
pub fn wait(member: &'static Member, index: impl Fn(usize) -> u64) {
    wait_told(member, &index, &index);
}

/// As [`post`]; `told` is the vector that a tool gets.
fn post_told(member: &'static Member, index: impl Fn(usize) -> u64, told: impl Fn(usize) -> u64) {
    member.share.doacross.with(|doacross| {
        if let Some(doacross) = doacross {
            observer::doacross_posts(member, doacross.depth(), told);
            doacross.post(member, &index);
        }
    });
}

/// As [`wait`]; `told` is the vector that a tool gets.
fn wait_told(member: &'static Member, index: impl Fn(usize) -> u64, told: impl Fn(usize) -> u64) {
    member.share.doacross.with(|doacross| {
        if let Some(doacross) = doacross {
            doacross.wait(member, &index);
            observer::doacross_waited(member, doacross.depth(), told);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_posted_is_ready() {
        let doacross = Doacross::new(
            &[4, 3],
            Dealing::Dynamic {
                chunk: 2,
                monotonic: true,
            },
            2,
        );
        let ready = |outer: u64, inner: u64| {
            let (number, entry) = doacross.locate(|i| [outer, inner][i]);
            doacross.progress(entry).unwrap().load(Ordering::SeqCst) > number
        };
        doacross.post(crate::current(), |i| [2, 1][i]);
        assert!(ready(2, 0) && ready(2, 1));
        assert!(!ready(2, 2) && !ready(3, 0) && !ready(1, 2));
    }
}
