//! The code of a program or library: its functions, instructions, and how control flows.
//!
//! [`Image`] is the file, [`Flow`] one function of it as a graph of blocks with its loops,
//! [`Effects`] what functions leave changed for those that call them. Reads files only;
//! any bytes give an answer or an error that says what is wrong.
#![forbid(unsafe_code)]

mod decode;
mod dwarf;
mod effects;
mod flow;
mod functions;
mod ident;
mod image;
mod instruction;
mod lines;
mod registers;
mod stubs;
mod sync;

pub use decode::{Decoded, decode};
pub use dwarf::{DebugBytes, Dwarf, Entry, Unit, debug_units, is_fortran, static_address};
pub use effects::{CallEffects, Effects};
pub use flow::{
    Block, BlockId, Cycle, CycleId, Dominators, Flaw, FlawKind, Flow, FlowError, Leave, may_return,
};
pub use functions::{Found, function_ranges, functions};
pub use ident::{Written, written_beside};
pub use image::{Function, FunctionId, Image, ImageError, ReadError, Section, Slot, Target};
pub use instruction::{
    is_call, jump_target, makes_frame, memory_access, reads, successors, writes,
};
pub use lines::{FirstRows, first_rows, is_outlined};
pub use registers::Registers;
pub use stubs::{Stub, stubs};
pub use sync::{Sync, is_fence, is_idle, is_site, sync};
