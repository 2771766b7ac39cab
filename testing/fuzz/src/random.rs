//! Numbers that look random and are the same for the same seed, in every version of this
//! crate: a seed that was printed has to find the same inputs later (SplitMix64, G. Steele,
//! D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).

/// A generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Begins with a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to but without `bound`; 0 if there is none.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.number() % bound.max(1) as u64) as usize
    }

    /// Whether something happens that does so once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of these; none if there are none.
    pub fn one_of<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_numbers_that_it_always_gave() {
        let mut random = Random::new(1);
        assert_eq!(random.number(), 0x910a_2dec_8902_5cc1);
        assert_eq!(random.number(), 0xbeeb_8da1_658e_ec67);
        let mut random = Random::new(7);
        assert!((0..1000).all(|_| random.below(3) < 3));
        assert_eq!(random.below(0), 0);
    }
}
