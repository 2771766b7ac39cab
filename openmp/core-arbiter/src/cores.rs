//! Sets of cores. Cores are numbered as the board lists them, not as the kernel does.

/// Cores that a board can divide.
pub const CORES_MAX: u32 = 256;

/// Words of a set.
pub const WORDS: usize = CORES_MAX as usize / 64;

/// A set of cores.
#[derive(Clone, Copy, Debug, Default, Eq)]
pub struct Cores([u64; WORDS]);

/// Without the call of the C library that is derived for arrays.
impl PartialEq for Cores {
    fn eq(&self, other: &Self) -> bool {
        self.0
            .iter()
            .zip(other.0)
            .fold(0, |differs, (one, two)| differs | (one ^ two))
            == 0
    }
}

impl Cores {
    /// The first `count` cores.
    #[must_use]
    pub fn first(count: u32) -> Self {
        (0..count.min(CORES_MAX)).collect()
    }

    /// The set with these bits; any bits are a set.
    #[must_use]
    pub const fn from_words(words: [u64; WORDS]) -> Self {
        Self(words)
    }

    /// Its bits.
    #[must_use]
    pub const fn words(self) -> [u64; WORDS] {
        self.0
    }

    /// Adds a core; numbers from [`CORES_MAX`] on are no cores.
    pub fn insert(&mut self, core: u32) {
        if let Some(word) = self.0.get_mut(core as usize / 64) {
            *word |= 1 << (core % 64);
        }
    }

    /// Whether it has this core.
    #[must_use]
    pub fn contains(self, core: u32) -> bool {
        self.0
            .get(core as usize / 64)
            .is_some_and(|word| word >> (core % 64) & 1 != 0)
    }

    /// Number of cores.
    #[must_use]
    pub fn len(self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// Those that are in both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let mut both = self;
        for (word, with) in both.0.iter_mut().zip(other.0) {
            *word &= with;
        }
        both
    }

    /// Its cores, ascending.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        self.0.into_iter().enumerate().flat_map(|(index, word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                (left != 0).then(|| {
                    let bit = left.trailing_zeros();
                    left &= left - 1;
                    index as u32 * 64 + bit
                })
            })
        })
    }
}

impl FromIterator<u32> for Cores {
    fn from_iter<I: IntoIterator<Item = u32>>(cores: I) -> Self {
        let mut set = Self::default();
        for core in cores {
            set.insert(core);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_keeps_what_it_is_given_and_no_more() {
        let set: Cores = [0, 63, 64, 255, 256, u32::MAX].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 255]);
        assert_eq!(set.len(), 4);
        assert!(set.contains(255) && !set.contains(1) && !set.contains(u32::MAX));
        assert_eq!(Cores::from_words(set.words()), set);
        assert_eq!(
            set.and(Cores::first(64)).iter().collect::<Vec<_>>(),
            [0, 63]
        );
        assert_eq!(Cores::first(u32::MAX).len(), CORES_MAX);
        assert!(Cores::default().is_empty());
    }
}
