//! What a recorder that is not part of the OpenMP runtime says of itself: which
//! runtime it watched, what that did not show, and what the watching cost.

use fathomp_types::Ticks;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A recorder that watched a runtime from outside.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ForeignRecorder {
    /// The runtime's library.
    pub library: PathBuf,
    /// What the runtime did not show, though the program did it or may have done it.
    pub unseen: Vec<Unseen>,
    /// How often the runtime told something that cannot be, or failed to tell.
    pub lapses: Vec<(Lapse, u64)>,
    /// Events that were told.
    pub events: u64,
    /// Time in the recorder, all threads together, from those of the events that were timed.
    pub cost: Ticks,
}

/// Something that a runtime does not show to those who watch it from outside.
///
/// The numbers are part of the recording format; new ones go at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Unseen {
    /// Loops that gcc divides among the threads by itself.
    DividedLoops = 0,
    /// Which iterations of a loop a thread runs.
    Iterations = 1,
    /// Waits of doacross loops.
    Doacross = 2,
    /// The code of regions.
    Bodies = 3,
    /// Regions that were begun by the calls of gcc before 4.9.
    OldRegions = 4,
    /// Whether critical sections and locks were free.
    FreeMutexes = 5,
}

impl Unseen {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 6] = [
        Self::DividedLoops,
        Self::Iterations,
        Self::Doacross,
        Self::Bodies,
        Self::OldRegions,
        Self::FreeMutexes,
    ];

    /// What is not seen and why, as a sentence for the user.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::DividedLoops => {
                "Loops with a static schedule, which gcc divides without a call, are part of their region's computing."
            }
            Self::Iterations => {
                "The runtime tells when a thread enters and leaves a loop, but not which iterations it runs (no ompt_callback_dispatch), so iterations and chunks are unknown."
            }
            Self::Doacross => {
                "Waits for other iterations of a doacross loop are calls with any number of arguments, which are not watched, so they count as computing."
            }
            Self::Bodies => {
                "The runtime does not tell which function a region's code is, so regions are known by the place that begins them alone."
            }
            Self::OldRegions => {
                "Regions of code that was compiled by a gcc before 4.9 are begun by other calls (GOMP_parallel_start), which are not watched."
            }
            Self::FreeMutexes => {
                "The time to enter a critical section or take a lock counts as waiting for it even if it was free."
            }
        }
    }

    /// Those of a set of bits.
    pub(crate) fn of_bits(bits: u64) -> Vec<Self> {
        let all = Self::ALL.into_iter();
        all.filter(|one| bits >> *one as u8 & 1 != 0).collect()
    }
}

/// A runtime told something that cannot be, or failed to tell.
///
/// The numbers are part of the recording format; new ones go at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Lapse {
    /// A region began without a code pointer.
    NoCallOfRegion = 0,
    /// Something else had no code pointer.
    NoCall = 1,
    /// A wait began that never ended.
    WaitWithoutEnd = 2,
    /// A wait ended that never began.
    WaitWithoutBegin = 3,
    /// A thread's part in a region began before the one before had ended.
    PartWithoutEnd = 4,
    /// A thread's part in a region ended that had not begun.
    PartWithoutBegin = 5,
    /// A thread began its part in a region that nobody had begun.
    RegionUnknown = 6,
}

impl Lapse {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::NoCallOfRegion,
        Self::NoCall,
        Self::WaitWithoutEnd,
        Self::WaitWithoutBegin,
        Self::PartWithoutEnd,
        Self::PartWithoutBegin,
        Self::RegionUnknown,
    ];

    /// What the runtime did `times` times, and what was made of it, as a sentence for the user.
    #[must_use]
    pub fn sentence(self, times: u64) -> String {
        let (what, so) = match self {
            Self::NoCallOfRegion => (
                "did not say where in the program a region begins",
                "such regions are shown as one",
            ),
            Self::NoCall => (
                "did not say which construct a wait or a loop belongs to",
                "these are put down to their region",
            ),
            Self::WaitWithoutEnd => (
                "did not say that a wait was over",
                "the wait was ended by what the thread did next",
            ),
            Self::WaitWithoutBegin => (
                "ended a wait that had not begun",
                "these ends were passed over",
            ),
            Self::PartWithoutEnd => (
                "did not say that a thread had left a region",
                "it was ended where the thread was seen to go on",
            ),
            Self::PartWithoutBegin => (
                "let a thread leave a region that it had not entered",
                "these ends were passed over",
            ),
            Self::RegionUnknown => (
                "let a thread enter a region that nobody had begun",
                "these were not recorded",
            ),
        };
        let often = match times {
            1 => "once".to_owned(),
            2 => "twice".to_owned(),
            _ => format!("{times} times"),
        };
        format!("The runtime {what} ({often}); {so}.")
    }

    pub(crate) fn of_words(count: impl Fn(usize) -> u64) -> Vec<(Self, u64)> {
        let all = Self::ALL.into_iter();
        all.map(|one| (one, count(one as usize)))
            .filter(|(_, times)| *times != 0)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_order_agree() {
        for (number, one) in Unseen::ALL.into_iter().enumerate() {
            assert_eq!(one as usize, number);
            assert_eq!(Unseen::of_bits(1 << number), [one]);
            assert!(one.sentence().ends_with('.'));
        }
        for (number, one) in Lapse::ALL.into_iter().enumerate() {
            assert_eq!(one as usize, number);
            let counted = Lapse::of_words(|at| u64::from(at == number) * 3);
            assert_eq!(counted, [(one, 3)]);
            assert!(one.sentence(3).contains("3 times"));
        }
    }
}
