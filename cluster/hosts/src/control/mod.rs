//! What launcher and agents say to each other, and the two streams of bytes that carry it.

mod border;
mod frame;
mod link;
mod message;
mod preamble;
mod silence;

#[cfg(test)]
mod tests;

pub use frame::{ALL, FRAME_BYTES_MAX, Frame, FrameError, encode, read, write};
pub use link::{Heard, Link};
pub use message::{Bytes, Down, Job, Place, Run, Stream, Up};
pub use preamble::{PreambleError, await_preamble, write_preamble};
pub use silence::{Silence, TICK};
