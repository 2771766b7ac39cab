//! Commands of clusters, and what other commands do on several nodes and hosts.
//!
//! A program without the feature `cluster` has `commands/no_cluster.rs` in the place of this module:
//! the same functions, which find nothing asked for.

mod bench_dsm;
mod bench_nodes;
mod bench_simulated;
mod forecast;
mod predict_hosts;
mod price;
mod run_hosts;
mod sharing;
mod study_hosts;
mod study_sharing;

use crate::args::Study;
use crate::args::cluster::Command;
use crate::console::Console;
use crate::failure::{Failure, Outcome};
use crate::hosts::{self, Across};
use crate::program::Program;

pub(super) use bench_dsm::bench as bench_dsm;
pub(super) use bench_nodes::BenchNodes;
pub(super) use bench_simulated::simulated;
pub(super) use forecast::forecast;
pub(super) use predict_hosts::validate_on_hosts;
pub(super) use price::NodesToPrice;
pub(super) use run_hosts::{accesses, record, run};
pub(super) use study_sharing::look_for_sharing;

/// Whether recorded accesses are replayed, if there are any.
pub(super) const CAN_REPLAY: bool = true;

/// Carries out a command of this wing.
pub(super) fn carry_out(command: &Command, console: Console) -> Outcome {
    match command {
        Command::Sharing(plan) => sharing::sharing(plan, console),
        Command::Simulate(plan) => fathomp_cluster_commands::simulate(plan, console),
        Command::HostAgent(plan) => hosts::serve(plan.supervisor),
        Command::WireFloor(plan) => hosts::wire_floor(plan, console),
    }
}

/// Studies the program on the hosts that are named, if any are; the exit code.
pub(super) fn study(
    plan: &Study,
    program: &Program,
    console: Console,
) -> Result<Option<u8>, Failure> {
    match Across::of(&plan.nodes.on)? {
        Some(across) => study_hosts::study(plan, program, &across, console).map(Some),
        None => Ok(None),
    }
}
