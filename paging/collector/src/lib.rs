//! The collector: takes what threads say out of their rings or from messages, packs it, and
//! writes the streams of a paging recording.
//!
//! It runs in a process of its own, so that what it costs is not taken from the program.
//!
//! * [`Collector`]: that, once round with every call.
//! * [`Closing`]: what follows when a recording is complete here.
//! * [`Host`]: on another host, keeps what collectors of nodes forward.
#![forbid(unsafe_code)]

mod closing;
mod collector;
mod host;
mod peers;
mod process;
mod remote;
mod store;

pub use closing::Closing;
pub use collector::{Collector, Job, Progress, StartError, Summary};
pub use host::{Host, HostError, HostSummary};
