//! The collector: takes what threads say out of their rings or from messages, packs it, and
//! writes the streams of a paging recording.
//!
//! It runs in a process of its own, so that what it costs is not taken from the program.
//!
//! * [`Collector`]: that, once round with every call.
//! * [`serve`]: runs it until it is told to finish.
//! * [`Host`]: on another host, keeps what collectors of nodes forward.
#![forbid(unsafe_code)]

mod collector;
mod host;
mod peers;
mod process;
mod remote;
mod serve;
mod store;

pub use collector::{Collector, Job, Progress, StartError, Summary};
pub use host::{Host, HostError, HostSummary};
pub use serve::{Closing, Ready, serve};
