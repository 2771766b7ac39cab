//! What a paging recording says: tasks, the states they were in, and what the
//! kernel and the shared memory counted meanwhile.
//!
//! The words are those of K. Y. Wang and D. C. Marinescu, *Characterization of
//! the Paging Activity of NAS Benchmark Programs on the Intel Paragon* (Purdue
//! CSD-TR-95-015, 1995). A task is in one [`State`] at any time; when it leaves
//! it, an [`Interval`] says what rose meanwhile.
//!
//! * The model: [`Task`], [`State`], [`Counter`], [`Interval`], [`Mark`].
//! * [`setup`]: what launcher, interposer and collector agree on.
//! * [`stream`], [`pack`]: what writers put into files (docs/paging-format.md).
//! * [`reader`]: a recording, however it ended.
//! * [`testing`]: recordings made up for tests.
#![forbid(unsafe_code)]

mod cause;
mod counter;
pub mod faults;
mod interval;
mod meta;
pub mod pack;
pub mod reader;
mod select;
mod sets;
pub mod setup;
mod state;
pub mod stream;
mod task;
pub mod testing;

pub use cause::Cause;
pub use counter::{Counter, Counts};
pub use interval::{Interval, Mark, MarkKind};
pub use meta::{DIRECTORY, FORMAT, HostClock, META, MetaError, PagingMeta};
pub use select::{Deviation, NoPart, Part, Selection, SelectionError, deviations};
pub use sets::{CounterSet, StateSet};
pub use state::{Activity, State};
pub use task::{Ending, Task, TaskId, TaskKind};
