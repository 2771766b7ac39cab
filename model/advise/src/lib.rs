//! How many cores each region deserves, why, and how good that advice is.
//!
//! * [`Advice`]: the schema of `advice.json` (`docs/advice.md`), which people read, the
//!   report shows and the runtime applies.
//! * [`Profile`]: what is known of one region: measured time, how its work divides
//!   ([`work()`]), what it asks of memory ([`Demand`]).
//! * [`evaluate`]: predictions held against measured times, beside simpler predictors.
//! * [`choose()`]: from a profile and a [`Target`] to threads, losses, steps by trips.
#![forbid(unsafe_code)]

mod advice;
mod advise;
mod choose;
pub mod evaluate;
mod join;
mod memory;
mod model;
mod patch;
mod profile;
mod target;
mod words;
mod work;

pub use advice::{
    Advice, AdviceError, Advised, Basis, Confidence, Loss, MachineNote, ModuleNote, PointAdvice,
    RegionAdvice, SCHEMA, Step, Term, VERSION,
};
pub use advise::{AdviseError, Question, advise};
pub use choose::{Choice, Choosing, choose};
pub use join::{Evidence, Subject, address, is_disturbed, subjects};
pub use model::Constants;
pub use patch::{SourcePatch, patch};
pub use profile::{Demand, Modelled, Profile, Seen, Timed};
pub use target::{PUBLISHED, Target};
pub use words::{doubts, duration, reason};
pub use work::{Counts, Division, Work, counts, trips, work};
