//! Several programs on one machine: how they are started, which may run where and when, and
//! what they left.

mod board;
pub(crate) mod compare;
mod gang;
mod mix;
pub(crate) mod session;
pub(crate) mod timeline;

pub(crate) use session::{Outputs, Session, SharedRun};

use std::io;

/// Programs could not be run together.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShareError {
    #[error(transparent)]
    Launch(#[from] crate::launch::LaunchError),
    #[error(
        "cannot make the board in shared memory by which programs share the machine: {0}: look at the limits of this session (ulimit -a)"
    )]
    Memory(io::Error),
    #[error("cannot use the board that was just made: {0}")]
    Board(#[from] fathomp_core_arbiter::BoardError),
    #[error("cannot keep the outputs in {}: {source}: choose another place with --directory", path.display())]
    Outputs {
        path: std::path::PathBuf,
        source: io::Error,
    },
    #[error("cannot start a thread that waits for a program: {0}")]
    Thread(io::Error),
    #[error("cannot keep a program to its part of the processors: {0}")]
    Affinity(io::Error),
}
