//! What recording cost the program that was recorded: events, each at its price.

use crate::facts::{ForeignRecorderFacts, Intrusion, Region};
use crate::sums::saturating_sum;
use fathomp_trace::model::SiteKind;
use fathomp_trace::state::State;
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
            task_ns: 3.0,
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

/// Events of a region (or the serial part), and what recording them cost.
fn cost(region: &Region, costs: &EventCosts) -> (u64, f64) {
    let waits = saturating_sum(region.wait_counts.values().copied());
    let executions = match region.kind {
        SiteKind::Serial => 0,
        _ => saturating_sum(region.threads.iter().map(|thread| thread.instances)),
    };
    let tasks = region.tasks_created.saturating_add(region.tasks_run);
    // The runtime's work on chunks is timed for one in some of them, and counted for each as
    // a wait: those are no events of their own.
    let dispatched = region
        .wait_counts
        .get(&State::Overhead)
        .copied()
        .unwrap_or(0);
    let kinds = [
        (executions, costs.execution_ns),
        (waits.saturating_sub(dispatched), costs.wait_ns),
        (region.chunks, costs.chunk_ns),
        (tasks, costs.task_ns),
        (region.mutexes_taken, costs.mutex_ns),
    ];
    let events = saturating_sum(kinds.iter().map(|(number, _)| *number));
    let ns = kinds
        .iter()
        .map(|(number, each)| *number as f64 * each)
        .sum();
    (events, ns)
}

impl Intrusion {
    /// As measured by the recorders themselves, if they are not part of the runtime: they were
    /// told more than is recorded.
    pub(crate) fn with_foreign_recorders(
        self,
        foreign_recorders: &[ForeignRecorderFacts],
        thread_time_ns: u64,
    ) -> Self {
        let events = saturating_sum(foreign_recorders.iter().map(|one| one.events));
        if events == 0 {
            return self;
        }
        let cost_ns = saturating_sum(foreign_recorders.iter().map(|one| one.cost_ns));
        // The estimate says how the cost divides among regions.
        let as_estimated = cost_ns as f64 / (self.cost_ns as f64).max(1.0);
        Self {
            events,
            event_cost_ns: cost_ns as f64 / events as f64,
            cost_ns,
            fraction: (cost_ns as f64 / (thread_time_ns as f64).max(1.0)).min(1.0),
            worst_region_fraction: (self.worst_region_fraction * as_estimated).min(1.0),
        }
    }
}

/// What recording cost.
pub(crate) fn intrusion(regions: &[Region], costs: &EventCosts, thread_time_ns: u64) -> Intrusion {
    let (mut events, mut all_ns, mut worst) = (0_u64, 0.0, 0.0_f64);
    for region in regions {
        let (number, ns) = cost(region, costs);
        events = events.saturating_add(number);
        all_ns += ns;
        if region.kind != SiteKind::Serial {
            worst = worst.max(ns / (region.states.total_ns() as f64).max(1.0));
        }
    }
    Intrusion {
        events,
        event_cost_ns: if events > 0 {
            all_ns / events as f64
        } else {
            0.0
        },
        cost_ns: all_ns.round() as u64,
        fraction: (all_ns / (thread_time_ns as f64).max(1.0)).min(1.0),
        worst_region_fraction: worst.min(1.0),
    }
}
