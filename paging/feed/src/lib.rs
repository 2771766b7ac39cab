//! What interposers and the collector say to each other.
//!
//! * [`record`]: what threads say, as words.
//! * [`layout`], [`mod@file`]: a process's ring file, in which these words, names and the facts
//!   of the process lie in shared memory.
//! * [`names`], [`sums`]: parts of it.
//! * [`facts`]: what a process says about itself.
//! * [`scribe`]: from these words to a stream of the recording.
//! * [`notes`], [`append`]: what the stream says of the process, and to its file.
//! * [`message`], [`client`]: all that, where there is no shared memory.
#![forbid(unsafe_code)]

pub mod append;
pub mod client;
pub mod facts;
pub mod file;
pub mod layout;
pub mod message;
pub mod names;
pub mod notes;
pub mod record;
pub mod scribe;
pub mod sums;
