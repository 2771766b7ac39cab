//! What every command needs, whichever wing it is of: words to the user and how it fails,
//! files that the user asked for, the machine, and programs that are started and watched.
//!
//! Nothing here knows a cluster or paging.
#![forbid(unsafe_code)]

pub mod args;
pub mod compare;
pub mod console;
pub mod failure;
pub mod host;
pub mod launch;
pub mod output;
pub mod program;
pub mod progress;
