//! What the launcher and its collector say to each other, a line of JSON each: orders on
//! the collector's standard input, answers on its standard output. If the input ends, the
//! launcher is gone.

use serde::{Deserialize, Serialize};

/// What the launcher asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// Watch a process, which is about to become the program, and all that it starts.
    Watch(u32),
    /// The program has ended: write what is left.
    Finish,
    /// The circumstances of the run are written, too: end.
    Close,
}

/// What the collector answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    /// It is ready for programs.
    Ready,
    /// It watches; what it cannot watch, in sentences.
    Watching(Vec<String>),
    /// All of the programs is written.
    Finished(Finished),
    /// It ends; what should be known, in sentences.
    Closed(Vec<String>),
    /// It cannot go on, for this reason.
    Failed(String),
}

/// What was collected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Finished {
    /// Processes that said what they did.
    pub(super) processes: u64,
    /// Length of a tick in nanoseconds, measured over the whole run.
    pub(super) nanos_per_tick: Option<f64>,
    /// What should be known of it, in sentences.
    pub(super) problems: Vec<String>,
}
