//! What a node is at, so that the others can say it if its process ends. With
//! several threads, what one of them has begun last.

use std::fmt;

/// What a node is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Doing {
    Start,
    Compute,
    Fetch,
    Barrier,
    AwaitLock,
    HoldLock,
    Leave,
}

impl Doing {
    const ALL: [Self; 7] = [
        Self::Start,
        Self::Compute,
        Self::Fetch,
        Self::Barrier,
        Self::AwaitLock,
        Self::HoldLock,
        Self::Leave,
    ];

    /// As a number for others.
    pub(crate) fn word(self) -> u32 {
        self as u32
    }

    /// What a number means; a node that lies has not begun.
    pub(crate) fn from_word(word: u32) -> Self {
        let known = Self::ALL.into_iter().find(|doing| doing.word() == word);
        known.unwrap_or(Self::Start)
    }
}

/// As the end of a sentence.
impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "while it started",
            Self::Compute => "while it computed",
            Self::Fetch => "while it waited for a page",
            Self::Barrier => "while it waited at a barrier or for work",
            Self::AwaitLock => "while it waited for a lock",
            Self::HoldLock => "while it held a lock",
            Self::Leave => "while it left",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_mean_what_they_say() {
        for doing in Doing::ALL {
            assert_eq!(Doing::from_word(doing.word()), doing);
        }
        assert_eq!(Doing::from_word(1000), Doing::Start);
    }
}
