//! What the expressions of a region are worth when it begins.
//!
//! A launcher turns the bodies that a scan found into a [`Plan`]: for each body the words
//! of memory that its expressions read, and its totals as stack programs. The plan travels
//! as bytes. Inside the program, the runtime reads the words when a region begins, and as
//! long as they are the same as before that is all ([`BodyPlan::cheap`]).
#![forbid(unsafe_code)]

mod bytes;
mod compile;
pub mod dry;
mod plan;
mod program;
mod shared;

pub use bytes::PlanError;
pub use compile::{compile, words};
pub use plan::{
    BodyPlan, Identity, MODULES_MAX, ModulePlan, Plan, SLOTS_MAX, Slot, SlotKind, WORDS_MAX,
    WordPlan,
};
pub use program::{Inputs, Program, ProgramError, STEPS_MAX, Step};
pub use shared::{share, total};
