//! The schema between a run and its analysis, and both ends of it.
//!
//! * [`state`], [`dsm`], [`record`]: what a thread can say about itself.
//! * [`recorder`]: how it says so, inside the running program.
//! * [`live`]: where running programs and the drainer meet.
//! * [`drain`]: moves records from running programs to the recording.
//! * [`writer`]: the recording's directory.
//! * [`reader`]: reads the recording, however it ended.
//! * [`foreign_recorder`]: what a recorder that is not part of the runtime says of itself.
//! * [`stack`]: a stack that ran out, in the recording and in words.
//! * [`model`]: a whole recording in memory, as the reader hands it out.
//!
//! Analysis depends on this crate only for [`model`] and the reader; it never
//! links the runtime.
#![forbid(unsafe_code)]

pub mod drain;
pub mod dsm;
pub mod foreign_recorder;
pub mod live;
pub mod model;
pub mod reader;
pub mod record;
pub mod recorder;
pub mod stack;
pub mod state;
pub mod writer;

mod layout;
mod stream;
mod wire;

pub use fathomp_sys::clock::now;
