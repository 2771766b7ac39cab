//! What a process says about itself, in a ring file or in a message.

use fathomp_paging::Ending;
use fathomp_types::{Clock, Ticks};
use serde::{Deserialize, Serialize};

/// A process that is recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Its number.
    pub pid: u32,
    /// Number of the process that forked it.
    pub parent: u32,
    /// Name of its program, without directories.
    pub program: String,
    /// Tick at which its record begins: zero of its clock.
    pub zero: Ticks,
    /// Wall-clock time then, nanoseconds since the Unix epoch.
    pub zero_unix_ns: u64,
    /// Length of a tick in nanoseconds, as well as it is known.
    pub nanos_per_tick: f64,
    /// A process that was recorded forked it.
    pub forked: bool,
    /// Its number in the order in which processes began, if they were counted.
    pub order: Option<u32>,
    /// Its rank in `MPI_COMM_WORLD`.
    pub rank: Option<u32>,
    /// Its node, if the program runs on several.
    pub node: Option<u32>,
    /// Threads that began.
    pub threads: u64,
    /// Threads that found no room.
    pub threads_lost: u64,
    /// Names that found no room.
    pub names_lost: u64,
    /// Marks that found no room.
    pub marks_lost: u64,
    /// Batches that the process could not hand on itself, and that were taken up later.
    pub refused: u64,
    /// How it ends, once it has said so.
    pub end: Option<End>,
}

/// How a process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// When.
    pub at: Ticks,
    /// How.
    pub ending: Ending,
    /// I/O calls that were seen.
    pub io_calls_seen: u64,
    /// I/O calls that the kernel counted, if it says.
    pub io_calls_made: Option<u64>,
    /// The program removed the interposer from the environment.
    pub environment_cleared: bool,
}

impl Facts {
    /// The clock of the process's ticks.
    #[must_use]
    pub fn clock(&self) -> Clock {
        Clock {
            zero: self.zero,
            zero_unix_ns: self.zero_unix_ns,
            nanos_per_tick: self.nanos_per_tick,
        }
    }
}
