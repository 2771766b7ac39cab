//! The words through which members agree which of them does what.
//!
//! Each word carries a tag made from the number of the construct it serves.
//! A word whose tag is not the construct's is left over from an older one and
//! stands for index 0, so nobody has to reset anything between constructs.
//! Members of a construct all know its number without talking to each other:
//! they meet the constructs of a region in the same order.

use super::primitive::{AtomicU64, Ordering};

/// Constructs in flight between two barriers that have a slot of their own.
pub(crate) const RING: u32 = 16;

const INDEX_BITS: u32 = 36;
const INDEX: u64 = (1 << INDEX_BITS) - 1;

/// Largest number of units a claim word can deal out; above it there is room
/// for the members' attempts at an exhausted loop.
pub(crate) const UNITS_MAX: u64 = 1 << (INDEX_BITS - 1);

/// A construct's number as the upper bits of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag(u64);

impl Tag {
    /// Constructs that share a slot have different tags until the number
    /// wraps: the tag is what is left of the number beside the slot's.
    #[inline]
    pub(crate) const fn of(construct: u32) -> Self {
        Self(((construct / RING) as u64) << INDEX_BITS)
    }

    #[inline]
    const fn with(self, index: u64) -> u64 {
        self.0 | (index & INDEX)
    }

    #[inline]
    const fn is_on(self, word: u64) -> bool {
        word & !INDEX == self.0
    }

    /// What a word says to this construct.
    #[inline]
    const fn read(self, word: u64) -> u64 {
        if self.is_on(word) { word & INDEX } else { 0 }
    }

    /// The tag of the construct that used the slot before, if none was skipped.
    #[inline]
    const fn previous(self) -> Self {
        Self(self.0.wrapping_sub(1 << INDEX_BITS))
    }
}

/// Deals out indices, each once.
#[derive(Debug)]
pub(crate) struct Claim(AtomicU64);

impl Claim {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Nothing has been claimed of the construct with this tag. For slots that
    /// nobody else can reach yet.
    pub(crate) fn reset(&self, tag: Tag) {
        self.0.store(tag.previous().with(0), Ordering::Relaxed);
    }

    /// Whether the caller is the first; for constructs that use the word for
    /// nothing else.
    #[inline]
    pub(crate) fn win(&self, tag: Tag) -> bool {
        // Guess what an earlier `single` left: one transfer of the line
        // instead of two.
        let guess = tag.previous().with(1);
        match self.exchange(guess, tag.with(1)) {
            Ok(_) => true,
            Err(seen) if tag.is_on(seen) => false,
            Err(seen) => self.exchange(seen, tag.with(1)).is_ok(),
        }
    }

    /// Whether anything has been claimed of the construct with this tag.
    #[inline]
    pub(crate) fn is_begun(&self, tag: Tag) -> bool {
        tag.is_on(self.0.load(Ordering::Relaxed))
    }

    /// Claims `amount` indices and returns the first. The caller compares with
    /// the total; at most one failing claim per member fits above it.
    #[inline]
    pub(crate) fn add(&self, tag: Tag, amount: u64) -> u64 {
        let seen = self.0.load(Ordering::Relaxed);
        if !tag.is_on(seen) && self.exchange(seen, tag.with(amount)).is_ok() {
            return 0;
        }
        // If the exchange failed, another member of this construct was first:
        // nobody else uses the word now.
        self.add_more(amount)
    }

    /// The same after a first [`Claim::add`] of this construct by this member.
    #[inline]
    pub(crate) fn add_more(&self, amount: u64) -> u64 {
        self.0.fetch_add(amount, Ordering::Relaxed) & INDEX
    }

    /// Claims as many indices as `amount` says of those already claimed; 0
    /// ends it. Returns the claimed range.
    #[inline]
    pub(crate) fn take(&self, tag: Tag, amount: impl Fn(u64) -> u64) -> Option<(u64, u64)> {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            let first = tag.read(seen);
            let amount = amount(first);
            if amount == 0 {
                return None;
            }
            match self.exchange(seen, tag.with(first + amount)) {
                Ok(_) => return Some((first, first + amount)),
                Err(now) => seen = now,
            }
        }
    }

    #[inline]
    fn exchange(&self, old: u64, new: u64) -> Result<u64, u64> {
        self.0
            .compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed)
    }
}

/// The position of the chunk of an ordered loop whose turn it is, or was last
/// among those that share the word. Positions count modulo 2^36; members are
/// never that far apart.
#[derive(Debug)]
pub(crate) struct Turn(AtomicU64);

impl Turn {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    #[inline]
    pub(crate) fn is_at(&self, tag: Tag, position: u64) -> bool {
        tag.read(self.0.load(Ordering::SeqCst)) == position & INDEX
    }

    #[inline]
    pub(crate) fn pass_to(&self, tag: Tag, position: u64) {
        self.0.store(tag.with(position), Ordering::SeqCst);
    }
}
