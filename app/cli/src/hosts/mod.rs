//! Programs on several hosts: the plan of a run becomes a job for agents, and back.

mod across;
mod agent;
mod floor;
mod gathered;
mod host_recorder;
mod launch;
mod mpicc;
mod participants;
mod record;

pub(crate) use across::Across;
pub(crate) use agent::serve;
pub(crate) use floor::wire_floor;
pub(crate) use launch::run;
pub(crate) use participants::{Gathered, Participants, gather};
pub(crate) use record::record;

/// What agents and their launcher have to have in common: the same protocol between them, and
/// the same libraries for programs.
fn version() -> String {
    let digest = fathomp_runtime::SHA256.get(..16).unwrap_or_default();
    format!("{} ({digest})", env!("CARGO_PKG_VERSION"))
}
