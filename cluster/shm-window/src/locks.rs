//! Locks of the program in memory that all nodes share: one that is free is taken and
//! given back without a message to anybody.
//!
//! A lock that is wanted while somebody has it is taken over by the sequencer, whose
//! queue is fair; it gives it back here when nobody waits any more. Locks that find no
//! place here are the sequencer's for ever.
//!
//! A node that has taken a lock several times, and nobody else meanwhile, *keeps* it when it
//! gives it back: nobody is told anything, and the node takes it again by one instruction.
//! Another node that wants it takes it if a barrier has passed since, which has told
//! everything, and otherwise asks the sequencer, which
//! [recalls](fathomp_protocols::order::Control::Recall) it.
//!
//! All that is known of a lock is one word, which is changed by one atomic operation. So
//! there is one order of these, and in each state exactly one node has the lock, keeps it,
//! or the sequencer knows.

use crate::primitive::{AtomicU64, Ordering, spin_loop};
use crate::sizes::{Keeping, Sizes};
use fathomp_protocols::{Holder, LockId};
use fathomp_types::NodeId;

/// Places in which a lock may be.
const TRIES: usize = 8;

/// A lock: who has it, or had it last.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Word(u64);

impl Word {
    /// The sequencer has taken it over.
    const SEQUENCED: u64 = 1;
    /// The sequencer has to hear when it is given back.
    const WAITED: u64 = 2;
    /// Somebody has it.
    const TAKEN: u64 = 4;
    /// Its node keeps it, and no thread there has it.
    const KEPT: u64 = 8;

    fn is(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    fn is_free(self) -> bool {
        !self.is(Self::SEQUENCED | Self::WAITED | Self::TAKEN | Self::KEPT)
    }

    /// Who has it or had it last.
    fn node(self) -> Option<NodeId> {
        let node = (self.0 >> 8 & 0xffff).checked_sub(1)?;
        u16::try_from(node).ok().map(NodeId)
    }

    /// How often that node has taken it since another one had it, but for the first time.
    fn streak(self) -> u64 {
        self.0 >> 24 & u64::from(Keeping::STREAK_MAX)
    }

    /// How often it was kept to no use, less how often to some.
    fn level(self) -> u64 {
        self.0 >> 30 & u64::from(Keeping::LEVEL_MAX)
    }

    /// Barriers of the program that its node had passed when it kept it, of 31 bits.
    fn kept_after(self) -> u32 {
        (self.0 >> 33) as u32
    }

    fn with(flag: u64, node: Option<NodeId>, streak: u64, level: u64) -> Self {
        let node = node.map_or(0, |node| u64::from(node.0) + 1);
        Self(flag | node << 8 | streak << 24 | level << 30)
    }

    /// The same lock with a node that takes it.
    fn taken_by(self, node: NodeId, keeping: Keeping) -> Self {
        let again = self.node() == Some(node);
        let streak = if again { self.streak() + 1 } else { 0 };
        let streak = streak.min(keeping.streak_max.into());
        Self::with(Self::TAKEN, Some(node), streak, self.level())
    }

    /// The streak from which on it is kept.
    fn kept_from(self, keeping: Keeping) -> u64 {
        u64::from(keeping.streak_min) << self.level()
    }

    /// Whether its node, which takes and gives it back, keeps it.
    fn is_worth_keeping(self, keeping: Keeping) -> bool {
        (self.kept_from(keeping)..keeping.streak_max.into()).contains(&self.streak())
    }

    fn level_after_recall(self, keeping: Keeping) -> u64 {
        let wasted = self.streak() < self.kept_from(keeping) + u64::from(keeping.worth);
        match wasted {
            true => (self.level() + 1).min(keeping.level_max.into()),
            false => self.level().saturating_sub(1),
        }
    }

    fn kept_since(self, passed: u32) -> Self {
        let kept = Self::with(Self::KEPT, self.node(), self.streak(), self.level());
        Self(kept.0 | u64::from(passed) << 33)
    }

    /// Whether a barrier has ended since it was kept, for a node that has `passed` so many.
    fn is_settled(self, passed: u32) -> bool {
        let since = (passed << 1).wrapping_sub(self.kept_after() << 1);
        since != 0 && since < u32::MAX / 2
    }

    fn given_back(self, keeping: Keeping) -> Self {
        if self.streak() < u64::from(keeping.streak_max) {
            return Self::with(0, self.node(), self.streak(), self.level());
        }
        // Once is enough: the next time it is kept again.
        let lower = Self::with(0, self.node(), 0, self.level().saturating_sub(1));
        let streak = lower.kept_from(keeping).min(keeping.streak_max.into());
        Self::with(0, self.node(), streak, lower.level())
    }
}

/// Locks by their numbers; a place belongs to one lock for ever.
#[derive(Clone, Copy)]
pub(crate) struct Locks<'a> {
    /// Whose each place is.
    names: &'a [AtomicU64],
    words: &'a [AtomicU64],
    sizes: Sizes,
}

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    Taken,
    /// Another node has it.
    Held,
    /// Another node keeps it, and no thread has it.
    Kept,
    /// The sequencer knows.
    Sequenced,
}

