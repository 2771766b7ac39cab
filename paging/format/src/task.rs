//! Whom a recording tells of.

use serde::{Deserialize, Serialize};

/// The number of a task in its recording.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct TaskId(pub u32);

/// Kinds of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// A thread of a process.
    Thread,
    /// The whole machine, or a whole process, of which only samples are known.
    Sampled,
}

/// How a task's record ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The thread ended, or its process left by `exit`.
    Exit,
    /// The process became another program.
    Exec,
    /// The process was killed, or left in a way that could not be seen.
    #[default]
    Lost,
    /// It still ran when recording ended.
    Running,
}

/// A line of execution that was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its number, by which everything in the recording refers to it.
    pub id: TaskId,
    /// What it is.
    pub kind: TaskKind,
    /// Number of its process.
    pub process: u32,
    /// Number of the process that forked its own; 0 if not known.
    pub parent: u32,
    /// Number by which the kernel knows the thread.
    pub os_id: u32,
    /// Name of its program, without directories.
    pub program: String,
    /// Its rank in `MPI_COMM_WORLD`.
    pub rank: Option<u32>,
    /// Its node, if the program runs on several.
    pub node: Option<u32>,
    /// Its number among its process's OpenMP threads, if it is one.
    pub openmp_thread: Option<u32>,
    /// Name of its host.
    pub host: String,
    /// When it was first seen: nanoseconds of the recording's clock.
    pub begin: u64,
    /// When its record ends.
    pub end: u64,
    /// How its record ends.
    pub ending: Ending,
}

impl Task {
    /// The name by which people know it: `node 2`, `rank 3 thread 1`,
    /// `gzip[4711]`, `thread 2`.
    #[must_use]
    pub fn label(&self) -> String {
        let process = match (self.rank, self.node) {
            (Some(rank), _) => format!("rank {rank}"),
            (None, Some(node)) => format!("node {node}"),
            (None, None) => format!("{}[{}]", self.program, self.process),
        };
        match self.openmp_thread {
            Some(thread) => format!("{process} thread {thread}"),
            None if self.os_id == self.process || self.kind == TaskKind::Sampled => process,
            None => format!("{process} thread {}", self.os_id),
        }
    }
}
