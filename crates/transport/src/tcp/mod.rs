//! Nodes on several hosts, joined by a connection for each pair of nodes on different hosts.
//!
//! Whoever waits looks at all connections for a while, then sleeps in the kernel until there is
//! something on one of them ([`waiting`]): no thread stands between a connection and the thread
//! that waits for what comes out of it.

#[doc(hidden)]
pub mod foreign;
pub mod handover;
mod joint;
mod link;
mod stream;
mod waiting;

pub use joint::{Joint, JointError};
pub use link::HostsTransport;
