//! What launchers tell the programs that they start, and the runtime and the interposer in them.
//!
//! A launcher fills in a [`Plan`], which becomes environment variables; inside the program
//! each part of the plan is read back by the crate that acts on it. Every name is written
//! once, in [`names`], with its values, its default, who sets it and who reads it.
//!
//! Reading takes a [`Lookup`], so that it can be tried on any environment;
//! [`of_this_process`] is the usual one. A variable that is empty counts as unset.
#![forbid(unsafe_code)]

mod cluster;
pub mod names;
mod network;
pub mod openmp;
mod plan;
mod recorder;
mod seat;
mod started;
pub mod steering;
mod teams;
mod value;
mod watch;

pub use cluster::{
    Cluster, ClusterError, DIFF_MEMORY_MIB, DIFF_MEMORY_MIB_MAX, Faults, Loads, NODES_MAX,
    Protocol, asks_for_nodes, nodes,
};
pub use names::Variable;
pub use network::{Network, NetworkError};
pub use openmp::OpenMp;
pub use plan::{Inherit, Plan, PlanError};
pub use recorder::{Recorder, RecorderError};
pub use seat::{Seat, SeatError};
pub use started::{Started, Starter, is_of_one_rank};
pub use teams::{Teams, paging_directory, plan_file};
pub use value::{FlagError, Lookup, of_this_process};
pub use watch::{Watch, WatchError};
