//! What a paging recording says: tasks, the states they were in, and what the
//! kernel and the shared memory counted meanwhile.
//!
//! The words are those of K. Y. Wang and D. C. Marinescu, *Characterization of
//! the Paging Activity of NAS Benchmark Programs on the Intel Paragon* (Purdue
//! CSD-TR-95-015, 1995). A task is in one [`State`] at any time; when it leaves
//! it, an [`Interval`] says what rose meanwhile.
#![forbid(unsafe_code)]

mod cause;
mod counter;
mod interface;
mod interval;
mod state;
mod task;

pub use cause::Cause;
pub use counter::{Counter, Counts};
pub use interface::{INTERFACE_SYMBOL, INTERFACE_VERSION, Interface, InterfaceFunction};
pub use interval::{Interval, Mark, MarkKind};
pub use state::{Activity, State};
pub use task::{Ending, Task, TaskId, TaskKind};