impl<'a> Locks<'a> {
    pub(crate) fn words(sizes: Sizes) -> usize {
        2 * sizes.lock_places
    }

    pub(crate) fn over(words: &'a [AtomicU64], sizes: Sizes) -> Self {
        let (names, words) = words.split_at(words.len() / 2);
        Self {
            names,
            words,
            sizes,
        }
    }

    /// The word of a lock, if it has a place.
    fn word(self, lock: LockId) -> Option<&'a AtomicU64> {
        // No address is so high that this is 0, which says that a place is empty.
        let name = lock.0.wrapping_add(2);
        // Fibonacci hashing: Knuth, The Art of Computer Programming 3, section 6.4.
        let hash = name.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let first = hash as usize % self.names.len();
        (first..first + TRIES).find_map(|place| {
            let place = place % self.names.len();
            let owner = self.names.get(place)?;
            let now = match owner.load(Ordering::Relaxed) {
                0 => {
                    let order = Ordering::Relaxed;
                    let put = owner.compare_exchange(0, name, order, order);
                    put.map_or_else(|now| now, |_| name)
                }
                now => now,
            };
            self.words.get(place).filter(|_| now == name && name != 0)
        })
    }

    /// Changes a lock's word as long as `change` says how. What it was, and whether it was
    /// changed.
    fn change(self, lock: LockId, change: impl Fn(Word) -> Option<Word>) -> (Word, bool) {
        let Some(word) = self.word(lock) else {
            return (Word(Word::SEQUENCED), false);
        };
        let next = |now| change(Word(now)).map(|word| word.0);
        match word.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) {
            Ok(before) => (Word(before), true),
            Err(now) => (Word(now), false),
        }
    }

    /// Takes a lock if it is free, or soon will be and `waits` says so: for a
    /// node that has `passed` so many barriers.
    pub(crate) fn take(self, lock: LockId, me: NodeId, waits: bool, passed: u32) -> Attempt {
        let looks = if waits { self.sizes.lock_looks } else { 1 };
        for _ in 0..looks {
            let (now, taken) = self.change(lock, |now| {
                let settled = now.node() == Some(me) || now.is_settled(passed);
                let kept = now.is(Word::KEPT) && !now.is(Word::WAITED) && settled;
                (now.is_free() || kept).then(|| now.taken_by(me, self.sizes.keeping))
            });
            if taken {
                return Attempt::Taken;
            } else if now.is(Word::SEQUENCED) {
                return Attempt::Sequenced;
            } else if now.is(Word::KEPT) {
                return Attempt::Kept;
            } else if now.is(Word::WAITED) || now.node() == Some(me) {
                break;
            }
            spin_loop();
        }
        Attempt::Held
    }

    /// Takes a lock that this node keeps.
    pub(crate) fn take_kept(self, lock: LockId, me: NodeId) -> bool {
        let taken = self.change(lock, |now| {
            let kept = now.is(Word::KEPT) && !now.is(Word::WAITED);
            (kept && now.node() == Some(me)).then(|| now.taken_by(me, self.sizes.keeping))
        });
        taken.1
    }

    /// Keeps a lock that a node has taken, if that makes sense and nobody waits; it has
    /// `passed` so many barriers, and tells what its threads write when it comes to the next.
    pub(crate) fn keep(self, lock: LockId, me: NodeId, passed: u32) -> bool {
        let kept = self.change(lock, |now| {
            let mine = now.is(Word::TAKEN) && now.node() == Some(me);
            let keeps = mine && !now.is(Word::WAITED) && now.is_worth_keeping(self.sizes.keeping);
            keeps.then(|| now.kept_since(passed))
        });
        kept.1
    }

    /// Gives back what a node has taken. False if the sequencer has to be told.
    pub(crate) fn give(self, lock: LockId, me: NodeId) -> bool {
        let given = self.change(lock, |now| {
            let mine = now.is(Word::TAKEN) && now.node() == Some(me);
            (mine && !now.is(Word::WAITED)).then(|| now.given_back(self.sizes.keeping))
        });
        given.1
    }

    /// The sequencer takes a lock over. Returns who has it, or keeps it.
    pub(crate) fn claim(self, lock: LockId) -> Option<Holder> {
        let (before, claimed) = self.change(lock, |now| {
            if now.is(Word::SEQUENCED) {
                return None;
            }
            let level = match now.is(Word::KEPT) {
                true => now.level_after_recall(self.sizes.keeping),
                false => now.level(),
            };
            Some(match now.is_free() {
                true => Word::with(Word::SEQUENCED, None, 0, level),
                false => {
                    let flags = now.0 & (Word::TAKEN | Word::KEPT) | Word::WAITED;
                    Word::with(flags, now.node(), 0, level)
                }
            })
        });
        let node = before.node().filter(|_| claimed && !before.is_free())?;
        let keeps = before.is(Word::KEPT);
        Some(Holder { node, keeps })
    }

    /// Everybody may take a lock again.
    pub(crate) fn unclaim(self, lock: LockId) {
        self.change(lock, |now| Some(Word::with(0, None, 0, now.level())));
    }
}
