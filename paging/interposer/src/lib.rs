//! The library that is loaded into programs whose paging is recorded: it knows
//! which state each thread is in, and hands every change to a sink.
//!
//! * [`engine`]: states, counters, threads, the process;
//! * [`front`]: the functions of the C library and of MPI that the interposer stands in front of;
//! * [`interface`]: what fathomp's runtime and the program itself tell;
//! * [`sink`]: where changes go.
//!
//! The functions in front have names of their own here, `fathomp_paging_front_read` for `read`;
//! only the shared library is linked so that they answer to the names of those behind
//! (`app/runtime/build`). In the shared library, calls of this crate itself come by them
//! too, and pass straight through (`engine::Turn`).

mod engine;
mod front;
pub mod interface;
mod load;
mod sink;

pub use sink::{
    Change, EndFacts, Hooks, Identity, Mark, OpenError, Process, ThreadFacts, ThreadSink,
};
