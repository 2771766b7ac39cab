//! The argument block that came with an explicit task.
//!
//! The encountering thread builds the block on its stack; a deferred task
//! needs a copy of its own. The copy lives in words that belong to the
//! runtime, and only the program's code looks at it.

use crate::outlined::Opaque;
use std::sync::atomic::{AtomicU64, Ordering};

/// The program's function that copies a block whose members need more than
/// their bytes copied: `void copy(void *to, void *from)`.
pub type CopyFunction = extern "C" fn(Opaque, Opaque);

const WORD: usize = size_of::<u64>();

/// A block of the program, valid while the construct that passed it runs.
#[derive(Clone, Copy, Debug)]
pub struct Arguments {
    block: *mut u8,
    bytes: usize,
    align: usize,
    copy: Option<CopyFunction>,
}

impl Arguments {
    /// Wraps what a compiled program passed to us.
    ///
    /// # Safety
    /// Until the entry point returns to the program, `block` points to `bytes`
    /// readable bytes and, if they are at least two words, to two writable
    /// words; nobody else writes them meanwhile. `copy` may be called to copy
    /// them to another place aligned to `align`.
    #[must_use]
    pub unsafe fn from_program(
        block: Opaque,
        bytes: usize,
        align: usize,
        copy: Option<CopyFunction>,
    ) -> Self {
        Self {
            block: std::ptr::with_exposed_provenance_mut(block.0),
            bytes,
            align,
            copy,
        }
    }

    /// The program's own block.
    #[inline]
    #[must_use]
    pub fn original(&self) -> Opaque {
        Opaque(self.block.expose_provenance())
    }

    /// Whether even a task that runs at once must get a copy.
    #[inline]
    #[must_use]
    pub fn must_be_copied(&self) -> bool {
        self.copy.is_some()
    }

    /// Words of a copy.
    #[inline]
    #[must_use]
    pub fn words(&self) -> usize {
        self.bytes.div_ceil(WORD)
    }

    /// What a copy is aligned to: bytes, a power of two and at least a word.
    #[inline]
    #[must_use]
    pub fn align(&self) -> usize {
        self.align.max(WORD)
    }

    /// Words that are enough for a copy wherever they begin.
    #[inline]
    #[must_use]
    pub fn words_needed(&self) -> usize {
        self.bytes.div_ceil(WORD) + self.align() / WORD
    }

    /// Writes the first words of the program's own block: what the runtime
    /// tells the task (an event, the bounds of a loop). Words that are not
    /// there are not written.
    pub fn set_head(&self, head: &[u64]) {
        for (index, &word) in head.iter().enumerate() {
            if (index + 1) * WORD <= self.bytes && !self.block.is_null() {
                // SAFETY: inside the block by the check; `from_program`'s
                // caller promised that its first words are writable.
                unsafe {
                    self.block.cast::<u64>().add(index).write_unaligned(word);
                }
            }
        }
    }

    /// Has the program's function copy the block to `room`, an address aligned as
    /// [asked](Self::align) with room for all [words](Self::words). `None` if it has none, and
    /// nothing but the bytes are to be copied.
    #[must_use]
    pub fn copy_by_program(&self, room: usize) -> Option<Opaque> {
        let copy = self.copy?;
        copy(Opaque(room), self.original());
        Some(Opaque(room))
    }

    /// Copies the block into `words`, which nobody else uses now, and returns
    /// the index of the copy's first word; `None` if it does not fit.
    #[inline]
    #[must_use]
    pub fn copy_to(&self, words: &[AtomicU64]) -> Option<usize> {
        let start = words.as_ptr() as usize;
        // Alignments are powers of two.
        let skip = start.wrapping_neg() & (self.align() - 1);
        let first = skip / WORD;
        let room = words.get(first..)?;
        if room.len() * WORD < self.bytes {
            return None;
        }
        if let Some(copy) = self.copy {
            copy(Opaque(start + skip), self.original());
            return Some(first);
        }
        let full = self.bytes / WORD;
        for (index, word) in room[..full].iter().enumerate() {
            // SAFETY: `index < bytes / 8`, and `from_program`'s caller
            // promised `bytes` readable bytes.
            let value = unsafe { self.block.cast::<u64>().add(index).read_unaligned() };
            word.store(value, Ordering::Relaxed);
        }
        let rest = self.bytes % WORD;
        if rest != 0 {
            let mut last = [0; WORD];
            for (index, byte) in last[..rest].iter_mut().enumerate() {
                // SAFETY: `full * 8 + index < bytes`, as above.
                *byte = unsafe { self.block.add(full * WORD + index).read() };
            }
            room[full].store(u64::from_ne_bytes(last), Ordering::Relaxed);
        }
        Some(first)
    }
}

/// Address of a word, for the program to use as the start of its block.
#[inline]
#[must_use]
pub fn address_of(word: &AtomicU64) -> Opaque {
    Opaque(word.as_ptr().expose_provenance())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(count: usize) -> Vec<AtomicU64> {
        (0..count).map(|_| AtomicU64::new(0)).collect()
    }

    fn bytes_of(words: &[AtomicU64]) -> Vec<u8> {
        let value = |word: &AtomicU64| word.load(Ordering::Relaxed).to_ne_bytes();
        words.iter().flat_map(value).collect()
    }

    fn arguments(block: &mut [u8], align: usize) -> Arguments {
        let address = Opaque(block.as_mut_ptr().expose_provenance());
        // SAFETY: the slice outlives the use below and nobody else touches it.
        unsafe { Arguments::from_program(address, block.len(), align, None) }
    }

    #[test]
    fn every_size_and_alignment_is_copied_whole() {
        for size in 0..40 {
            for align in [1, 2, 8, 16, 64] {
                let mut block: Vec<u8> = (1..=size).collect();
                let from = arguments(&mut block, align);
                let to = words(from.words_needed() + 1);
                // Any start inside the words must do.
                let first = from.copy_to(&to[1..]).unwrap() + 1;
                assert_eq!(address_of(&to[first]).0 % align, 0);
                assert_eq!(bytes_of(&to[first..])[..block.len()], block);
            }
        }
    }

    #[test]
    fn a_block_too_large_is_refused() {
        let mut block = [0; 17];
        assert_eq!(arguments(&mut block, 1).copy_to(&words(2)), None);
    }

    #[test]
    fn the_head_is_written_as_far_as_it_goes() {
        let mut block = [7; 12];
        arguments(&mut block, 1).set_head(&[1, 2]);
        assert_eq!(block, [1, 0, 0, 0, 0, 0, 0, 0, 7, 7, 7, 7]);
    }

    #[test]
    fn the_copy_function_does_the_copying() {
        extern "C" fn copy(to: Opaque, from: Opaque) {
            let to = std::ptr::with_exposed_provenance_mut::<u64>(to.0);
            let from = std::ptr::with_exposed_provenance::<u64>(from.0);
            // SAFETY: the test passes a block of one word and room for it.
            unsafe { to.write(from.read() + 1) };
        }
        let mut block = [41_u64];
        let address = Opaque(block.as_mut_ptr().expose_provenance());
        // SAFETY: the block outlives the use below.
        let from = unsafe { Arguments::from_program(address, 8, 8, Some(copy)) };
        let to = words(1);
        assert_eq!(from.copy_to(&to), Some(0));
        assert_eq!(to[0].load(Ordering::Relaxed), 42);
    }
}
