//! What is known, what is not and why, and how much.

use serde::{Deserialize, Serialize};

/// Something that a scan found, or the reason why it did not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Known<T> {
    /// Found.
    Known(T),
    /// Not found.
    Unknown(Reason),
}

impl<T> Known<T> {
    /// What was found.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(found) => Some(found),
            Self::Unknown(_) => None,
        }
    }

    /// Why it was not found.
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Known(_) => None,
            Self::Unknown(reason) => Some(reason),
        }
    }
}

/// Why something is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The kind, to count by.
    pub kind: ReasonKind,
    /// What stood in the way: part of a sentence, such as `the call of f at 0x1234`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

impl Reason {
    /// A reason with its detail.
    #[must_use]
    pub fn new(kind: ReasonKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
        }
    }
}

/// Kinds of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// A value that a call left.
    Call,
    /// A value read from memory that the loop may change.
    ChangedMemory,
    /// A loop whose exit depends on data.
    DataDependentExit,
    /// A loop with several entries.
    Irreducible,
    /// A value that differs by the way control took.
    MergedValue,
    /// An instruction whose effect is not followed.
    Instruction,
    /// A jump whose targets are not known.
    IndirectJump,
    /// Bytes that are no instructions.
    Undecodable,
    /// An expression that grew too large.
    TooLarge,
    /// Source that the grammar could not read.
    Unreadable,
    /// A subscript, bound or step that is no expression of loop variables.
    NotAffine,
    /// Something else, said in the detail.
    Other,
}

/// How much of something was understood, by number and by weight. The weight of a thing is
/// how often it is thought to run: 100 for each loop around it whose trips are not constant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// Bodies found of starts seen.
    pub bodies: Share,
    /// Accesses in innermost loops that have a class.
    pub innermost_accesses: Share,
    /// Accesses in other loops that have a class.
    pub outer_accesses: Share,
    /// Loops whose trips are an expression.
    pub trips: Share,
    /// Why the rest is unknown, most frequent first: reason, things concerned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<(ReasonKind, u64)>,
}

/// Things understood, of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// Understood.
    pub known: u64,
    /// Of so many.
    pub all: u64,
    /// Weight of those understood.
    pub known_weight: f64,
    /// Weight of all.
    pub all_weight: f64,
}

impl Share {
    /// Counts one thing.
    pub fn count(&mut self, known: bool, weight: f64) {
        self.all += 1;
        self.all_weight += weight;
        if known {
            self.known += 1;
            self.known_weight += weight;
        }
    }

    /// Adds another share up.
    pub fn add(&mut self, other: &Self) {
        self.known += other.known;
        self.all += other.all;
        self.known_weight += other.known_weight;
        self.all_weight += other.all_weight;
    }
}
