//! The sizes of small allocations: multiples of 16 up to 128 bytes, then four
//! for each doubling, so that at most a fifth is lost to rounding up.

/// A class of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Class(u8);

/// Steps between classes up to `LINEAR_MAX`, and least alignment.
const STEP: usize = 16;
const LINEAR: usize = 8;
const LINEAR_MAX: usize = STEP * LINEAR;

impl Class {
    /// Number of classes.
    pub(crate) const COUNT: usize = 32;
    /// Size of the last class in bytes.
    pub(crate) const BYTES_MAX: usize = 8192;

    /// The smallest class for `bytes` bytes at a multiple of `align`. `None` if
    /// that is for whole pages.
    #[inline]
    pub(crate) fn of(bytes: usize, align: usize) -> Option<Self> {
        if bytes > Self::BYTES_MAX || !align.is_power_of_two() {
            return None;
        }
        let class = Self::fitting(bytes);
        if align <= STEP {
            return Some(class);
        }
        // Slabs begin on pages, so what is asked is a size that is a multiple.
        // Powers of two are among the sizes.
        if align > crate::PAGE_BYTES {
            return None;
        }
        (class.0..Self::COUNT as u8)
            .map(Self)
            .find(|class| class.bytes().is_multiple_of(align))
    }

    #[inline]
    fn fitting(bytes: usize) -> Self {
        let last = bytes.saturating_sub(1);
        if bytes <= LINEAR_MAX {
            return Self((last / STEP) as u8);
        }
        let doubling = last.ilog2();
        let quarter = (last >> (doubling - 2)) & 3;
        let doublings = (doubling - LINEAR_MAX.ilog2()) as usize;
        Self((LINEAR + doublings * 4 + quarter) as u8)
    }

    /// Place in a table of classes.
    #[inline]
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Size in bytes.
    #[inline]
    pub(crate) fn bytes(self) -> usize {
        let index = self.index();
        if index < LINEAR {
            return (index + 1) * STEP;
        }
        let (doublings, quarter) = ((index - LINEAR) / 4, (index - LINEAR) % 4);
        (LINEAR_MAX + (quarter + 1) * LINEAR_MAX / 4) << doublings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_gets_the_smallest_class_that_holds_it() {
        let mut previous = 0;
        for bytes in 0..=Class::BYTES_MAX {
            let class = Class::of(bytes, 1).unwrap();
            assert!(class.bytes() >= bytes);
            if class.index() > 0 {
                assert!(Class(class.0 - 1).bytes() < bytes.max(1));
            }
            assert!(class.index() == previous || class.index() == previous + 1);
            previous = class.index();
        }
        assert_eq!(previous, Class::COUNT - 1);
        assert_eq!(Class(previous as u8).bytes(), Class::BYTES_MAX);
        assert_eq!(Class::of(Class::BYTES_MAX + 1, 1), None);
    }

    #[test]
    fn aligned_sizes_are_multiples_of_the_alignment() {
        for align in (0..=12).map(|bit| 1_usize << bit) {
            for bytes in 0..=Class::BYTES_MAX {
                let class = Class::of(bytes, align).unwrap();
                assert!(class.bytes() >= bytes && class.bytes().is_multiple_of(align));
            }
        }
        assert_eq!(Class::of(1, 8192), None);
        assert_eq!(Class::of(1, 3), None);
        assert_eq!(Class::of(1, 0), None);
    }
}
