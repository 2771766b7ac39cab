//! Explicit tasks.
//!
//! * `block`: a task's memory; `spawn`: creating a task; `run`: running it and
//!   what its end means; `wait`: taskwait and its like.
//! * `deque`, `commons`: where tasks are queued; `pool`: how a team finds,
//!   counts and helps with them; `current`: what each member keeps.
//! * `tally`: what tasks and taskgroups wait for; `group`, `depend`, `detach`,
//!   `reductions`, `taskloop`: the constructs of these names.
//! * `remote`: tasks that leave their node; `on_stack`: arguments where other nodes reach them.
//!
//! The protocols (who may run what, how a barrier knows that all tasks are
//! complete, how docked workers are let in) are explained in `README.md`
//! beside this file.

mod admission;
mod block;
mod commons;
mod current;
mod depend;
mod deque;
mod detach;
mod event;
mod group;
mod help;
mod meetings;
mod on_stack;
mod origin;
mod pool;
mod primitive;
mod queue;
pub mod reductions;
mod remote;
mod room;
mod run;
mod spawn;
mod tally;
mod taskgroup;
mod taskloop;
mod wait;

pub(crate) use block::Task;
pub(crate) use current::Current;
pub use depend::{Access, Dependence};
pub use detach::{EventHandle, NewEvent, UnknownEvent, fulfill, new_event};
pub(crate) use event::Events;
pub(crate) use help::{complete_phase, help, help_from_dock, may_stay, stay};
pub(crate) use pool::Pool;
pub(crate) use remote::Remote;
pub use remote::{BadLetter, attend, hear, hear_arrival, is_due, is_letter};
pub use spawn::{
    Clauses, Encounter, Work, create, create_special, encounter, in_explicit, in_final,
};
pub use taskgroup::{cancel_taskgroup, group_end, group_start, taskgroup_cancelled};
pub use taskloop::{Grain, TaskLoop, taskloop};
pub use wait::{wait, wait_depend, yield_now};
