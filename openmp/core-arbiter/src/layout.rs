//! Where on the board what is, in 64-bit words.
//!
//! ```text
//! 0            "FTHBOARD" with the version in the last byte
//! 1            slots, cores, words of each ring of events (0: none), 16 bits each
//! 16..80       the kernel's numbers of the cores, 16 bits each
//! 128..        slots of 48 words: which process (0), its speedup curve (1);
//!              what it does (16), since when (17), the cores it holds (18..22);
//!              events written (32) and read (40)
//! behind them  rings of events, one for each slot
//! ```

use crate::cores::CORES_MAX;
use crate::policy::PROGRAMS_MAX;

/// First word of a board.
pub const MAGIC: u64 = u64::from_le_bytes(*b"FTHBOARD") ^ VERSION << 56;
const VERSION: u64 = 1;

/// Words of each ring of events, if events are wanted.
pub const RING_WORDS: usize = 1 << 14;

pub(crate) const SHAPE: usize = 1;
pub(crate) const NUMBERS: usize = 16;
const SLOTS: usize = 128;
const SLOT: usize = 48;

/// Words within a slot.
pub(crate) mod at {
    pub(crate) const OWNER: usize = 0;
    pub(crate) const CURVE: usize = 1;
    pub(crate) const STATE: usize = 16;
    pub(crate) const SINCE: usize = 17;
    pub(crate) const HELD: usize = 18;
    pub(crate) const HEAD: usize = 32;
    pub(crate) const TAIL: usize = 40;
}

/// How large a board is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Slots, 1 to [`PROGRAMS_MAX`].
    pub slots: usize,
    /// Cores, 1 to [`CORES_MAX`].
    pub cores: u32,
    /// Whether there are rings of events.
    pub events: bool,
}

impl Shape {
    pub(crate) fn word(self) -> u64 {
        let ring = if self.events { RING_WORDS as u64 } else { 0 };
        self.slots as u64 | u64::from(self.cores) << 16 | ring << 32
    }

    /// None if there can be no such board.
    pub(crate) fn from_word(word: u64) -> Option<Self> {
        let field = |at: u32| (word >> at & 0xffff) as usize;
        let shape = Self {
            slots: field(0),
            cores: field(16) as u32,
            events: field(32) != 0,
        };
        let whole = word >> 48 == 0 && [0, RING_WORDS].contains(&field(32));
        let fits =
            (1..=PROGRAMS_MAX).contains(&shape.slots) && (1..=CORES_MAX).contains(&shape.cores);
        (whole && fits).then_some(shape)
    }

    /// Words of the whole board.
    #[must_use]
    pub fn words(self) -> usize {
        self.ring(self.slots)
    }

    pub(crate) fn slot(self, slot: usize) -> usize {
        SLOTS + slot * SLOT
    }

    pub(crate) fn ring(self, slot: usize) -> usize {
        let ring = if self.events { RING_WORDS } else { 0 };
        SLOTS + self.slots * SLOT + slot * ring
    }
}
