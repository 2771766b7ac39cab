//! What is known of faults.

use serde::{Deserialize, Serialize};

/// What the processor found where a thread wanted to access memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// The kernel did not tell.
    #[default]
    Unknown,
    /// No page.
    Nothing,
    /// A page that may not be accessed like that: a write to one that is shared until
    /// written (copy on write), or what a library protects to notice accesses.
    Page,
}

impl Found {
    /// All, in the order of their numbers.
    pub(super) const ALL: [Self; 3] = [Self::Unknown, Self::Nothing, Self::Page];
}

/// A page fault of a thread in user mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fault {
    /// When: nanoseconds of the recording's clock, `CLOCK_MONOTONIC`.
    pub at: u64,
    /// Number of its process.
    pub process: u32,
    /// Number by which the kernel knows the thread.
    pub thread: u32,
    /// What was accessed.
    pub address: u64,
    /// The instruction that accessed it.
    pub instruction: u64,
    /// What was there.
    pub found: Found,
}

/// Memory of a process that came to be, grew or changed its protection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// When.
    pub at: u64,
    /// Number of its process.
    pub process: u32,
    /// First address.
    pub start: u64,
    /// The address behind the last.
    pub end: u64,
    /// Where it begins in its file.
    pub offset: u64,
    /// `PROT_*` bits.
    pub protection: u32,
    /// `MAP_*` bits for sharing (1), private (2) and huge pages (0x40000).
    pub flags: u32,
    /// Path of its file; `[heap]`, `[stack]`, `//anon` and the like if it has none.
    pub name: String,
}

/// What happened, in the order in which it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultEvent {
    /// A page fault.
    Fault(Fault),
    /// The last fault of that thread at that address waited for I/O.
    Served {
        /// When it had been served.
        at: u64,
        /// Number of its process.
        process: u32,
        /// The thread.
        thread: u32,
        /// What was accessed.
        address: u64,
    },
    /// A mapping.
    Mapping(Mapping),
    /// A thread's stack is where this address is.
    Stack {
        /// When.
        at: u64,
        /// Number of its process.
        process: u32,
        /// The thread.
        thread: u32,
        /// An address within its stack.
        pointer: u64,
    },
    /// A process became a program: it has no mappings but those that follow.
    Program {
        /// When.
        at: u64,
        /// Number of the process.
        process: u32,
        /// Name of the program, as far as the kernel keeps it (15 bytes).
        name: String,
    },
    /// A process was forked: it has the mappings of its parent.
    Fork {
        /// When.
        at: u64,
        /// Number of the process.
        process: u32,
        /// Number of its parent.
        parent: u32,
    },
}

impl FaultEvent {
    /// When it happened.
    #[must_use]
    pub fn at(&self) -> u64 {
        match self {
            Self::Fault(Fault { at, .. })
            | Self::Mapping(Mapping { at, .. })
            | Self::Served { at, .. }
            | Self::Stack { at, .. }
            | Self::Program { at, .. }
            | Self::Fork { at, .. } => *at,
        }
    }
}
