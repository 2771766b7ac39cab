//! What users type in options of several commands.

mod lists;
mod program;
mod protocols;
mod quantities;
mod runtime;

pub use lists::{ThreadCount, ThreadList, ThreadsError};
pub use program::Program;
pub use protocols::protocols;
pub use quantities::{
    IntervalError, MemoryError, MemoryList, SampleInterval, Seconds, SecondsError, WaitTime,
    diff_memory, recording_size,
};
pub use runtime::{Family, RuntimeArg, RuntimeError, RuntimeList};
