//! Other processes: started, watched, listened to and ended.
//!
//! * [`guard`]: a process beside a launcher that kills what the launcher started if the launcher
//!   is killed, and children that have one;
//! * [`run`]: a child that may hang or talk without end;
//! * [`Tail`]: the last that a process says;
//! * [`send`], [`kill_group`], [`await_end`]: what the kernel is asked for.
//!
//! How a process ended, in words, is [`fathomp_types::Ending`].
#![forbid(unsafe_code)]

pub mod guard;
mod run;
mod system;
mod tail;

pub use run::{Finished, Limits, RunError, run};
pub use system::{await_end, kill_group, send};
pub use tail::Tail;
