//! What a node is at, so that the others can say it if its process ends, or if nobody
//! gets any further. With several threads, what one of them has begun last.

use std::fmt;

/// What a node is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Activity {
    Start,
    Compute,
    Fetch,
    Barrier,
    AwaitLock,
    HoldLock,
    Leave,
    AwaitCell,
    Flush,
    AwaitTask,
    AwaitAtomic,
}

impl Activity {
    const ALL: [Self; 11] = [
        Self::Start,
        Self::Compute,
        Self::Fetch,
        Self::Barrier,
        Self::AwaitLock,
        Self::HoldLock,
        Self::Leave,
        Self::AwaitCell,
        Self::Flush,
        Self::AwaitTask,
        Self::AwaitAtomic,
    ];

    /// As a number for others, which is another one each time that `turn` is.
    pub(crate) fn word(self, turn: u32) -> u32 {
        self as u32 | turn << KIND_BITS
    }

    /// What a number means; a node that lies has not begun.
    pub(crate) fn from_word(word: u32) -> Self {
        let kind = word & ((1 << KIND_BITS) - 1);
        let known = Self::ALL
            .into_iter()
            .find(|activity| *activity as u32 == kind);
        known.unwrap_or(Self::Start)
    }

    /// Whether it waits for other nodes.
    pub(crate) fn waits(self) -> bool {
        match self {
            Self::Fetch
            | Self::Barrier
            | Self::AwaitLock
            | Self::AwaitCell
            | Self::Flush
            | Self::AwaitTask
            | Self::AwaitAtomic => true,
            Self::Start | Self::Compute | Self::HoldLock | Self::Leave => false,
        }
    }
}

/// Bits of a number that say what; the others say that it is something new.
const KIND_BITS: u32 = 8;

/// As the end of a sentence.
impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "while it started",
            Self::Compute => "while it computed",
            Self::Fetch => "while it waited for a page",
            Self::Barrier => "while it waited at a barrier or for work",
            Self::AwaitLock => "while it waited for a lock",
            Self::HoldLock => "while it held a lock",
            Self::Leave => "while it left",
            Self::AwaitCell => "while it waited for others in a worksharing construct",
            Self::Flush => "while it flushed",
            Self::AwaitTask => "while it waited for tasks",
            Self::AwaitAtomic => "while it waited for an atomic instruction",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_mean_what_they_say() {
        for activity in Activity::ALL {
            for turn in [0, 1, u32::MAX] {
                assert_eq!(Activity::from_word(activity.word(turn)), activity);
            }
            assert_ne!(activity.word(1), activity.word(2));
        }
        assert_eq!(Activity::from_word(99), Activity::Start);
    }
}
