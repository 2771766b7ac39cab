//! C's streams.
//!
//! Most calls are answered by the stream's buffer. Those are not I/O, cost a look at the
//! buffer and are not recorded.

mod asked;
mod files;
mod input;
mod output;
mod print;
mod scan;
mod stream;
mod wide;

pub(crate) use stream::pending;
