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
use super::wanted::Dealing;
use crate::barrier::wait_recorded;
use crate::cluster::{Cell, Of, of_construct};
use crate::team::Member;
use fathomp_trace::state::State;
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
                nodes.cluster.put(cell(member, entry), next);
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
        wait_recorded(member, State::Ordered, || match member.team().nodes() {
            Some(nodes) if !self.layout.is_here(entry, member) => {
                let next =
                    wait_for_node(member, nodes, cell(member, entry), number.wrapping_add(1));
                progress.fetch_max(next, Ordering::SeqCst);
            }
            _ => wait_for_turn(member.team(), bell, ready),
        });
    }
}

/// Where the progress of an entry is told to other nodes.
fn cell(member: &'static Member, entry: u64) -> Cell {
    let construct = member.share.in_loop.get();
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
    member.share.doacross.set(doacross);
}

/// `depend(source)`: the iteration with this vector, outermost first, is done.
pub fn post(member: &'static Member, index: impl Fn(usize) -> u64) {
    member.share.doacross.with(|doacross| {
        if let Some(doacross) = doacross {
            doacross.post(member, &index);
        }
    });
}

/// `depend(sink: ...)`: waits until the iteration with this vector is done.
pub fn wait(member: &'static Member, index: impl Fn(usize) -> u64) {
    member.share.doacross.with(|doacross| {
        if let Some(doacross) = doacross {
            doacross.wait(member, &index);
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
