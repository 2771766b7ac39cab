//! How long threads waited at barriers and for tasks, divided by what the thread that was waited
//! for did meanwhile, and which executions are too short for that to matter.

use crate::cause::Kind;
use crate::region::Seen;
use fathomp_analysis::State;

/// Work worth less than so many times what the construct costs does not pay.
const PAYS: f64 = 4.0;
/// How much more work does not pay where what the team costs is seen to be much.
const LONGER: f64 = 4.0;
/// Executions below this are too few to be called many.
const MANY: f64 = 50.0;
/// Barriers inside an execution from which on it is those that count.
const INSIDE: f64 = 4.0;
/// What a page fault served from memory takes.
pub(crate) const FAULT_NS: f64 = 700.0;

/// Waiting, divided by what was waited for; means over threads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waited {
    pub(crate) computing: f64,
    pub(crate) blocked: f64,
    pub(crate) ready: f64,
    pub(crate) mutex: f64,
    pub(crate) ordered: f64,
    pub(crate) communication: f64,
    /// Atomic instructions that go to other nodes.
    pub(crate) atomics: f64,
    pub(crate) io: f64,
    /// The runtime's work, and what all threads waited: barriers themselves.
    pub(crate) runtime: f64,
}

impl Waited {
    /// Of a region.
    pub(crate) fn of(seen: &Seen<'_>) -> Self {
        let region = seen.region;
        let waiting = [
            State::ImplicitBarrier,
            State::ExplicitBarrier,
            State::TaskWait,
            State::Idle,
        ];
        let all: f64 = waiting.iter().map(|state| seen.mean(*state)).sum();
        let known = region.waited_for.total_ns() as f64 + region.waited_together_ns as f64;
        // Executions of which some threads left no record are taken to be like the
        // others.
        let scale = if known > 0.0 { all / known } else { 0.0 };
        let waited = |state: State| region.waited_for[state] as f64 * scale;
        let others = seen.disturbance;
        let mut result = Self {
            computing: waited(State::Compute) + others.hidden_ns,
            blocked: waited(State::Blocked),
            ready: (waited(State::Ready) - others.hidden_ns).max(0.0) + others.waited_ns,
            mutex: waited(State::Critical) + waited(State::Lock),
            ordered: waited(State::Ordered),
            communication: waited(State::Communication),
            atomics: 0.0,
            io: waited(State::Io),
            runtime: (waited(State::Overhead) + region.waited_together_ns as f64 * scale
                - others.waited_ns)
                .max(0.0),
        };
        if known <= 0.0 {
            result.runtime = all;
        }
        if let Some(causes) = &region.barrier_wait_causes {
            // On nodes the recording knows from barrier to barrier what the last thread did.
            let barriers = seen.each(causes.total_ns() as f64);
            let other_waits = (all - barriers).max(0.0);
            // Whether that one had a processor its counters know.
            let computing = seen.each(causes.compute_ns as f64);
            result.ready = result.ready.min(computing);
            result.computing = computing - result.ready;
            result.communication = seen.each((causes.fault_ns + causes.flush_ns) as f64);
            result.mutex += seen.each(causes.lock_ns as f64);
            result.atomics = seen.each(causes.atomic_ns as f64);
            result.runtime = seen.each(causes.other_ns as f64) + other_waits;
        }
        result
    }
}

/// What makes executions hold too little work, if they do.
pub(crate) fn too_short(seen: &Seen<'_>) -> Option<Kind> {
    let executions = seen.executions();
    let barriers = seen.barriers();
    let work = seen.mean(State::Compute) / executions;
    let waited = Waited::of(seen);
    let lost = waited.computing + waited.runtime + seen.overhead();
    if seen.team < 2 || lost < 0.1 * seen.region.wall_ns as f64 {
        return None;
    }
    let pays = |price: f64| PAYS * price.max(500.0);
    if barriers >= INSIDE && barriers * executions >= MANY {
        let between = work / barriers;
        return (between < pays(seen.prices.barrier_ns)).then_some(Kind::ShortLoops);
    }
    let chunky = seen.region.chunks as f64 / executions > MANY;
    let many_tasks = seen.region.tasks_run as f64 / executions > MANY;
    // Somewhat longer ones are too short where the team costs that much all the same: its own
    // barrier cannot be dropped.
    let costs = waited.runtime + seen.overhead() >= 0.1 * seen.region.wall_ns as f64;
    let most = pays(seen.prices.fork_join_ns)
        * if costs && barriers < INSIDE {
            LONGER
        } else {
            1.0
        };
    let short = executions >= MANY && work < most;
    (short && !chunky && !many_tasks).then_some(Kind::ShortRegions)
}
