//! A node of a cluster at work: processes that share no memory run one program
//! as if they did.
//!
//! * [`start`]: how a process becomes a node; `layout`: which memory is shared.
//! * [`sharing`]: which protocol of `fathomp-protocols`; `engine`: carries out what it
//!   asks for.
//! * [`Node`]: what threads ask for, and what comes from other nodes; `frame`:
//!   the messages; `slots`: threads that wait; `cells`: words at node 0;
//!   `meeting`: what barriers bring;
//!   `activity`: what a node is at, for others; `deadlock_detector`: nodes that were stopped;
//!   `idle_flusher`, `spin_flush`, `waits`: when to flush for threads that only look; `profile`: what
//!   it costs.
//! * [`world`]: what the program changes in its process beside its memory.
//! * [`observer`]: who is told of what happens: records of accesses, of cache lines and of races;
//!   `blocks`: who allocated.
//! * [`heap`]: the program's blocks, at the same address everywhere.
#![forbid(unsafe_code)]

mod activity;
mod blocks;
mod cells;
mod cluster;
mod deadlock_detector;
mod engine;
mod fatal_report;
#[doc(hidden)]
pub mod foreign;
mod frame;
pub mod heap;
mod hosts;
mod idle_flusher;
mod layout;
mod meeting;
mod memory;
mod node;
pub mod observer;
mod paging_counters;
mod profile;
mod sharing;
mod slots;
mod spin_flush;
pub mod start;
mod waits;
pub mod world;

pub use layout::StackBytes;
pub use node::{Node, Size, expect_tasks};
pub use waits::{Traits, Waits};
