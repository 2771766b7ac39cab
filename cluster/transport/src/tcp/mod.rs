//! Nodes on several hosts, joined by a connection for each pair of nodes on different hosts.
//!
//! Whoever waits looks at all connections for a while, then sleeps in the kernel until there is
//! something on one of them ([`waiting`]): no thread stands between a connection and the thread
//! that waits for what comes out of it.

mod connection;
pub mod floor;
#[doc(hidden)]
pub mod foreign;
pub mod handover;
mod joint;
mod link;
pub mod pipe;
mod stream;
mod taken;
mod waiting;

pub use connection::Connection;
pub use joint::{Joint, JointError};
pub use link::{HostsTransport, SILENT};
pub use taken::{TakeError, Taken, TakenWire, take};
