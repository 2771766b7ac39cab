//! Explicit tasks.
//!
//! * `block`: a task's memory; `spawn`: creating a task; `run`: running it and
//!   what its end means; `wait`: taskwait and its like.
//! * `giving_way`: what taskyield runs.
//! * `deque`, `commons`: where tasks are queued; `pool`: how a team finds,
//!   counts and helps with them; `current`: what each member keeps.
//! * `division`: how a `taskloop` is divided; `shared_loop`, `portion`: one whose tasks are begun
//!   where they are run.
//! * `tally`: what tasks and taskgroups wait for; `group`, `depend`, `detach`,
//!   `reductions`, `taskloop`: the constructs of these names.
//! * `remote`: tasks that leave their node; `on_stack`: arguments where other nodes reach them.
//!
//! The protocols (who may run what, how a barrier knows that all tasks are
//! complete, how docked workers are let in) are explained in `README.md`
//! beside this file.

mod admission;
mod block;
mod current;
mod depend;
mod deque;
mod detach;
mod division;
mod event;
mod fresh;
mod giving_way;
mod group;
mod help;
mod included;
mod meetings;
mod on_stack;
mod origin;
mod pool;
mod portion;
mod primitive;
mod queue;
pub mod reductions;
mod remote;
mod room;
mod run;
mod shared_loop;
mod shared_queue;
mod spawn;
mod tally;
mod taskgroup;
mod taskloop;
mod wait;

pub(crate) use block::Task;
pub(crate) use current::Current;
pub use depend::{ALL_MEMORY, Access, Dependence};
pub use detach::{EventHandle, NewEvent, UnknownEvent, fulfill, new_event};
pub use division::{Grain, Piece};
pub(crate) use event::Events;
pub use fresh::Clauses;
pub(crate) use help::{complete_phase, help, help_from_dock, may_stay, stay};
pub use included::{Included, begin_detachable, begin_included};
pub(crate) use pool::Pool;
pub(crate) use remote::Remote;
pub use remote::{BadLetter, attend, hear, hear_arrival, is_due, is_letter};
pub use spawn::{
    Encounter, Work, create, create_special, encounter, in_explicit, in_final, number,
    parent_number, run_undeferred,
};
pub use taskgroup::{
    cancel_taskgroup, group_end, group_is_fresh, group_start, group_wait, taskgroup_cancelled,
};
pub use taskloop::{TaskLoop, pieces, taskloop};
pub use wait::{wait, wait_depend, yield_now};
