//! Where a member is in its worksharing constructs.

use super::claim::{RING, Tag};
use super::iterations::Iterations;
use super::pace::Pace;
use super::progress::{Doacross, Nested};
use super::slot::Slot;
use crate::observer::recording::Tally;
use crate::own::{Own, OwnWord};
use crate::team::Member;
use fathomp_sys::own_cell::OwnCell;
use fathomp_sys::static_ref::AtomicRef;
use std::sync::Arc;

/// A member's state. Written by its thread only, in plain stores.
#[repr(align(128))]
#[derive(Debug)]
pub(crate) struct Cursor {
    /// Iterations claimed and not yet handed out: numbers `at..until`, to be
    /// handed out `chunk` at a time.
    pub(super) at: OwnWord,
    pub(super) until: OwnWord,
    pub(super) chunk: OwnWord,
    iterations: [OwnWord; 4],
    /// [`Deal`](super::schedule::Deal): how the next claim is made.
    pub(super) deal: Own,
    /// Whether the loop is recorded.
    pub(crate) recorded: Own,
    /// Units to claim, or, in chunked static loops, the next iteration.
    pub(super) total: OwnWord,
    /// Iterations per unit, or from one static chunk of this member to its next.
    pub(super) unit: OwnWord,
    /// Least units of a guided chunk, or members that chunked static loops are dealt to.
    pub(super) amount: OwnWord,
    /// Units per claim of a dynamic loop.
    pub(super) pace: Pace,

    /// Number of the construct met last.
    construct: Own,
    /// First construct after the last barrier.
    base: Own,
    /// Barrier phase `base` belongs to.
    phase: Own,
    /// The construct met last was far from its barrier (see [`super::slot`]).
    far: Own,
    /// Number of the loop met last.
    pub(super) in_loop: Own,
    /// Slot of the loop met last.
    pub(super) slot: AtomicRef<Slot>,
    /// Slot of the `single copyprivate` being run.
    pub(super) copy: AtomicRef<Slot>,
    /// When this member began to copy what another one broadcast in the last `single copyprivate`,
    /// in ticks; 0 if it did not, or has met a `single` since.
    pub(super) copying_since: OwnWord,

    /// Ordered loops: position of the current chunk and of the one after it.
    pub(super) position: OwnWord,
    pub(super) position_after: OwnWord,
    /// [`Turn`](super::ordered::Turns) of the current chunk.
    pub(super) turn: Own,
    /// Whether the chunk before the current one may be another node's, and
    /// whether the one after it may.
    pub(super) after_other: Own,
    pub(super) before_other: Own,
    pub(super) doacross: OwnCell<Option<Arc<Doacross>>>,
    /// Loops of a doacross nest whose iterations are known by their values.
    pub(super) nest: OwnCell<Option<Box<[Nested]>>>,
    /// Number of the construct that the nest is.
    pub(super) in_doacross: Own,
    pub(crate) tally: Tally,
}

/// The shared side of a construct as one member sees it.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) slot: &'static Slot,
    pub(super) construct: u32,
}

impl Place {
    #[inline]
    pub(super) fn tag(self) -> Tag {
        Tag::of(self.construct)
    }
}

impl Cursor {
    pub(crate) fn new() -> Self {
        Self {
            at: OwnWord::new(),
            until: OwnWord::new(),
            chunk: OwnWord::new(),
            iterations: [const { OwnWord::new() }; 4],
            deal: Own::new(0),
            recorded: Own::new(0),
            total: OwnWord::new(),
            unit: OwnWord::new(),
            amount: OwnWord::new(),
            pace: Pace::new(),
            // Tag 0 is what fresh words carry.
            construct: Own::new(RING),
            base: Own::new(RING),
            phase: Own::new(0),
            far: Own::new(0),
            in_loop: Own::new(RING),
            slot: AtomicRef::new(None),
            copy: AtomicRef::new(None),
            copying_since: OwnWord::new(),
            position: OwnWord::new(),
            position_after: OwnWord::new(),
            turn: Own::new(0),
            after_other: Own::new(0),
            before_other: Own::new(0),
            doacross: OwnCell::new(None),
            nest: OwnCell::new(None),
            in_doacross: Own::new(RING),
            tally: Tally::new(),
        }
    }

    /// A region begins; all members are given the same `construct`.
    #[inline]
    pub(super) fn restart(&self, member: &Member, construct: u32) {
        self.construct.set(construct);
        self.base.set(construct.wrapping_add(1));
        self.phase.set(member.phase.get());
        self.far.set(0);
        self.turn.set(0);
        self.deal.set(0);
    }

    /// The thread gives the member up for another.
    pub(crate) fn disown(&self) {
        self.doacross.set(None);
        self.doacross.disown();
        self.nest.set(None);
        self.nest.disown();
    }

    /// Number of the construct this member met last; anybody may ask while the
    /// member is not at work.
    pub(super) fn construct(&self) -> u32 {
        self.construct.get()
    }

    /// This member meets the team's next construct.
    #[inline]
    pub(super) fn advance(&self, member: &'static Member) -> Place {
        let construct = self.construct.get().wrapping_add(1);
        let phase = member.phase.get();
        if phase != self.phase.get() {
            self.phase.set(phase);
            self.base.set(construct);
            self.far.set(0);
        }
        self.construct.set(construct);
        let slots = &member.team().shares.slots;
        if construct.wrapping_sub(self.base.get()) < RING - 1 {
            return Place {
                slot: slots.near(construct),
                construct,
            };
        }
        self.advance_far(member, construct)
    }

    #[cold]
    fn advance_far(&self, member: &'static Member, construct: u32) -> Place {
        let team = member.team();
        let left = (self.far.get() != 0).then(|| construct.wrapping_sub(1));
        self.far.set(1);
        Place {
            slot: team
                .shares
                .slots
                .far(construct, self.base.get(), left, team.local_size()),
            construct,
        }
    }

    #[inline]
    pub(crate) fn iterations(&self) -> Iterations {
        Iterations::from_words([
            self.iterations[0].get(),
            self.iterations[1].get(),
            self.iterations[2].get(),
            self.iterations[3].get(),
        ])
    }

    #[inline]
    pub(super) fn set_iterations(&self, iterations: &Iterations) {
        for (word, value) in self.iterations.iter().zip(iterations.to_words()) {
            word.set(value);
        }
    }
}
