//! Software distributed shared memory, as mathematics: two page-based
//! protocols as state machines.
//!
//! A protocol is told what happened at its node ([`Input`]) and answers what is
//! to be done there ([`Action`]), in order. It holds no page, opens no
//! connection, knows no clock and no thread. The same code therefore runs a
//! node of a real cluster, a simulated cluster under a seed, and inside a
//! model checker. What each protocol does is told in `docs/protocols`.
#![forbid(unsafe_code)]

mod area;
mod change;
mod diff;
pub mod heuristics;
pub mod home;
pub mod homeless;
mod interval;
pub mod message;
pub mod order;
mod pageset;
mod postponed;
mod protocol;
pub mod races;
mod runs;
mod spin_reads;
mod state;
mod table;
mod wire;
mod words;

pub use area::{Area, AreaError, Placement};
pub use change::{Change, ChangeKind};
pub use diff::{Diff, DiffError, PageBytes};
pub use interval::{Interval, VectorClock, Version, WriteNotice};
pub use message::PageCopy;
pub use pageset::{PageRange, PageSet, PageSetError};
pub use protocol::{Access, Action, Body, Input, Operation, Protection, Protocol, Violation};
pub use spin_reads::{Lacks, SpinReads};
pub use wire::WireError;
pub use words::{Content, LockId};
