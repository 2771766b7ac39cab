//! Where state changes go: from a thread's change of state to a writer.
//!
//! [`Process::open`] is called once when the interposer is loaded, [`Process::thread`] once in
//! every thread, [`ThreadSink::change`] at every change of state. Which writer stands
//! behind it is the launcher's choice ([`fathomp_paging::setup::Writer`]).

mod choice;
mod facts;
mod helper;
mod outlet;
mod process;
mod thread;

pub use facts::{Change, EndFacts, Hooks, Identity, Mark, ThreadFacts};
pub use process::{OpenError, Process};
pub use thread::ThreadSink;
