//! One rank: its time in regions, computing, and in MPI.

use super::events::function;
use super::one::OneRank;
use super::own_time::{in_order, overlap};
use fathomp_trace::model::{Process, Thread};
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
    /// Time in which a thread of it was ready to run but had no processor: of the thread with most of
    /// it.
    pub taken_ns: u64,
    /// Of that, what may have been outside of MPI, at most.
    pub taken_outside_ns: u64,
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
    let process = one.recording.processes.first();
    let ends = process.map(Ends::of).unwrap_or_default();
    let [taken_ns, taken_outside_ns] = process.map_or([0; 2], |process| taken(process, &ends));
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
        taken_ns: taken_ns.min(wall),
        taken_outside_ns: taken_outside_ns.min(wall),
        regions_ns: (regions as u64).min(wall),
        mpi_ns: all_of_mpi
            .saturating_sub(ends.init_ns + ends.finalize_ns)
            .min(wall),
        waiting_ns: None,
        last: None,
    }
}

/// Time in which a thread was ready to run and had no processor, between `MPI_Init` and
/// `MPI_Finalize`: in all, and outside of MPI at most. Of the threads with most of each.
fn taken(process: &Process, ends: &Ends) -> [u64; 2] {
    let sums = process
        .threads
        .iter()
        .map(|thread| of_thread(process, ends, thread));
    let most = sums.fold([0.0_f64; 2], |most, sum| {
        [most[0].max(sum[0]), most[1].max(sum[1])]
    });
    most.map(|ns| ns as u64)
}

fn of_thread(process: &Process, ends: &Ends, thread: &Thread) -> [f64; 2] {
    let ns = |at: Ticks| process.clock.span(at.since(process.begin)).0 as f64;
    let calls = thread.records.iter().filter_map(|record| match record {
        Record::Message(call) => Some((ns(call.begin), ns(call.end))),
        _ => None,
    });
    let in_mpi = in_order(calls);
    let mut sums = [0.0; 2];
    for record in &thread.records {
        let Record::Counters(reading) = record else {
            continue;
        };
        let elapsed = ns(reading.at) - ns(reading.since);
        let begin = ns(reading.since.max(ends.begin));
        let end = ns(reading.at.min(ends.end)).max(begin);
        let counts = &reading.counts;
        let off = counts.processor_ns.map_or(0.0, |on| elapsed - on as f64);
        // A thread that sleeps gives its processor away; one that never did was taken off.
        let ready = match (counts.voluntary_switches, counts.run_delay_ns) {
            (0, _) => off,
            (_, delay) => off.min(delay.unwrap_or(0) as f64),
        };
        let ready = ready.max(0.0) * (end - begin) / elapsed.max(1.0);
        sums[0] += ready;
        // Which part of the reading it was in is not known.
        sums[1] += ready.min((end - begin) - overlap(&in_mpi, begin, end));
    }
    sums
}

/// What a process does before and behind the part of its run that is looked at, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    /// When that part begins,
    begin: Ticks,
    /// and when it ends.
    end: Ticks,
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
        let mut ends = Self {
            begin: first.begin,
            end: first.end,
            ..Self::default()
        };
        for record in &first.records {
            let Record::Message(call) = record else {
                continue;
            };
            match function(call.function) {
                "MPI_Init" | "MPI_Init_thread" => {
                    ends.before_ns = span(first.begin, call.begin);
                    ends.begin = call.end;
                    ends.init_ns = span(call.begin, call.end);
                }
                "MPI_Finalize" => {
                    ends.end = call.begin;
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
