//! One rank: its time in regions, computing, and in MPI.

use super::events::function;
use super::one::OneRank;
use fathomp_trace::model::Process;
use fathomp_trace::record::Record;
use fathomp_trace::state::State;
use fathomp_types::Ticks;
use serde::Serialize;

/// What one rank did.
#[derive(Clone, Debug, Serialize)]
pub struct RankRow {
    /// Its number.
    pub rank: u32,
    /// Where it ran.
    pub host: String,
    /// Its threads.
    pub threads: u32,
    /// From the end of `MPI_Init` to the begin of `MPI_Finalize`; of a rank that ended before, or of
    /// which these calls were not recorded, from its process's begin or to its end.
    pub wall_ns: u64,
    /// Time in which its threads compute meanwhile, summed over threads.
    pub computing_ns: u64,
    /// Time with a parallel region.
    pub regions_ns: u64,
    /// Time of its first thread in MPI.
    pub mpi_ns: u64,
    /// Of that, time in which it waits for other ranks: until the last has come to a call that needs
    /// all, until a message is sent, until somebody is ready to receive one.
    pub waiting_ns: Option<u64>,
    /// How often it was the last to come to a call that needs all ranks of its communicator.
    pub last: Option<u64>,
}

pub(super) fn row(one: &OneRank<'_>) -> RankRow {
    let analysis = one.analysis;
    let first = analysis.threads_seen.first();
    let all_of_mpi = first.map_or(0, |thread| thread.states[State::Communication]);
    let whole = analysis.wall_ns;
    let ends = one.recording.processes.first().map(Ends::of);
    let ends = ends.unwrap_or_default();
    let wall = whole.saturating_sub(ends.outside_ns());
    let regions = whole as f64 * analysis.parallel_time_fraction.clamp(0.0, 1.0);
    RankRow {
        rank: one.number,
        host: analysis.program.machine.host.clone(),
        threads: analysis.threads,
        wall_ns: wall,
        // Before and behind MPI a rank's first thread is alone, and computes.
        computing_ns: analysis
            .states
            .useful_ns()
            .saturating_sub(ends.before_ns + ends.behind_ns),
        regions_ns: (regions as u64).min(wall),
        mpi_ns: all_of_mpi
            .saturating_sub(ends.init_ns + ends.finalize_ns)
            .min(wall),
        waiting_ns: None,
        last: None,
    }
}

/// What a process does before and behind the part of its run that is looked at, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    before_ns: u64,
    init_ns: u64,
    finalize_ns: u64,
    behind_ns: u64,
}

impl Ends {
    fn of(process: &Process) -> Self {
        let Some(first) = process.threads.first() else {
            return Self::default();
        };
        let span = |from: Ticks, to: Ticks| process.clock.span(to.since(from)).0;
        let mut ends = Self::default();
        for record in &first.records {
            let Record::Message(call) = record else {
                continue;
            };
            match function(call.function) {
                "MPI_Init" | "MPI_Init_thread" => {
                    ends.before_ns = span(first.begin, call.begin);
                    ends.init_ns = span(call.begin, call.end);
                }
                "MPI_Finalize" => {
                    ends.finalize_ns = span(call.begin, call.end);
                    ends.behind_ns = span(call.end, first.end);
                }
                _ => {}
            }
        }
        ends
    }

    fn outside_ns(&self) -> u64 {
        self.before_ns + self.init_ns + self.finalize_ns + self.behind_ns
    }
}
