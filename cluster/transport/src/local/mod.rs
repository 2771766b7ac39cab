//! Nodes on one machine, joined by memory that they shared before they were
//! forked: a ring for each ordered pair of nodes, a doorbell for each node.

mod fabric;
#[doc(hidden)]
pub mod foreign;
mod frame;
mod inbox;
mod link;
mod members;
mod observe;
mod outbox;
#[cfg(test)]
mod tests;

pub use fabric::{Fabric, Limits};
pub use link::LocalTransport;
pub use observe::{Observed, observe};
