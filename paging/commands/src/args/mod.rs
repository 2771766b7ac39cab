//! What users type.

mod collect;
mod paging;
mod skyline;
mod writers;

use clap::Subcommand;

pub use collect::Collect;
pub use paging::Paging;
pub use skyline::{Axis, Skyline, Window};
pub use writers::{WriterList, WriterName};

/// The commands of this wing.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Take what programs on other machines record of their paging.
    Collect(Collect),
    /// Show what a recording made with --paging says: peaks, background, correlation, period,
    /// cumulative profile.
    Skyline(Skyline),
}
