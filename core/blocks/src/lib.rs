//! Files of blocks, each with its own checksum, only ever appended.
//!
//! A file can be cut at any byte and loses no more than the block that was cut;
//! after damage a reader finds the next sound block. What the blocks hold is
//! not known here: docs/trace-format.md and docs/paging-format.md say that of
//! the files which are made of them.
#![forbid(unsafe_code)]

mod frame;
mod start;
mod walk;

pub use frame::{Block, HEAD_BYTES, Origin, PAYLOAD_BYTES_MAX, put, read, seal};
pub use start::{START_BYTES, StartError, after_start, start};
pub use walk::{Blocks, Piece, Place, Source, Walk};
