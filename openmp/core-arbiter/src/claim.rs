//! What a program says of itself, as words of the board.

use crate::cores::{CORES_MAX, Cores};
use crate::speedup::Speedup;

/// What a program does at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activity {
    /// It is not there, or sleeps: it wants nothing.
    #[default]
    Absent,
    /// Its initial thread computes outside of parallel regions.
    Serial,
    /// It is in a parallel region.
    Region,
    /// It has been started and is not at the board yet; so says whoever started it.
    Expected,
}

/// A claim to cores.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Claim {
    /// What the program does.
    pub activity: Activity,
    /// Threads that its present or last region asked for, at least 1 if it is there.
    pub wanted: u32,
    /// What cores bring to that region.
    pub speedup: Speedup,
    /// Cores that it has taken.
    pub held: Cores,
    /// How long its serial parts usually last, nanoseconds (a power of two); none if it has
    /// had none.
    pub serial_ns: Option<u64>,
    /// When `activity` began, nanoseconds of the monotonic clock.
    pub since_ns: u64,
}

/// Activity, threads wanted and the usual length of serial parts in one word.
///
/// ```text
/// bits 0..2 activity, 2..18 threads wanted, 18..24 log2 of nanoseconds + 1 (0: none),
/// 24..48 how often it changed, 48..64 check over the rest
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) activity: Activity,
    pub(crate) wanted: u32,
    pub(crate) serial_ns: Option<u64>,
    pub(crate) changes: u32,
}

const WANTED_MAX: u32 = CORES_MAX;
const CHECKED_BITS: u32 = 48;

/// Sixteen bits that follow from the others: the upper ones of a product, on which all
/// bits have an effect (the multiplier is that of SplitMix64).
fn check(bits: u64) -> u64 {
    let mixed = (bits ^ 0x5ab7_3f00_c1d2).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed >> 48
}

impl State {
    pub(crate) fn word(self) -> u64 {
        let activity = match self.activity {
            Activity::Absent => 0,
            Activity::Serial => 1,
            Activity::Region => 2,
            Activity::Expected => 3,
        };
        let serial = self
            .serial_ns
            .map_or(0, |ns| u64::from(ns.max(1).ilog2()) + 1);
        let bits = activity
            | u64::from(self.wanted.min(WANTED_MAX)) << 2
            | serial.min(63) << 18
            | u64::from(self.changes & 0x00ff_ffff) << 24;
        bits | check(bits) << CHECKED_BITS
    }

    /// None if that is nothing a program of ours writes.
    pub(crate) fn from_word(word: u64) -> Option<Self> {
        let bits = word & ((1 << CHECKED_BITS) - 1);
        if word >> CHECKED_BITS != check(bits) {
            return None;
        }
        let activity = match bits & 3 {
            0 => Activity::Absent,
            1 => Activity::Serial,
            2 => Activity::Region,
            _ => Activity::Expected,
        };
        let wanted = (bits >> 2 & 0xffff) as u32;
        let serial = bits >> 18 & 63;
        (1..=WANTED_MAX).contains(&wanted).then_some(Self {
            activity,
            wanted,
            serial_ns: serial.checked_sub(1).map(|log| 1 << log),
            changes: (bits >> 24) as u32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn states_pass_through_words(wanted in 1_u32..=CORES_MAX, log in 0_u32..63, changes in 0_u32..1 << 24) {
            let state = State {
                activity: Activity::Region,
                wanted,
                serial_ns: log.checked_sub(1).map(|log| 1 << log),
                changes,
            };
            prop_assert_eq!(State::from_word(state.word()), Some(state));
        }

        #[test]
        fn a_changed_bit_is_noticed(wanted in 1_u32..=CORES_MAX, bit in 0_u32..64) {
            let state = State { activity: Activity::Serial, wanted, serial_ns: None, changes: 7 };
            prop_assert_eq!(State::from_word(state.word() ^ 1 << bit), None);
        }

        #[test]
        fn any_word_is_read(word: u64) {
            if let Some(state) = State::from_word(word) {
                prop_assert!(state.wanted >= 1 && state.wanted <= CORES_MAX);
            }
        }
    }
}
