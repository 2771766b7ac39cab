//! What one run says about a region.

use super::chunk_granularity::ChunkGranularity;
use super::imbalance_evidence::ImbalanceEvidence;

/// What one run says about a region; times are means over the team's threads
/// in nanoseconds and add up to `time`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Observed {
    /// Threads in the team, weighted by time.
    pub(crate) team: f64,
    /// Time of all executions.
    pub(crate) time: f64,
    /// In application code.
    pub(crate) work: f64,
    /// Waiting at barriers, for tasks, or idle.
    pub(crate) waiting: f64,
    /// Waiting for critical sections and locks.
    pub(crate) mutex: f64,
    /// Waiting in ordered constructs.
    pub(crate) ordered: f64,
    /// In the runtime.
    pub(crate) overhead: f64,
    /// In input and output.
    pub(crate) io: f64,
    /// Waiting for other nodes.
    pub(crate) communication: f64,
    /// Blocked, or waiting for a thread that was.
    pub(crate) blocked: f64,
    /// Without a processor because the program's own threads share them, or waiting
    /// for a thread that was.
    pub(crate) ready: f64,
    /// Executions.
    pub(crate) executions: f64,
    /// Barriers passed, the implicit ones included.
    pub(crate) barriers: f64,
    /// Chunks handed out, all threads.
    pub(crate) chunks: f64,
    /// Relative standard deviation of the time from run to run.
    pub(crate) noise: f64,
    /// What its threads say about the cause of waiting.
    pub(crate) evidence: ImbalanceEvidence,
    /// Pieces the work comes in.
    pub(crate) granularity: ChunkGranularity,
}

impl Observed {
    /// The same region with all times multiplied by `factor`.
    pub(crate) fn scaled(&self, factor: f64) -> Self {
        Self {
            time: self.time * factor,
            work: self.work * factor,
            waiting: self.waiting * factor,
            mutex: self.mutex * factor,
            ordered: self.ordered * factor,
            overhead: self.overhead * factor,
            io: self.io * factor,
            communication: self.communication * factor,
            blocked: self.blocked * factor,
            ready: self.ready * factor,
            ..*self
        }
    }

    /// Both regions taken as one.
    pub(crate) fn joined(&self, other: &Self) -> Self {
        let time = self.time + other.time;
        let part = |a: f64, b: f64| {
            if time > 0.0 {
                (a * self.time + b * other.time) / time
            } else {
                a.max(b)
            }
        };
        Self {
            team: part(self.team, other.team),
            time,
            work: self.work + other.work,
            waiting: self.waiting + other.waiting,
            mutex: self.mutex + other.mutex,
            ordered: self.ordered + other.ordered,
            overhead: self.overhead + other.overhead,
            io: self.io + other.io,
            communication: self.communication + other.communication,
            blocked: self.blocked + other.blocked,
            ready: self.ready + other.ready,
            executions: self.executions + other.executions,
            barriers: self.barriers + other.barriers,
            chunks: self.chunks + other.chunks,
            noise: part(self.noise, other.noise),
            evidence: self.evidence.and(other.evidence),
            granularity: ChunkGranularity::default(),
        }
    }
}
