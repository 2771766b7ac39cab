//! The OpenMP runtime: teams, barriers, worksharing, tasks, locks, ICVs.
//!
//! Everything here is safe Rust over a few primitives of `fathomp-sys`; the C
//! symbols are in `fathomp-abi`. How it hangs together:
//!
//! * [`mod@runtime`]: what the process shares; [`worker`]: an OS thread;
//!   [`team`]: a team and its members (implicit tasks).
//! * [`parallel`]: fork and join; [`barrier`]; both wait through `bell`
//!   and count arrivals through `rendezvous`; [`overflow`]: stacks that run out.
//! * [`worksharing`], [`sync`], [`task`]: what members do inside a region.
//! * [`cluster`]: regions spread over processes that share no memory by
//!   themselves.
//! * [`trips`]: what regions are begun with, so far as it says how much they have to do.
//! * [`share`]: dividing the machine with other programs.
//! * [`tap`]: what the recorder of paging is told; `marking`: of regions and barriers.
//! * [`tool`]: what a first-party tool is told and may ask.
//! * [`icv`], [`mod@env`], [`places`]: what the user may set.
#![forbid(unsafe_code)]

mod advice;
pub mod barrier;
mod bell;
pub mod cluster;
mod encounter;
pub mod env;
pub mod icv;
pub mod initial;
mod marking;
mod message;
pub mod overflow;
mod own;
pub mod parallel;
pub mod places;
mod pool;
mod primitive;
pub mod query;
mod recorded;
mod rendezvous;
pub mod runtime;
pub mod share;
pub mod sync;
pub mod tap;
pub mod task;
pub mod team;
pub mod tool;
pub mod trips;
pub mod worker;
pub mod worksharing;

pub use runtime::runtime;
pub use worker::current;
