//! Every page fault of a program, as a file: `faults.fthf` beside the streams of
//! a paging recording (docs/paging-format.md, "Faults").
//!
//! The file holds what the kernel reported, in order: faults, and what their
//! addresses meant at that time (mappings, programs, stacks). Nothing is
//! concluded here.

mod event;
mod pack;
mod read;
mod sorter;
mod write;

pub use event::{Fault, FaultEvent, Found, Mapping};
pub use read::{FaultsError, FaultsFile, read};
pub use sorter::Sorter;
pub use write::{FaultsNote, FaultsWriter};

/// Name of the file within the streams' directory.
pub const FILE: &str = "faults.fthf";
/// First bytes of the file.
const MAGIC: [u8; 8] = *b"FTHFLTS\0";
/// Version of the file.
const VERSION: u32 = 1;
/// Kind of a block that holds events.
const EVENTS: u32 = 1;
/// Kind of a block that holds a [`FaultsNote`] as JSON; the last one counts.
const NOTE: u32 = 2;
