//! The C types of OMPT, the interface between OpenMP runtimes and first-party
//! tools (OpenMP 5.1, chapter 4), for both of its sides: a runtime that
//! provides it and a tool that uses it.
//!
//! - [`start`]: how both find each other.
//! - [`Data`], [`Frame`], [`Dependence`]: what passes by pointer.
//! - [`Event`] and the types in [`callback`]: what a runtime calls of a tool.
//! - [`entry`]: what a tool calls of a runtime, found by name.
//! - [`Work`], [`Mutex`], [`State`] and the like: C's enumerations. They are
//!   numbers with names rather than Rust's enumerations, because the other side
//!   may have been built after a later version and send a number that has no
//!   name here.
//!
//! No code is here, and nothing is exported under C's names: what a type is for
//! is said, what is done with it is up to the two sides.
#![forbid(unsafe_code)]

pub mod callback;
pub mod entry;
mod event;
mod numbers;
pub mod start;
mod structures;

pub use event::Event;
pub use numbers::{
    CancelFlags, DependenceType, Dispatch, FrameFlags, Mutex, ParallelFlags, ScopeEndpoint,
    SetResult, Severity, State, SyncRegion, Target, TargetDataOp, TaskFlags, TaskStatus, Thread,
    Work,
};
pub use structures::{Data, Dependence, DispatchChunk, Frame};

/// Identifies something to a tool, 0 if nothing is meant (`ompt_id_t`).
pub type Id = u64;

/// What a thread waits for, 0 if nothing is meant (`ompt_wait_id_t`).
pub type WaitId = u64;
