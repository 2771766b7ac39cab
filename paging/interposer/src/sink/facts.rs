//! What the interposer tells a sink.

use fathomp_paging::{Activity, Cause, Counts, Ending, MarkKind, State};
use fathomp_types::Ticks;

/// The end of a thread's stay in a state. The stay began where the one before it ended, or
/// with the thread.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// When it ended.
    pub at: Ticks,
    /// The state that ended.
    pub state: State,
    /// Which call or construct the thread was in, a number of [`Process::name`].
    ///
    /// [`Process::name`]: super::Process::name
    pub cause: Cause,
    /// What rose since the change before.
    pub counts: &'a Counts,
    /// What the thread does from now on: should it be killed before its next change, its
    /// record ends with this.
    pub next: Activity,
}

/// A point in the life of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// When.
    pub at: Ticks,
    /// What it is.
    pub kind: MarkKind,
    /// Which, a number of [`Process::name`](super::Process::name); 0 for none.
    pub name: u32,
}

/// A thread that begins.
#[derive(Clone, Copy, Debug)]
pub struct ThreadFacts {
    /// Number by which the kernel knows it.
    pub os_id: u32,
    /// When it began, or was first seen.
    pub begin: Ticks,
}

/// Who a thread is to others, as far as it is known; `None` leaves it as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Rank of its process in `MPI_COMM_WORLD`.
    pub rank: Option<u32>,
    /// Its node, if the program runs on several.
    pub node: Option<u32>,
    /// Its number among its process's OpenMP threads.
    pub openmp_thread: Option<u32>,
}

/// How a process ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct EndFacts {
    /// When.
    pub at: Ticks,
    /// How: [`Ending::Exit`] or [`Ending::Exec`].
    pub ending: Ending,
    /// I/O calls that the interposer saw.
    pub io_calls_seen: u64,
    /// I/O calls that the kernel counted for the process, without those of the sink
    /// ([`Process::own_io_calls`](super::Process::own_io_calls)); `None` if it does not say.
    pub io_calls_made: Option<u64>,
    /// The program removed the interposer from the environment of the program that it becomes, or
    /// of its children, which are therefore not recorded.
    pub environment_cleared: bool,
}

/// What the interposer does for the sink.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hooks {
    /// Called first in every thread that the sink starts in the program: it is no task.
    pub helper_begins: Option<fn()>,
}
