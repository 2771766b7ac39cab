//! What a program's threads accessed between synchronisations
//! ([decision 0040](../../../docs/decisions/0040-simulate-from-access-sets.md)): nodes
//! write it, replays read it.
#![forbid(unsafe_code)]

mod accesses;
mod check;
mod file;
mod larger;
mod permits;

pub use accesses::{Accesses, End, Run, Step, Thread};
pub use check::AccessError;
pub use file::{ReadError, SCHEMA, VERSION, Writer, of_recording, read, read_cut, write};
pub use permits::{Permit, Permits};
