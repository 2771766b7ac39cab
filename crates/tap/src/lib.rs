//! The library that is loaded into programs whose paging is recorded: it knows
//! which state each thread is in, and hands every change to a sink.

mod sink;

pub use sink::{Change, Sink};
