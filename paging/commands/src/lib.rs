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
mod on_hosts;
mod opened;
mod plan;
mod sampling;
mod serve;
mod session;
mod skyline;
mod words;

use args::Command;
use fathomp_console::console::Console;
use fathomp_console::failure::Outcome;

pub use collector::CollectorError;
pub use fathomp_paging::DIRECTORY;
pub use fathomp_paging::stream::EXTENSION;
pub use fathomp_paging_pages::PagingFacts;
pub use intrusion::{Asked as IntrusionAsked, Runner, measure as measure_intrusion};
pub use memory::{
    Curve, Group, GroupError, Knee, MEMORY_FILE, Memory, MemoryError, Place, Run, Usage, has_swap,
    with_less_memory,
};
pub use on_hosts::{OfHosts, Readings};
pub use opened::{SkylineError, facts, is_there};
pub use plan::Plan;
pub use session::{Recorded, Session, SessionError};

/// Carries out a command of this wing.
///
/// # Errors
/// As the command says.
pub fn carry_out(command: &Command, console: Console) -> Outcome {
    match command {
        Command::Collect(plan) => collect::collect(plan, console),
        Command::Skyline(plan) => skyline::skyline(plan, console),
    }
}
