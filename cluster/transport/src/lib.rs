//! Carries messages between the nodes of a cluster.
//!
//! [`Transport`] is what the rest sees: messages of bytes, never lost and in
//! order between two nodes, with a sender who never waits. [`local`] joins the
//! processes of one machine through shared memory, [`tcp`] those of several hosts.
#![forbid(unsafe_code)]

mod doorbell;
mod ends;
pub mod local;
mod net;
mod primitive;
mod ring;
mod spin;
pub mod tcp;
mod transport;

pub use doorbell::{Role, Wake};
pub use net::Net;
pub use spin::Spin;
pub use transport::{Abort, Death, Polling, Ready, ReceiveError, SendError, Transport};
