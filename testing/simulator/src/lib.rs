//! A simulated cluster: nodes that run a DSM protocol, a network that delays,
//! and programs whose every read is checked.
//!
//! Everything that happens follows from a seed. The protocol under test and the driver that
//! steps it are the code that real nodes run; only pages, threads and the network are
//! simulated. The judge is one flat memory that every write reaches at once: in a program
//! without data races a read must see what is there.
#![forbid(unsafe_code)]

mod blob;
mod failure;
mod memory;
mod network;
mod program;
mod random;
mod seeds;
mod setting;
mod update;
mod world;

pub use blob::Blob;
pub use failure::{Failure, Wrong};
pub use memory::{Arriving, Bytes, Leaving, Memory};
pub use network::{Death, Network};
pub use program::{Address, Program, Step};
pub use random::{Shape, add_own_threads, add_own_threads_anywhere, add_updates, random_program};
pub use seeds::{run_seed, seeds, traces};
pub use setting::{random_heuristics, random_home, random_homeless, random_network};
pub use update::{Next, Update};
pub use world::{Outcome, run};
