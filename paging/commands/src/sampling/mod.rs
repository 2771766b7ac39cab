//! Uniform sampling: what other processes can see of a program, looked at from time to
//! time.
//!
//! Always: pages of each process in swap, and what the machine moves to and from swap. Unless it
//! is not wanted: the counters of each thread. Between changes of state, which give exact
//! counts, samples tell when they rose.

mod family;
mod kernel;
mod pace;
mod sampler;
mod streams;
mod thread;

pub(super) use kernel::system_swaps;
pub(super) use sampler::Sampler;
pub(super) use streams::{Streams, unwritten};

use fathomp_paging::Counts;
use fathomp_types::Ticks;
use std::time::Duration;

/// What is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Sampled {
    /// The whole machine.
    System,
    /// A process.
    Process(u32),
    /// A thread.
    Thread {
        /// Its process.
        process: u32,
        /// The number by which the kernel knows it.
        thread: u32,
    },
}

/// How often threads are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Often {
    /// Not at all.
    Never,
    /// As often as was asked for.
    Every(Duration),
    /// As often as costs next to nothing, and never by what costs the program anything.
    ByItself,
}

/// Takes samples.
pub(super) trait SampleSink {
    /// So much rose since the sample before it of the same; the first of each tells when it
    /// was seen first.
    fn sample(&mut self, of: Sampled, at: Ticks, rose: &Counts);

    /// No more of these will come.
    fn end(&mut self, of: Sampled, at: Ticks);
}
