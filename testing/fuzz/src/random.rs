//! Choices that follow from a seed alone.

use fastrand::Rng;

/// A source of choices.
#[derive(Clone, Debug)]
pub struct Random(Rng);

impl Random {
    /// Begins with a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Rng::with_seed(seed))
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// A number from 0 up to but without `bound`; 0 if there is none.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0.usize(..bound.max(1))
    }

    /// Whether something happens that does so once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of these; none if there are none.
    pub fn one_of<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        self.0.choice(of)
    }

    /// A length: mostly short.
    pub fn length(&mut self, most: usize) -> usize {
        let most = match self.below(8) {
            0..4 => most.min(4),
            4..7 => most.min(64),
            _ => most,
        };
        self.below(most + 1)
    }

    /// A number of the kind at which programs fail: an end of a range, a power of two and
    /// its neighbours, or something small.
    pub fn extreme(&mut self) -> u64 {
        match self.below(6) {
            0 => self.below(20) as u64,
            1 => u64::MAX - self.below(4) as u64,
            2 | 3 => {
                let power = 1_u64 << self.below(64);
                power.wrapping_add(self.below(3) as u64).wrapping_sub(1)
            }
            4 => [0x7f, 0x7fff, 0x7fff_ffff, i64::MAX as u64][self.below(4)],
            _ => self.number(),
        }
    }
}
