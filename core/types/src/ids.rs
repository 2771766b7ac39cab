//! Newtypes for the things a recording talks about.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($raw:ty)) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $raw);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// A process with its own memory. A program on plain threads is node 0.
    NodeId(u16)
}
id! {
    /// A page of the address range that the nodes of a cluster share, counted
    /// from the start of that range.
    PageId(u32)
}
id! {
    /// An OS thread known to the runtime, numbered per process in order of
    /// first appearance. It is not the OpenMP thread number, which changes
    /// from team to team.
    ThreadId(u32)
}
id! {
    /// A place in the code (a parallel region, a loop, ...), numbered per
    /// process in order of first appearance. 0 is reserved for "none".
    SiteId(u32)
}
id! {
    /// One execution of a parallel region by a team, numbered per process
    /// from 1. All members of the team record the same number.
    InstanceId(u64)
}

/// Bytes in a page.
pub const PAGE_BYTES: usize = 4096;

impl SiteId {
    /// The serial part of the program, between parallel regions.
    pub const SERIAL: Self = Self(0);
}
