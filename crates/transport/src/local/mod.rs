//! Nodes on one machine, joined by memory that they shared before they were
//! forked: a ring for each ordered pair of nodes, a doorbell for each node.

mod emulation;
mod fabric;
#[doc(hidden)]
pub mod foreign;
mod frame;
mod inbox;
mod link;
mod members;
mod net;
mod observe;
mod outbox;
mod pace;
#[cfg(test)]
mod tests;
mod traps;

pub use emulation::{Awaited, Emulation, Inside, Serving};
pub use fabric::{Fabric, Limits};
pub use link::LocalTransport;
pub use net::Net;
pub use observe::{Observed, observe};
