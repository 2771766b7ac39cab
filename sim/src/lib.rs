//! A simulated cluster: nodes that run a DSM protocol, a network that delays,
//! and programs whose every read is checked.
//!
//! Everything that happens follows from a seed. The protocol under test is the
//! code that real nodes run; only pages, threads and the network are
//! simulated. The judge is one flat memory that every write reaches at once: in
//! a program without data races a read must see what is there.
#![forbid(unsafe_code)]

mod failure;
mod memory;
mod network;
mod program;
mod random;
mod setting;
mod shared;
mod world;

pub use failure::Failure;
pub use memory::Blob;
pub use network::{Death, Network};
pub use program::{Address, Program, Step};
pub use random::{Shape, add_own_threads, add_own_threads_anywhere, add_updates, random_program};
pub use setting::{random_home, random_homeless, random_network};
pub use shared::{Answer, Shared};
pub use world::{Outcome, run};
