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
//! * [`observer`]: who is told of what threads do, and who has a say in how many do it: the
//!   recorder, a first-party tool, the library that records paging (by [`interposer`]), advice, and
//!   dividing the machine with other programs.
//! * [`icv`], [`mod@env`], [`places`]: what the user may set.
#![forbid(unsafe_code)]

pub mod barrier;
pub mod cluster;
pub mod env;
mod event_count;
pub mod icv;
pub mod initial;
pub mod interposer;
mod message;
pub mod observer;
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
pub mod sync;
pub mod task;
pub mod team;
mod wait;
pub mod worker;
pub mod worksharing;

pub use observer::{core_partition, recording, tool, trips};
pub use runtime::runtime;
pub use worker::current;
