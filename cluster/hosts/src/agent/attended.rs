//! How an agent ends.

/// How the work of an agent that was not started by its launcher ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attended {
    /// The launcher had it end, and all others with it.
    Dismissed,
    /// The launcher had it end after another agent was lost, so nobody can wait for all.
    Bereft,
    /// The launcher ended before it told what is to be done.
    NotBegun,
    /// The launcher is gone.
    Forsaken,
}
