//! What changed in a page, exact to the byte.
//!
//! Two nodes may write neighbouring bytes of a page in the same interval, so a
//! diff must never carry a byte that its writer did not change: it would undo
//! the other's write. A diff is therefore two levels of masks and the changed
//! bytes: 64 bits say which blocks of 64 bytes changed; for each of those, 64
//! bits say which of its bytes did, and these bytes follow. At most
//! [`Diff::BYTES_MAX`] bytes, 24 for one changed double.

use fathomp_types::PAGE_BYTES;
use std::cmp::Ordering;
use std::ops::Range;

/// Bytes that one bit of the outer mask stands for.
const BLOCK_BYTES: usize = 64;
/// Bytes of a mask.
const MASK_BYTES: usize = size_of::<u64>();
/// Bytes that are compared and copied at once.
const WORD_BYTES: usize = size_of::<u64>();

/// A block.
type Words = [u64; BLOCK_BYTES / WORD_BYTES];

/// The content of one page.
pub type PageBytes = [u8; PAGE_BYTES];

/// Changed bytes of one page, in the form in which they travel, owned or
/// borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Diff<T = Box<[u8]>>(T);

/// Bytes that came from elsewhere and are no diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiffError {
    /// Shorter than its masks promise.
    #[error("a diff ends after {0} bytes, before all changed bytes it announces")]
    CutShort(usize),
    /// Longer than its masks promise.
    #[error("a diff of {announced} bytes is followed by {surplus} more")]
    TooLong {
        /// Bytes that the masks account for.
        announced: usize,
        /// Bytes after these.
        surplus: usize,
    },
    /// A block is named as changed, but none of its bytes is.
    #[error("a diff names block {0} as changed without a changed byte")]
    EmptyBlock(usize),
}

impl Diff {
    /// Length of a diff in which every byte changed.
    pub const BYTES_MAX: usize = MASK_BYTES + PAGE_BYTES / BLOCK_BYTES * MASK_BYTES + PAGE_BYTES;

    /// Length of a diff in which one aligned word changed.
    pub const BYTES_OF_WORD: usize = 2 * MASK_BYTES + WORD_BYTES;

    /// Length of a diff in which every other word changed, half of each block.
    pub const BYTES_OF_HALF: usize =
        MASK_BYTES + PAGE_BYTES / BLOCK_BYTES * (MASK_BYTES + BLOCK_BYTES / 2);

    /// The bytes of `page` that differ from `twin`, its content before.
    #[must_use]
    pub fn between(twin: &PageBytes, page: &PageBytes) -> Self {
        let mut room = [0; Self::BYTES_MAX + WORD_BYTES];
        let length = encode(twin, page, &mut room);
        Self(room[..length].into())
    }

    /// Appends the diff between `twin` and `page` to `bytes`, as it travels.
    pub fn append_between(twin: &PageBytes, page: &PageBytes, bytes: &mut Vec<u8>) {
        let mut room = [0; Self::BYTES_MAX + WORD_BYTES];
        let length = encode(twin, page, &mut room);
        bytes.extend_from_slice(&room[..length]);
    }

    /// Whether bytes that came from another node are a diff.
    ///
    /// # Errors
    /// If they are not exactly one.
    pub fn check(bytes: &[u8]) -> Result<(), DiffError> {
        let cut = DiffError::CutShort(bytes.len());
        let mut at = 0;
        for block in ones(mask_at(bytes, &mut at).ok_or(cut)?) {
            match mask_at(bytes, &mut at).ok_or(cut)? {
                0 => return Err(DiffError::EmptyBlock(block)),
                mask => at += mask.count_ones() as usize,
            }
        }
        match bytes.len().cmp(&at) {
            Ordering::Less => Err(cut),
            Ordering::Equal => Ok(()),
            Ordering::Greater => Err(DiffError::TooLong {
                announced: at,
                surplus: bytes.len() - at,
            }),
        }
    }
}

impl<T: AsRef<[u8]>> Diff<T> {
    /// Takes over bytes that came from another node.
    ///
    /// # Errors
    /// If they are not exactly one diff. A diff that was accepted can be applied
    /// to any page.
    pub fn from_bytes(bytes: T) -> Result<Self, DiffError> {
        Diff::check(bytes.as_ref()).map(|()| Self(bytes))
    }

