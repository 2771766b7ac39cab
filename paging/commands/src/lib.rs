//! Recording paging, and what a recording of it shows: what the launcher does for it beside
//! starting the program, and the commands `fathomp collect` and `fathomp skyline`.
//!
//! The launcher makes a live directory, where the programs' interposers and the collector meet,
//! starts the collector, which is this program again in a process of its own, and
//! holds the program back until that watches it: a [`Session`].
#![forbid(unsafe_code)]

pub mod args;
mod collect;
mod collector;
mod fault_curve;
mod faults;
mod intrusion;
mod memory;
mod opened;
mod plan;
mod sampling;
mod serve;
mod session;
mod skyline;
mod words;

pub use collect::collect;
pub use collector::CollectorError;
pub use fathomp_paging_pages::PagingFacts;
pub use intrusion::{Asked as IntrusionAsked, Runner, measure as measure_intrusion};
pub use memory::{
    Curve, Group, GroupError, Knee, MEMORY_FILE, Memory, MemoryError, Place, Run, Usage, has_swap,
    table,
};
pub use opened::{SkylineError, facts, is_there};
pub use plan::Plan;
pub use session::{Recorded, Session, SessionError};
pub use skyline::skyline;
