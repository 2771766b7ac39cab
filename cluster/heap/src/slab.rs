//! Pages cut into slots of one size. Which slots are free is told by a bitmap
//! and by a bitmap of its words, so that the lowest free slot is found in two
//! steps.

use crate::class::Class;
use crate::{BadFree, PAGE_BYTES};

/// Slots a word tells about.
const BITS: usize = u64::BITS as usize;

/// See the module's documentation.
#[derive(Debug, Hash)]
pub(crate) struct Slab {
    first_page: u32,
    class: Class,
    /// Bit `i` says that word `i` of `free` is not zero.
    words_with_free: u64,
    /// One bit for each free slot.
    free: Box<[u64]>,
    slots: u32,
    allocated: u32,
}

/// Why a slot cannot be freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadSlot {
    Free,
    NotItsStart,
}

impl BadSlot {
    #[cold]
    pub(crate) fn at(self, address: usize) -> BadFree {
        match self {
            Self::Free => BadFree::NotAllocated(address),
            Self::NotItsStart => BadFree::Inside(address),
        }
    }
}

impl Slab {
    /// Length in pages.
    pub(crate) const PAGES: u32 = 16;
    const BYTES: usize = Self::PAGES as usize * PAGE_BYTES;

    /// A slab without allocations.
    pub(crate) fn new(first_page: u32, class: Class) -> Self {
        const { assert!(Self::BYTES / 16 <= BITS * BITS, "words are bits of a word") };
        let slots = Self::BYTES / class.bytes();
        let mut free = vec![u64::MAX; slots.div_ceil(BITS)].into_boxed_slice();
        if let (Some(last), used @ 1..) = (free.last_mut(), slots % BITS) {
            *last = (1 << used) - 1;
        }
        Self {
            first_page,
            class,
            words_with_free: u64::MAX >> (BITS - free.len()),
            free,
            slots: slots as u32,
            allocated: 0,
        }
    }

    pub(crate) fn first_page(&self) -> u32 {
        self.first_page
    }

    /// Distance from the base of the range in bytes.
    #[inline]
    pub(crate) fn start(&self) -> usize {
        self.first_page as usize * PAGE_BYTES
    }

    #[inline]
    pub(crate) fn class(&self) -> Class {
        self.class
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.words_with_free == 0
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.allocated == 0
    }

    /// Allocates the lowest free slot; its distance from the start in bytes.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<usize> {
        let index = self.words_with_free.trailing_zeros() as usize;
        let word = self.free.get_mut(index)?;
        let bit = word.trailing_zeros() as usize;
        // Clears the lowest bit that is set.
        *word &= word.wrapping_sub(1);
        if *word == 0 {
            self.words_with_free &= !(1 << index);
        }
        self.allocated += 1;
        Some((index * BITS + bit) * self.class.bytes())
    }

    /// The slot at a distance from the start, if one begins there.
    #[inline]
    fn slot(&self, offset: usize) -> Result<usize, BadSlot> {
        // Both fit 32 bits, for which division is quick.
        let (offset, size) = (offset as u32, self.class.bytes() as u32);
        let slot = offset / size;
        if slot >= self.slots || slot * size != offset {
            return Err(BadSlot::NotItsStart);
        }
        Ok(slot as usize)
    }

    /// Frees the slot at a distance from the start.
    #[inline]
    pub(crate) fn give(&mut self, offset: usize) -> Result<(), BadSlot> {
        let slot = self.slot(offset)?;
        let (index, bit) = (slot / BITS, 1 << (slot % BITS));
        if self.free[index] & bit != 0 {
            return Err(BadSlot::Free);
        }
        self.free[index] |= bit;
        self.words_with_free |= 1 << index;
        self.allocated -= 1;
        Ok(())
    }

    /// Whether an allocation begins at a distance from the start.
    pub(crate) fn is_allocated(&self, offset: usize) -> bool {
        self.slot(offset)
            .is_ok_and(|slot| self.free[slot / BITS] & (1 << (slot % BITS)) == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slab_gives_each_slot_once_and_takes_it_back_once() {
        for class in [16, 160, 7168, 8192].map(|bytes| Class::of(bytes, 1).unwrap()) {
            let mut slab = Slab::new(0, class);
            let slots = Slab::BYTES / class.bytes();
            for slot in 0..slots {
                assert!(!slab.is_full());
                assert_eq!(slab.take(), Some(slot * class.bytes()));
            }
            assert!(slab.is_full());
            assert_eq!(slab.take(), None);
            assert_eq!(slab.give(1), Err(BadSlot::NotItsStart));
            assert_eq!(slab.give(slots * class.bytes()), Err(BadSlot::NotItsStart));
            for slot in (0..slots).rev() {
                assert!(slab.is_allocated(slot * class.bytes()));
                assert_eq!(slab.give(slot * class.bytes()), Ok(()));
                assert_eq!(slab.give(slot * class.bytes()), Err(BadSlot::Free));
            }
            assert!(slab.is_empty());
        }
    }
}
