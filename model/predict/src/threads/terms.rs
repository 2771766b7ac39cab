//! The terms of the scaling model, one bit each.

use serde::{Serialize, Serializer, ser::SerializeSeq};

/// A reason why a region takes the time it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Term {
    /// Application code divided evenly among the threads.
    Work = 0,
    /// Outside all regions, where one thread computes.
    Serial = 1,
    /// Inside a region, where one thread computes and the others wait
    /// (`single`, `master`, a critical path of tasks).
    SerialInRegion = 2,
    /// Threads have unequal shares of the work.
    Imbalance = 3,
    /// Waiting for a critical section or lock.
    Mutex = 4,
    /// Waiting for one's turn in ordered constructs.
    Ordered = 5,
    /// Barriers, forking, handing out chunks, making tasks.
    Overhead = 6,
    /// Application code takes longer the more threads run (memory bandwidth,
    /// caches, clock frequency).
    Saturation = 7,
    /// Reading and writing files.
    Io = 8,
    /// Waiting for other nodes.
    Communication = 9,
    /// More threads than processors.
    Oversubscription = 10,
    /// Fewer pieces of work than threads, or not many more.
    Pieces = 11,
    /// Asleep, or waiting for something other than OpenMP's constructs.
    Blocked = 12,
}

impl Term {
    /// All terms, in the order of their numbers.
    pub const ALL: [Self; 13] = [
        Self::Work,
        Self::Serial,
        Self::SerialInRegion,
        Self::Imbalance,
        Self::Mutex,
        Self::Ordered,
        Self::Overhead,
        Self::Saturation,
        Self::Io,
        Self::Communication,
        Self::Oversubscription,
        Self::Pieces,
        Self::Blocked,
    ];
    /// Number of terms.
    pub const COUNT: usize = Self::ALL.len();

    /// Name as in JSON and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Serial => "serial",
            Self::SerialInRegion => "serial_in_region",
            Self::Imbalance => "imbalance",
            Self::Mutex => "mutex",
            Self::Ordered => "ordered",
            Self::Overhead => "overhead",
            Self::Saturation => "saturation",
            Self::Io => "io",
            Self::Communication => "communication",
            Self::Oversubscription => "oversubscription",
            Self::Pieces => "pieces",
            Self::Blocked => "blocked",
        }
    }

    /// What to call it in a sentence.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Work => "divided work",
            Self::Serial => "serial time between regions",
            Self::SerialInRegion => "serial time inside the region",
            Self::Imbalance => "load imbalance",
            Self::Mutex => "waiting for critical sections and locks",
            Self::Ordered => "waiting in ordered constructs",
            Self::Overhead => "construct overhead",
            Self::Saturation => "computing that takes longer with more threads",
            Self::Io => "input and output",
            Self::Communication => "communication",
            Self::Oversubscription => "more threads than processors",
            Self::Pieces => "fewer pieces of work than threads",
            Self::Blocked => "being blocked (sleep, files, sockets)",
        }
    }
}

/// A set of terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Terms(u16);

impl Terms {
    /// Every term.
    pub const ALL: Self = Self((1 << Term::COUNT) - 1);
    /// Divided work alone: the ideal.
    pub const WORK: Self = Self(1 << Term::Work as u8);

    /// This set and `term`.
    #[must_use]
    pub const fn with(self, term: Term) -> Self {
        Self(self.0 | 1 << term as u8)
    }

    /// This set without `term`. Work cannot be left out.
    #[must_use]
    pub const fn without(self, term: Term) -> Self {
        Self(self.0 & !(1 << term as u8) | Self::WORK.0)
    }

    /// Whether `term` is in the set.
    #[must_use]
    pub const fn contains(self, term: Term) -> bool {
        self.0 & 1 << term as u8 != 0
    }
}

impl Default for Terms {
    fn default() -> Self {
        Self::ALL
    }
}

impl Serialize for Terms {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for term in Term::ALL {
            if self.contains(term) {
                list.serialize_element(&term)?;
            }
        }
        list.end()
    }
}
