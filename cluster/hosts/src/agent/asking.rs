//! Programs that ask for connections, and whether they are gone.

use fathomp_sys::peer::PidFd;
use std::sync::Arc;

/// A program that asks for connections.
#[derive(Clone)]
pub(super) struct Asking {
    /// How many programs have asked before it on this host, and itself.
    pub(super) generation: u32,
    pub(super) process: Asker,
    /// It has been given its connections: it may end as it likes.
    pub(super) connected: bool,
}

/// Its process.
#[derive(Clone)]
pub(super) enum Asker {
    Watched(Arc<PidFd>),
    Gone,
    /// It is of a name space that is not ours, so nobody can tell whether it is gone.
    Unknown,
}

impl Asker {
    pub(super) fn of(pid: Option<u32>) -> Self {
        match pid.map(PidFd::open) {
            Some(Ok(process)) => Self::Watched(Arc::new(process)),
            Some(Err(_)) => Self::Gone,
            None => Self::Unknown,
        }
    }

    pub(super) fn may_be_gone(&self) -> bool {
        match self {
            Self::Watched(process) => process.has_ended(),
            Self::Gone | Self::Unknown => true,
        }
    }
}

impl Asking {
    /// Waits until it is gone; whether that can be known.
    pub(super) fn wait(self) -> bool {
        match self.process {
            Asker::Watched(process) => process.wait(),
            Asker::Gone => {}
            Asker::Unknown => return false,
        }
        true
    }
}
