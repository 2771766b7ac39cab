//! Starts one program on several hosts, connects its processes, and keeps them together: its
//! streams, its signals and its ends are those of one program.
//!
//! The [launcher](launch) starts an [agent](serve) on each host, by `ssh` or as a child; or
//! `mpirun` or `srun` has started them, and they [meet](ranks). An agent starts the program through a [supervisor](keep), makes the connections between its nodes
//! and those of other hosts, and hands them to the program. Both sides talk over the agent's
//! standard input and output.
//!
//! ```text
//! launcher --ssh--> agent --> supervisor --> program
//!                     |   <---- handover ----'
//!                     '<== TCP ==> agents of other hosts
//! ```
#![forbid(unsafe_code)]

mod agent;
mod children;
mod connection;
pub mod control;
mod credits;
mod key;
mod launcher;
mod mesh;
mod plan;
mod process;
pub mod ranks;
mod reach;
mod secure;
mod supervisor;
mod tree;

pub use agent::{AgentError, Attended, Begun, Setup, Sidecar, Tell, attend, digest, serve};
pub use control::{Bytes, Job, Run};
pub use key::Key;
pub use launcher::{Caller, Ended, HostClock, LaunchError, Options, Reading, launch, lead};
pub use plan::{Host, Hosts, HostsError, NODES_MAX};
pub use reach::SSH;
pub use supervisor::{HANDOVER_DESCRIPTOR, file_mask, keep, soft_limits};
pub use tree::FAN_OUT;
