//! Recording paging: what the launcher does for it beside starting the program.
//!
//! The launcher makes a live directory, where the programs' taps and the collector meet,
//! starts the [`collector`], which is this program again in a process of its own, and
//! holds the program back until that watches it.

mod collector;
mod fault_curve;
mod faults;
mod intrusion;
mod memory;
mod plan;
mod sampling;
mod serve;
mod session;
mod words;

pub(crate) use intrusion::measure as measure_intrusion;
pub(crate) use memory::{
    Curve, Group, GroupError, MEMORY_FILE, Memory, MemoryError, Place, has_swap, table,
};
pub(crate) use plan::{Plan, key_of_environment, new_key};
pub(crate) use serve::{Service, serve};
pub(crate) use session::{Recorded, Session, SessionError};
