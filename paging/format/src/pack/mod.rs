//! Intervals, marks and samples as bytes: what writers put into streams.
//!
//! * [`TaskPacker`]: intervals of one task, in a stream's blocks.
//! * [`MarkPacker`], [`SamplePacker`]: its marks and samples.
//! * [`Bins`]: sums that intervals are merged into at the recording's limit.
//! * [`Budget`]: when that is.
//! * [`Unpacker`]: from a block's bytes to intervals.
//!
//! Packing neither allocates nor calls the system, except for merging.

mod bins;
mod budget;
mod buffer;
mod codec;
mod intervals;
mod marks;
mod samples;
mod unpack;
mod varint;

pub use bins::{BINS_MAX, Bins};
pub use budget::Budget;
pub use buffer::{BlockHead, HEAD_BYTES};
pub use intervals::TaskPacker;
pub use marks::MarkPacker;
pub use samples::SamplePacker;
pub use unpack::{Malformed, Unpacked, Unpacker, unpack_marks};

pub(crate) use bins::unpack_bins;
pub(crate) use samples::{RawSample, Samples};
