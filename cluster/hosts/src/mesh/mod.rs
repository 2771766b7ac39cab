//! Connections between nodes of different hosts, which agents make and prove to each other.

mod connect;
mod handshake;
mod listen;
mod socket;

#[cfg(test)]
mod tests;

pub(crate) use connect::{Connector, Goal, reach};
pub(crate) use handshake::{Hello, Proof};
#[cfg(test)]
pub(crate) use handshake::{initiate, respond};
pub(crate) use listen::{Listener, Wanted};
pub(crate) use socket::{addresses, prepare, settle};
