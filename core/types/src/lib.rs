//! Identifiers and units shared by every fathomp crate, numbers and names as people
//! read them, names nearly right, and what a runtime tells an interposer.
//!
//! Nothing here does I/O or knows a platform; it is the one crate that every
//! other crate may depend on.
#![forbid(unsafe_code)]

mod align;
mod ending;
mod ids;
pub mod interposer;
pub mod looking;
pub mod mpi;
mod nearest;
pub mod size;
pub mod text;
mod ticks;
pub mod units;

pub use align::{Alignment, ClockReading};
pub use ending::Ending;
pub use ids::{InstanceId, NodeId, PAGE_BYTES, PageId, SiteId, ThreadId};
pub use nearest::nearest;
pub use ticks::{Clock, Nanos, Ticks};
