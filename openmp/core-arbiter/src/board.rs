//! Writing and reading the board.

use crate::claim::{Activity, Claim, State};
use crate::cores::{CORES_MAX, Cores, WORDS};
use crate::events::Log;
use crate::layout::{MAGIC, NUMBERS, RING_WORDS, SHAPE, Shape, at};
use crate::presence::Owner;
use crate::speedup::Speedup;
use fathomp_ring::Ring;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why there is no board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BoardError {
    /// Other bytes than those of a board.
    #[error("this is no board of `fathomp share`, or one of another version")]
    Foreign,
    /// Too small for what it says of itself.
    #[error("this board is shorter than it says: it was cut or is damaged")]
    Short,
    /// No slot of that number.
    #[error("the board has no slot {0}")]
    NoSlot(usize),
}

/// A board: words that several processes write.
#[derive(Clone, Copy, Debug)]
pub struct Board<'a> {
    words: &'a [AtomicU64],
    /// As it was when we looked first; what others write there later changes nothing.
    shape: Shape,
}

impl<'a> Board<'a> {
    /// Makes a board of `words`, which are zero, for the cores with these numbers.
    ///
    /// # Errors
    /// If there is not enough room, or no board can have this shape.
    pub fn format(
        words: &'a [AtomicU64],
        shape: Shape,
        numbers: &[u32],
    ) -> Result<Self, BoardError> {
        let word = shape.word();
        if Shape::from_word(word) != Some(shape) {
            return Err(BoardError::Foreign);
        }
        if words.len() < shape.words() {
            return Err(BoardError::Short);
        }
        for (index, number) in numbers.iter().take(CORES_MAX as usize).enumerate() {
            let bits = u64::from(*number & 0xffff) << (index % 4 * 16);
            words[NUMBERS + index / 4].fetch_or(bits, Ordering::Relaxed);
        }
        words[SHAPE].store(word, Ordering::Relaxed);
        words[0].store(MAGIC, Ordering::Release);
        Ok(Self { words, shape })
    }

    /// The board that stands in `words`.
    ///
    /// # Errors
    /// See [`BoardError`].
    pub fn open(words: &'a [AtomicU64]) -> Result<Self, BoardError> {
        let read = |index: usize| words.get(index).map(|word| word.load(Ordering::Acquire));
        if read(0) != Some(MAGIC) {
            return Err(BoardError::Foreign);
        }
        let shape = read(SHAPE)
            .and_then(Shape::from_word)
            .ok_or(BoardError::Foreign)?;
        if words.len() < shape.words() {
            return Err(BoardError::Short);
        }
        Ok(Self { words, shape })
    }

    /// Its size.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The kernel's number of a core.
    #[must_use]
    pub fn number(&self, core: u32) -> u32 {
        let index = core.min(CORES_MAX - 1) as usize;
        let word = self.words[NUMBERS + index / 4].load(Ordering::Relaxed);
        (word >> (index % 4 * 16) & 0xffff) as u32
    }

    /// A slot.
    ///
    /// # Errors
    /// If there is no such slot.
    pub fn slot(&self, slot: usize) -> Result<Slot<'a>, BoardError> {
        if slot >= self.shape.slots {
            return Err(BoardError::NoSlot(slot));
        }
        let first = self.shape.slot(slot);
        let next = self.shape.slot(slot + 1);
        let ring = self.shape.ring(slot);
        let ring = if self.shape.events {
            &self.words[ring..ring + RING_WORDS]
        } else {
            &[]
        };
        Ok(Slot {
            words: &self.words[first..next],
            ring,
        })
    }

    /// All slots.
    pub fn slots(&self) -> impl Iterator<Item = Slot<'a>> {
        let board = *self;
        (0..board.shape.slots).filter_map(move |slot| board.slot(slot).ok())
    }
}

/// What one program writes and all read.
#[derive(Clone, Copy, Debug)]
pub struct Slot<'a> {
    words: &'a [AtomicU64],
    ring: &'a [AtomicU64],
}

impl<'a> Slot<'a> {
    fn get(&self, index: usize) -> u64 {
        self.words[index].load(Ordering::Relaxed)
    }

    fn set(&self, index: usize, value: u64) {
        // Who writes only what changes leaves the line in the caches of those that read it.
        if self.get(index) != value {
            self.words[index].store(value, Ordering::Relaxed);
        }
    }

    /// The process that has it.
    #[must_use]
    pub fn owner(&self) -> Option<Owner> {
        Owner::from_word(self.words[at::OWNER].load(Ordering::Acquire))
    }

    /// Takes the slot for `owner` if `from` has it. False if somebody else has it.
    #[must_use]
    pub fn take(&self, from: Option<Owner>, owner: Owner) -> bool {
        let before = from.map_or(0, Owner::word);
        self.words[at::OWNER]
            .compare_exchange(before, owner.word(), Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Gives the slot back, if `owner` has it.
    pub fn leave(&self, owner: Owner) {
        // Somebody else's by now: nothing to give back.
        let _ = self.words[at::OWNER].compare_exchange(
            owner.word(),
            0,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
    }

    /// Says what its program does. `changes` counts how often it has.
    pub fn post(&self, claim: &Claim, changes: u32) {
        self.set(at::CURVE, claim.speedup.word());
        for (index, word) in claim.held.words().into_iter().enumerate() {
            self.set(at::HELD + index, word);
        }
        self.set(at::SINCE, claim.since_ns);
        let state = State {
            activity: claim.activity,
            wanted: claim.wanted,
            serial_ns: claim.serial_ns,
            changes,
        };
        self.set(at::STATE, state.word());
    }

    /// How often its program has said what it does. None if that is garbage.
    #[must_use]
    pub fn changes(&self) -> Option<u32> {
        State::from_word(self.get(at::STATE)).map(|state| state.changes)
    }

    /// A program is about to take the slot.
    pub fn announce(&self, now_ns: u64) {
        let claim = Claim {
            activity: Activity::Expected,
            wanted: 1,
            since_ns: now_ns,
            ..Claim::default()
        };
        self.post(&claim, 0);
    }

    /// What its program says. None if that is garbage.
    #[must_use]
    pub fn claim(&self) -> Option<Claim> {
        let state = State::from_word(self.get(at::STATE))?;
        let mut held = [0; WORDS];
        for (index, word) in held.iter_mut().enumerate() {
            *word = self.get(at::HELD + index);
        }
        Some(Claim {
            activity: state.activity,
            wanted: state.wanted,
            speedup: Speedup::from_word(self.get(at::CURVE)),
            held: Cores::from_words(held),
            serial_ns: state.serial_ns,
            since_ns: self.get(at::SINCE),
        })
    }

    /// Its events, if there are any.
    #[must_use]
    pub fn log(&self) -> Option<Log<'a>> {
        Ring::new(self.ring, &self.words[at::HEAD], &self.words[at::TAIL]).map(Log::new)
    }
}
