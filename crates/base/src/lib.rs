//! Identifiers and units shared by every fathomp crate, and names nearly right.
//!
//! Nothing here does I/O or knows a platform; it is the one crate that every
//! other crate may depend on.
#![forbid(unsafe_code)]

mod ids;
mod nearest;
mod ticks;

pub use ids::{InstanceId, NodeId, PAGE_BYTES, PageId, SiteId, ThreadId};
pub use nearest::nearest;
pub use ticks::{Clock, Nanos, Ticks};
