//! What users type.

mod collect;
mod paging;
mod skyline;
mod writers;

pub use collect::Collect;
pub use paging::Paging;
pub use skyline::{Axis, Skyline, Window};
pub use writers::{WriterList, WriterName};