    /// The form in which it travels.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_ref()
    }

    /// True if no byte changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.as_bytes().len() <= MASK_BYTES
    }

    /// How often [`visit`](Self::visit) calls.
    #[must_use]
    pub fn runs(&self) -> usize {
        let bytes = self.as_bytes();
        let mut at = 0;
        let blocks = mask_at(bytes, &mut at).unwrap_or(0).count_ones();
        let of_block = (0..blocks).map(|_| {
            let mask = mask_at(bytes, &mut at).unwrap_or(0);
            at += mask.count_ones() as usize;
            // The first of a run follows none.
            (mask & !(mask << 1)).count_ones() as usize
        });
        of_block.sum()
    }

    /// Writes the changed bytes into `page` and leaves the others alone.
    pub fn apply(&self, page: &mut PageBytes) {
        self.visit(|target, bytes| page[target].copy_from_slice(bytes));
    }

    /// Calls `change` with each run of changed bytes: where it lies in the page
    /// and what is to be there.
    pub fn visit(&self, mut change: impl FnMut(Range<usize>, &[u8])) {
        let bytes = self.as_bytes();
        let mut at = 0;
        // The constructors made sure that nothing is missing.
        for block in ones(mask_at(bytes, &mut at).unwrap_or(0)) {
            let mut mask = mask_at(bytes, &mut at).unwrap_or(0);
            let mut start = block * BLOCK_BYTES;
            while mask != 0 {
                let gap = mask.trailing_zeros() as usize;
                let run = (mask >> gap).trailing_ones() as usize;
                change(start + gap..start + gap + run, &bytes[at..at + run]);
                at += run;
                start += gap + run;
                mask = mask.checked_shr((gap + run) as u32).unwrap_or(0);
            }
        }
    }
}

/// Writes a diff to the beginning of `room`; its length.
fn encode(
    twin: &PageBytes,
    page: &PageBytes,
    room: &mut [u8; Diff::BYTES_MAX + WORD_BYTES],
) -> usize {
    let (mut blocks, mut at) = (0_u64, MASK_BYTES);
    let (before, _) = twin.as_chunks::<BLOCK_BYTES>();
    let (after, _) = page.as_chunks::<BLOCK_BYTES>();
    for (index, (before, after)) in before.iter().zip(after).enumerate() {
        let (before, after) = (words(before), words(after));
        let differs: Words = std::array::from_fn(|i| before[i] ^ after[i]);
        // The common case, and one that compiles to a few vector instructions.
        if differs.iter().fold(0, |all, word| all | word) == 0 {
            continue;
        }
        blocks |= 1 << index;
        let masks = differs.map(nonzero_bytes);
        room[at..at + MASK_BYTES].copy_from_slice(&masks);
        at += MASK_BYTES;
        for (word, mask) in after.into_iter().zip(masks) {
            at += pack(word, mask, &mut room[at..]);
        }
    }
    room[..MASK_BYTES].copy_from_slice(&blocks.to_le_bytes());
    at
}

fn words(block: &[u8; BLOCK_BYTES]) -> Words {
    let (words, _) = block.as_chunks::<WORD_BYTES>();
    std::array::from_fn(|index| u64::from_le_bytes(words[index]))
}

/// Writes the bytes of `word` that `mask` names to the beginning of `room`; how many.
/// What follows them is written as well, and to be written again.
#[inline]
fn pack(word: u64, mut mask: u8, room: &mut [u8]) -> usize {
    let mut at = 0;
    while mask != 0 {
        let gap = mask.trailing_zeros();
        let run = (mask >> gap).trailing_ones();
        room[at..at + WORD_BYTES].copy_from_slice(&(word >> (8 * gap)).to_le_bytes());
        at += run as usize;
        // Adding one to a run's lowest bit clears it and sets the one behind it.
        mask &= mask.wrapping_add(1 << gap);
    }
    at
}

