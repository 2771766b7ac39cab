//! What the protocol works with, and why it may not go on.

use crate::observer::{Observer, WatchError};
use crate::profile::Profile;
use crate::slots::Slots;
use fathomp_driver::DriverError;
use fathomp_protocols::{DiffError, WireError};
use fathomp_sys::cluster::pages::Pages;
use fathomp_transport::{SendError, Transport};
use fathomp_types::{NodeId, ThreadId};
use std::io;

/// The parts of the node that the protocol works with.
pub(crate) struct Host<'a> {
    pub(crate) pages: &'a Pages,
    pub(crate) transport: &'a dyn Transport,
    pub(crate) slots: &'a Slots,
    pub(crate) profile: &'a Profile,
    pub(crate) observer: Option<&'a Observer>,
    /// This node is at a barrier, and no thread of the program can run until that is over,
    /// except for handlers of signals.
    pub(crate) still: bool,
}

/// Why a node cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    #[error(transparent)]
    Driver(#[from] DriverError),
    #[error("node {from} sent a message that makes no sense: {what}")]
    Garbage { from: NodeId, what: WireError },
    #[error("a diff arrived damaged: {0}")]
    Diff(#[from] DiffError),
    #[error(transparent)]
    Send(#[from] SendError),
    #[error("cannot change what the program may do to a page: {0}")]
    Permit(#[source] io::Error),
    #[error("the protocol asked for something impossible: {0}")]
    Action(&'static str),
    #[error(transparent)]
    Watch(#[from] WatchError),
}

/// What a thread is told that was refused what it tried to get.
pub(crate) const REFUSED: u64 = 0;
/// What a thread is told that may go on.
pub(crate) const GRANTED: u64 = 1;

/// Lets a thread of this node go on.
pub(crate) fn answer(host: &Host, thread: ThreadId, what: u64) -> Result<(), NodeError> {
    match host.slots.answer(thread, what) {
        Some(true) => host.transport.rouse(),
        Some(false) => {}
        None => return Err(NodeError::Action("a thread goes on that does not exist")),
    }
    Ok(())
}
