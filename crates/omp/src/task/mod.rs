//! Explicit tasks.

mod current;
mod pool;

pub(crate) use current::Current;
pub(crate) use pool::{Pool, complete_phase, help, help_from_dock};
