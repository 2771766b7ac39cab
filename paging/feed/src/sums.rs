//! Sums of stays by state, in words of a slot: what found no room in the ring, and what was
//! not selected. They lie in shared memory so that they outlast the process.

use crate::layout::sums::{
    BEGIN, COUNTED, COUNTS, FLUSH, MASK, STATE_WORDS, STATES, STAYS, TICKS, WORDS,
};
use fathomp_paging::{Counts, State};
use fathomp_ring::Word;
use fathomp_types::Ticks;
use std::sync::atomic::AtomicU64;

/// The sums of one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// The state.
    pub state: State,
    /// Stays.
    pub stays: u64,
    /// Their time.
    pub ticks: Ticks,
    /// What rose in them.
    pub counts: Counts,
}

/// The sums in a slot.
#[derive(Clone, Copy, Debug)]
pub struct Sums<'a>(&'a [AtomicU64]);

impl<'a> Sums<'a> {
    /// Over the words of a slot from the sums' first on; `None` if they are too few.
    #[must_use]
    pub fn new(words: &'a [AtomicU64]) -> Option<Self> {
        words.get(..WORDS).map(Self)
    }

    /// Whether they are of no stay.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0[MASK].get() == 0
    }

    /// When the first of the stays began.
    #[must_use]
    pub fn begin(&self) -> Ticks {
        Ticks(self.0[BEGIN].get())
    }

    /// Producer: adds stays that began at `begin`.
    pub fn add(&self, begin: Ticks, sum: &Sum) {
        let all = self.0[MASK].get();
        if all == 0 {
            self.0[BEGIN].set(begin.0);
        }
        let bit = 1 << sum.state.index();
        let words = &self.0[STATES + sum.state.index() * STATE_WORDS..][..STATE_WORDS];
        let fresh = all & bit == 0;
        let add = |word: &AtomicU64, more: u64, fresh: bool| {
            let before = if fresh { 0 } else { word.get() };
            word.set(before.saturating_add(more));
        };
        add(&words[STAYS], sum.stays, fresh);
        add(&words[TICKS], sum.ticks.0, fresh);
        let mut counted = if fresh { 0 } else { words[COUNTED].get() };
        for (counter, more) in sum.counts.nonzero() {
            let bit = 1 << counter.index();
            add(&words[COUNTS + counter.index()], more, counted & bit == 0);
            counted |= bit;
        }
        words[COUNTED].set(counted);
        // A state is seen only with all its words.
        self.0[MASK].release(all | bit);
    }

    /// The sums, by state.
    pub fn each(&self) -> impl Iterator<Item = Sum> + use<'a> {
        let words = self.0;
        let all = words[MASK].acquire();
        let chosen = State::ALL
            .into_iter()
            .filter(move |state| all >> state.index() & 1 != 0);
        chosen.map(move |state| {
            let words = &words[STATES + state.index() * STATE_WORDS..][..STATE_WORDS];
            let counted = words[COUNTED].get();
            let mut counts = Counts::ZERO;
            for (number, count) in counts.0.iter_mut().enumerate() {
                if counted >> number & 1 != 0 {
                    *count = words[COUNTS + number].get();
                }
            }
            Sum {
                state,
                stays: words[STAYS].get(),
                ticks: Ticks(words[TICKS].get()),
                counts,
            }
        })
    }

    /// Producer: the sums are being put into the ring, whose head will be at `head` when
    /// they are there. Call it before the head moves, [`clear`](Self::clear) afterwards: a
    /// process that is killed in between neither loses the sums nor counts them twice.
    pub fn moving(&self, head: u64) {
        self.0[FLUSH].release(head);
    }

    /// Producer: the sums are in the ring.
    pub fn clear(&self) {
        self.0[MASK].release(0);
        self.0[FLUSH].release(0);
    }

    /// Consumer of what a process left: whether a ring with that head holds the sums.
    #[must_use]
    pub fn are_in_ring(&self, head: u64) -> bool {
        let moving = self.0[FLUSH].acquire();
        moving != 0 && head >= moving
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_paging::{Activity, Counter};

    fn words() -> Vec<AtomicU64> {
        // Stale words must not be seen.
        let words: Vec<_> = (0..WORDS).map(|_| AtomicU64::new(77)).collect();
        words[MASK].set(0);
        words[FLUSH].set(0);
        words
    }

    fn sum(state: State, faults: u64) -> Sum {
        let mut counts = Counts::ZERO;
        counts[Counter::MinorFaults] = faults;
        Sum {
            state,
            stays: 1,
            ticks: Ticks(10),
            counts,
        }
    }

    #[test]
    fn sums_are_exact_whatever_was_there_before() {
        let words = words();
        let sums = Sums::new(&words).unwrap();
        assert!(sums.is_empty());
        let (compute, io) = (State::ALL[0], State::active(Activity::Io));
        for _ in 0..2 {
            for number in 0..3 {
                sums.add(Ticks(100 + number), &sum(compute, number));
            }
            sums.add(Ticks(200), &sum(io, 0));
            let all: Vec<_> = sums.each().collect();
            assert_eq!(all.len(), 2);
            assert_eq!((all[0].stays, all[0].ticks), (3, Ticks(30)));
            assert_eq!(all[0].counts[Counter::MinorFaults], 3);
            assert_eq!((all[1].stays, all[1].counts), (1, Counts::ZERO));
            assert_eq!(sums.begin(), Ticks(100));
            sums.clear();
        }
    }

    #[test]
    fn sums_on_their_way_count_once_on_either_side_of_the_move() {
        let words = words();
        let sums = Sums::new(&words).unwrap();
        sums.add(Ticks(1), &sum(State::ALL[0], 1));
        assert!(!sums.are_in_ring(5));
        sums.moving(8);
        assert!(!sums.are_in_ring(5));
        assert!(sums.are_in_ring(8));
        sums.clear();
        assert!(!sums.are_in_ring(8));
    }
}
