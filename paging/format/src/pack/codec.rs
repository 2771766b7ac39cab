//! How an interval is packed (docs/paging-format.md, "Packed intervals").
//!
//! A first byte, the duration, and what differs from the interval before of the
//! same state (its cause), or of the same state and cause (what was counted):
//!
//! | Bits of the first byte | |
//! |---|---|
//! | 0-2 | the state; 6: a gap, 7: stays merged early, whose number and own first byte follow |
//! | 3 | a cause follows, else it is the one before |
//! | 4-5 | counts: [`NOTHING`], [`SAME_COUNTERS`], [`OTHER_COUNTERS`], [`SAME_COUNTS`] |
//! | 6-7 | bytes of the duration: 2, 3, 4 or 8 |

use crate::State;

/// In place of a state: the next interval begins later.
pub(super) const GAP: u8 = 6;
/// In place of a state: a number of stays, then the interval that stands for them.
pub(super) const MERGED: u8 = 7;
/// The bits of the state.
pub(super) const STATE: u8 = 7;
/// A cause follows.
pub(super) const CAUSE: u8 = 1 << 3;
/// Where the bits of the counts are.
pub(super) const COUNTS: u32 = 4;
/// Where the bits of the duration's length are.
pub(super) const LENGTH: u32 = 6;

/// Nothing was counted.
pub(super) const NOTHING: u8 = 0;
/// The counters of the last interval of that [`context`] in which anything was
/// counted; their counts follow.
pub(super) const SAME_COUNTERS: u8 = 1;
/// A mask of counters and their counts follow.
pub(super) const OTHER_COUNTERS: u8 = 2;
/// What was counted in the last interval of that [`context`] in which anything was.
pub(super) const SAME_COUNTS: u8 = 3;

/// Bytes of a duration, by its two bits.
pub(super) const LENGTHS: [usize; 4] = [2, 3, 4, 8];

/// The two bits for a duration.
#[inline]
pub(super) fn length_code(ticks: u64) -> u8 {
    u8::from(ticks >= 1 << 16) + u8::from(ticks >= 1 << 24) + u8::from(ticks >= 1 << 32)
}

/// Causes that are told apart by what they count; a power of two. Others share.
const CAUSES: usize = 16;
/// Number of contexts.
pub(super) const CONTEXTS: usize = State::COUNT * CAUSES;

/// The number of the context of a state, by its number, and a cause: calls of one
/// kind count alike.
#[inline]
pub(super) fn context(state: usize, cause: u32) -> usize {
    state * CAUSES + cause as usize % CAUSES
}
