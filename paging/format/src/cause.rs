//! Which call or construct a task was in.

/// The number of a call's or construct's name in the process's table of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cause(pub u32);

impl Cause {
    /// Not known, or none: the task computes.
    pub const NONE: Self = Self(0);
    /// Nobody recorded what the task did: only samples are known, and no state.
    pub const UNSEEN: Self = Self(u32::MAX);
}
