//! What looking at a program cost it.

use serde::{Deserialize, Serialize};

/// What recording costs a program, by kind of event, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EventCosts {
    /// A thread's part in an execution of a region, from begin to end.
    pub execution_ns: f64,
    /// A wait.
    pub wait_ns: f64,
    /// A chunk.
    pub chunk_ns: f64,
    /// Creating or running a task.
    pub task_ns: f64,
    /// Taking a lock or entering a critical section.
    pub mutex_ns: f64,
}

impl Default for EventCosts {
    /// Where nobody measured: as on processors of the last ten years.
    fn default() -> Self {
        Self {
            execution_ns: 80.0,
            wait_ns: 40.0,
            chunk_ns: 5.0,
            task_ns: 25.0,
            mutex_ns: 3.0,
        }
    }
}

impl EventCosts {
    /// The first cost that cannot be, if there is one.
    #[must_use]
    pub fn impossible(&self) -> Option<f64> {
        [
            self.execution_ns,
            self.wait_ns,
            self.chunk_ns,
            self.task_ns,
            self.mutex_ns,
        ]
        .into_iter()
        .find(|cost| !cost.is_finite() || *cost < 0.0)
    }
}

/// What recording cost the program, as an estimate: events x cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Intrusion {
    /// Events recorded or accumulated.
    pub events: u64,
    /// Mean cost of an event.
    pub event_cost_ns: f64,
    /// Cost of all events, all threads.
    pub cost_ns: u64,
    /// Cost as a fraction of the time of all threads.
    pub fraction: f64,
    /// The largest such fraction of any region.
    pub worst_region_fraction: f64,
}
