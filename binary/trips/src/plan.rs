//! What the runtime gets to know of a program's regions.

use crate::dry::DryPlan;
use crate::program::Program;

/// Modules of a plan, at most.
pub const MODULES_MAX: usize = 1 << 12;
/// Slots of a body, at most.
pub const SLOTS_MAX: usize = 24;
/// Words of a body, at most.
pub const WORDS_MAX: usize = 64;

/// Programs and libraries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Each with its bodies.
    pub modules: Vec<ModulePlan>,
}

/// A program or library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModulePlan {
    /// How to recognise it.
    pub identity: Identity,
    /// Its bodies, ascending by address.
    pub bodies: Vec<BodyPlan>,
}

/// What a module is recognised by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// Its build-id.
    BuildId(Vec<u8>),
    /// It has none: its file, with size and time of its last change.
    File {
        /// Its path without symbolic links.
        path: Vec<u8>,
        /// Bytes.
        size: u64,
        /// Nanoseconds since the Unix epoch.
        changed_unix_ns: u64,
    },
}

/// A body that a parallel region is begun with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyPlan {
    /// Its address in the module's file.
    pub address: u64,
    /// Loads that cost next to nothing: as long as they have the values of before, so do
    /// the words.
    pub cheap: Vec<Slot>,
    /// The words, in the order of `Body::words`.
    pub words: Vec<WordPlan>,
    /// Iterations of its worksharing loops, all threads together; the inputs are words.
    pub total: Option<Program>,
    /// What a dry run has to know, if one could find what is not known.
    pub dry: Option<DryPlan>,
}

/// A load at a fixed place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// In what.
    pub kind: SlotKind,
    /// Bytes from its begin.
    pub offset: u64,
    /// 1, 2, 4 or 8.
    pub bytes: u8,
    /// Sign-extended rather than zero-extended.
    pub signed: bool,
}

/// Where a slot lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotKind {
    /// In the data block, within the bytes that the body reads.
    Data,
    /// In the module, by the address in its file.
    Module,
}

/// How the value of a word is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WordPlan {
    /// It is a slot.
    Cheap(u16),
    /// It lies behind pointers: a program whose inputs are slots and whose loads need care.
    Behind(Program),
}

impl BodyPlan {
    /// Whether a word lies behind pointers, so that it may change though no slot does.
    #[must_use]
    pub fn is_deep(&self) -> bool {
        self.words
            .iter()
            .any(|word| matches!(word, WordPlan::Behind(_)))
    }
}

impl Slot {
    /// What it is worth if so many of its low bits were read.
    #[inline]
    #[must_use]
    pub fn extend(&self, value: u64) -> i64 {
        crate::program::extend(value, self.bytes, self.signed)
    }
}

impl Plan {
    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.modules.iter().all(|module| module.bodies.is_empty())
    }
}