/// Bit `i` says whether byte `i` of `word` is not zero.
fn nonzero_bytes(word: u64) -> u8 {
    const LOW_BITS: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    // The sum carries into a byte's top bit if any of its low bits is set.
    let tops = (((word & LOW_BITS) + LOW_BITS) | word) & !LOW_BITS;
    // The product moves the top bit of byte i to bit 56 + i.
    ((tops >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// Positions of the bits that are set, ascending.
fn ones(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(lowest)
    })
}

/// The mask at `*at`, which moves behind it.
fn mask_at(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let (mask, _) = bytes.get(*at..)?.split_first_chunk::<MASK_BYTES>()?;
    *at += MASK_BYTES;
    Some(u64::from_le_bytes(*mask))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A page whose bytes all differ from their neighbours'.
    fn page() -> PageBytes {
        std::array::from_fn(|i| (i % 251) as u8)
    }

    #[test]
    fn lengths_that_prices_are_of_are_those_of_such_diffs() {
        let length = |changes: fn(usize) -> bool| {
            let mut page = [0; PAGE_BYTES];
            let words = page.chunks_exact_mut(WORD_BYTES).enumerate();
            for (_, word) in words.filter(|(number, _)| changes(*number)) {
                word.fill(1);
            }
            Diff::between(&[0; PAGE_BYTES], &page).as_bytes().len()
        };
        assert_eq!(length(|word| word == 77), Diff::BYTES_OF_WORD);
        assert_eq!(length(|word| word % 2 == 0), Diff::BYTES_OF_HALF);
        assert_eq!(length(|_| true), Diff::BYTES_MAX);
    }

    #[test]
    fn equal_pages_give_an_empty_diff() {
        let diff = Diff::between(&page(), &page());
        assert!(diff.is_empty());
        assert_eq!(diff.as_bytes().len(), MASK_BYTES);
    }

    #[test]
    fn a_page_changed_throughout_is_as_long_as_promised() {
        let after = page().map(|b| !b);
        let diff = Diff::between(&page(), &after);
        assert_eq!(diff.as_bytes().len(), Diff::BYTES_MAX);
        let mut rebuilt = page();
        diff.apply(&mut rebuilt);
        assert_eq!(rebuilt, after);
    }

    #[test]
    fn one_double_takes_24_bytes() {
        let mut after = page();
        after[4088..].copy_from_slice(&[0xee; 8]);
        assert_eq!(Diff::between(&page(), &after).as_bytes().len(), 24);
    }

    #[test]
    fn runs_end_at_gaps_and_blocks() {
        let runs = |changed: fn(usize) -> bool| {
            let after = std::array::from_fn(|i| page()[i] ^ u8::from(changed(i)));
            let diff = Diff::between(&page(), &after);
            let mut visited = 0;
            diff.visit(|_, _| visited += 1);
            assert_eq!(diff.runs(), visited);
            visited
        };
        assert_eq!(
            [runs(|_| false), runs(|i| i == 63), runs(|_| true)],
            [0, 1, 64]
        );
        // Every second word, and all but the last byte of each.
        assert_eq!(runs(|i| i / 8 % 2 == 0), 256);
        assert_eq!(runs(|i| i % 8 < 7), 512);
        assert_eq!(runs(|i| (60..70).contains(&i)), 2);
    }

    #[test]
    fn cut_and_extended_diffs_are_refused() {
        let mut after = page();
        after[100] ^= 1;
        after[4000] ^= 1;
        let good = Diff::between(&page(), &after);
        let bytes = good.as_bytes();
        for cut in 0..bytes.len() {
            assert_eq!(Diff::check(&bytes[..cut]), Err(DiffError::CutShort(cut)));
        }
        assert_eq!(
            Diff::check(&[bytes, &[0]].concat()),
            Err(DiffError::TooLong {
                announced: bytes.len(),
                surplus: 1
            })
        );
        let mut empty_block = vec![1, 0, 0, 0, 0, 0, 0, 0];
        empty_block.extend([0; 8]);
        assert_eq!(Diff::check(&empty_block), Err(DiffError::EmptyBlock(0)));
    }

    proptest! {
        #[test]
        fn two_writers_of_different_bytes_do_not_disturb_each_other(
            writes in prop::collection::vec((0..PAGE_BYTES, any::<u8>(), any::<bool>()), 0..300)
        ) {
            let twin = page();
            let (mut merged, mut expected) = (twin, twin);
            let mut pages = [twin, twin];
            let mut owner = [None; PAGE_BYTES];
            for (at, value, second) in writes {
                let writer = *owner[at].get_or_insert(usize::from(second));
                pages[writer][at] = value;
                expected[at] = value;
            }
            for page in &pages {
                let diff = Diff::between(&twin, page);
                prop_assert_eq!(Diff::check(diff.as_bytes()), Ok(()));
                diff.apply(&mut merged);
            }
            prop_assert!(merged == expected);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(diff) = Diff::from_bytes(bytes) {
                diff.apply(&mut page());
            }
        }
    }
}
