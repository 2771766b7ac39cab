//! All ranks of an MPI program together: time computing, time in MPI, and waits for other ranks.
//!
//! Efficiencies are POP's for hybrid programs in their multiplicative form (Wylie, Gimenez, Kuehn:
//! "Hybrid parallel efficiencies", POP Centre of Excellence): with T the time of the run, u the time
//! in which a thread computes, o the time in which the first thread of a rank is outside MPI, of n
//! ranks with m threads (T lies between the end of `MPI_Init` and the begin of `MPI_Finalize`):
//!
//! * parallel efficiency = sum of u / (n m T) = MPI efficiency x OpenMP efficiency;
//! * MPI efficiency = mean o / T = load balance (mean o / max o) x communication (max o / T).

use crate::facts::Analysis;
use fathomp_trace::model::{Machine, Process, Recording};
use fathomp_trace::record::{Message, Record};
use fathomp_trace::state::State;
use fathomp_types::Ticks;
use fathomp_types::mpi::NAMES;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A rank's recording.
#[derive(Clone, Copy, Debug)]
pub struct OneRank<'a> {
    /// Its number in `MPI_COMM_WORLD`.
    pub number: u32,
    /// What was recorded.
    pub recording: &'a Recording,
    /// What that says.
    pub analysis: &'a Analysis,
}

/// All ranks of a program.
#[derive(Clone, Debug, Serialize)]
pub struct Ranks {
    /// Ranks, by number.
    pub ranks: Vec<RankRow>,
    /// The longest of their times, without what passes before and in `MPI_Init`, and in and behind
    /// `MPI_Finalize`.
    pub wall_ns: u64,
    /// Efficiencies of all together.
    pub efficiency: HybridEfficiency,
    /// Calls of MPI by function and place, of all ranks, the dearest first.
    pub calls: Vec<RankCalls>,
    /// The rank for which the others wait longest, if they do.
    pub late: Option<Late>,
    /// Threads that share processors, if some do.
    pub crowd: Option<RankCrowd>,
    /// Why it is not known what ranks wait for each other, if it is not: one sentence.
    pub unknown_waits: Option<String>,
}

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
    /// Of that, time in which it waits in calls that need all ranks until the last has come.
    pub waiting_ns: Option<u64>,
    /// How often it was the last to come to such a call.
    pub last: Option<u64>,
}

/// Efficiencies of a hybrid program, each from 0 to 1; a product of those below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HybridEfficiency {
    /// MPI times OpenMP.
    pub parallel: f64,
    /// Balance times communication.
    pub mpi: f64,
    /// Of the time outside MPI, mean over the most.
    pub mpi_balance: f64,
    /// The most time outside MPI over the whole.
    pub mpi_communication: f64,
    /// What threads inside ranks lose.
    pub openmp: f64,
}

/// Calls of one function from one place, of all ranks.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RankCalls {
    /// "MPI_Allreduce".
    pub function: String,
    /// Short name of the place.
    pub name: String,
    /// Ranks that call it there.
    pub ranks: u32,
    /// Calls.
    pub count: u64,
    /// Time in them, all ranks.
    pub time_ns: u64,
    /// The least and the most time of a rank that calls it.
    pub rank_ns: [u64; 2],
    /// Bytes, if they are known of all calls.
    pub bytes: Option<u64>,
    /// All calls are there.
    pub complete: bool,
}

/// More threads than processors for them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RankCrowd {
    /// The rank whose threads are bound to fewer processors; none if it is all ranks of a host.
    pub rank: Option<u32>,
    /// Where.
    pub host: String,
    /// Threads.
    pub threads: u32,
    /// Processors that they may use.
    pub processors: u32,
}

/// A rank for which others wait.
#[derive(Clone, Debug, Serialize)]
pub struct Late {
    /// The rank.
    pub rank: u32,
    /// How often it was the last, of all calls that need all ranks.
    pub times: u64,
    /// Calls that need all ranks.
    pub of: u64,
    /// What the others wait for it: the mean of a rank.
    pub waited_ns: u64,
    /// Where most of that is: function and place.
    pub place: String,
}

/// Puts ranks together. They may be given in any order; without any, all of it is zero.
#[must_use]
pub fn ranks(mut all: Vec<OneRank<'_>>) -> Ranks {
    all.sort_by_key(|one| one.number);
    let mut rows: Vec<RankRow> = all.iter().map(row).collect();
    let wall_ns = rows.iter().map(|one| one.wall_ns).max().unwrap_or(0);
    let (late, unknown_waits) = match meetings(&all) {
        Ok(meetings) => (waits(&all, &meetings, &mut rows), None),
        Err(why) => (None, Some(why)),
    };
    Ranks {
        efficiency: efficiency(&rows, wall_ns),
        crowd: crowd(&all),
        calls: calls(&all),
        ranks: rows,
        wall_ns,
        late,
        unknown_waits,
    }
}

fn row(one: &OneRank<'_>) -> RankRow {
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
            match NAMES.get(usize::from(call.function)).copied() {
                Some("MPI_Init" | "MPI_Init_thread") => {
                    ends.before_ns = span(first.begin, call.begin);
                    ends.init_ns = span(call.begin, call.end);
                }
                Some("MPI_Finalize") => {
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

fn efficiency(rows: &[RankRow], wall_ns: u64) -> HybridEfficiency {
    let threads: f64 = rows.iter().map(|one| f64::from(one.threads)).sum();
    let outside = |one: &RankRow| one.wall_ns.saturating_sub(one.mpi_ns) as f64;
    let most = rows.iter().map(outside).fold(0.0, f64::max);
    let mean = rows.iter().map(outside).sum::<f64>() / (rows.len() as f64).max(1.0);
    let computing: f64 = rows.iter().map(|one| one.computing_ns as f64).sum();
    let part = |of: f64, whole: f64| match whole > 0.0 {
        true => (of / whole).clamp(0.0, 1.0),
        false => 0.0,
    };
    let wall = wall_ns as f64;
    let (parallel, mpi) = (part(computing, threads * wall), part(mean, wall));
    HybridEfficiency {
        parallel,
        mpi,
        mpi_balance: part(mean, most),
        mpi_communication: part(most, wall),
        openmp: part(parallel, mpi),
    }
}

/// What a launcher that binds ranks does first (Open MPI gives a rank one core unless told
/// otherwise), then ranks of a host that are too many together.
fn crowd(all: &[OneRank<'_>]) -> Option<RankCrowd> {
    let of = |one: &OneRank<'_>, rank, threads, processors| RankCrowd {
        rank,
        host: host(one).to_owned(),
        threads,
        processors,
    };
    let bound = all.iter().find_map(|one| {
        let (threads, may_use) = (one.analysis.threads, machine(one).processors());
        (may_use > 0 && threads > may_use).then(|| of(one, Some(one.number), threads, may_use))
    });
    if bound.is_some() {
        return bound;
    }
    let mut hosts: BTreeMap<&str, (&OneRank<'_>, u32)> = BTreeMap::new();
    for one in all {
        let sum = hosts.entry(host(one)).or_insert((one, 0));
        sum.1 = sum.1.saturating_add(one.analysis.threads);
    }
    hosts.into_values().find_map(|(one, threads)| {
        let online = machine(one).cpus_online;
        (online > 0 && threads > online).then(|| of(one, None, threads, online))
    })
}

fn machine<'a>(one: &OneRank<'a>) -> &'a Machine {
    &one.recording.meta.machine
}

fn calls(all: &[OneRank<'_>]) -> Vec<RankCalls> {
    let mut sums: BTreeMap<(&str, &str), RankCalls> = BTreeMap::new();
    for one in all {
        let Some(facts) = &one.analysis.mpi else {
            continue;
        };
        for call in &facts.calls {
            let sum = sums
                .entry((&call.function, &call.place.label))
                .or_insert_with(|| RankCalls {
                    function: call.function.clone(),
                    name: call.name.clone(),
                    rank_ns: [u64::MAX, 0],
                    bytes: Some(0),
                    complete: true,
                    ..RankCalls::default()
                });
            sum.ranks += 1;
            sum.complete &= facts.complete;
            sum.count = sum.count.saturating_add(call.count);
            sum.time_ns = sum.time_ns.saturating_add(call.time_ns);
            sum.rank_ns[0] = sum.rank_ns[0].min(call.time_ns);
            sum.rank_ns[1] = sum.rank_ns[1].max(call.time_ns);
            let known = sum.bytes.filter(|_| call.sized == call.count);
            sum.bytes = known.map(|bytes| bytes.saturating_add(call.bytes));
        }
    }
    let mut rows: Vec<RankCalls> = sums.into_values().collect();
    rows.sort_by_key(|one| Reverse(one.time_ns));
    rows
}

/// When each rank came to a call that needs all ranks, and went on, in nanoseconds of one clock.
struct Meeting<'a> {
    function: u16,
    /// By rank.
    stays: Vec<(f64, f64)>,
    /// The first rank's call, to name the place.
    call: &'a Message,
}

/// The calls that need all ranks, in order; why they are not known if they are not.
fn meetings<'a>(all: &[OneRank<'a>]) -> Result<Vec<Meeting<'a>>, String> {
    let hosts: Vec<&str> = all.iter().map(|one| host(one)).collect();
    if hosts.windows(2).any(|pair| pair[0] != pair[1]) {
        return Err("ranks ran on several hosts, whose clocks are not compared".to_owned());
    }
    let mut of_ranks: Vec<(f64, Vec<&Message>)> = Vec::with_capacity(all.len());
    for one in all {
        let [process] = one.recording.processes.as_slice() else {
            return Err(format!("rank {} has more than one process", one.number));
        };
        if process.details_missing > 0 {
            return Err(format!(
                "calls of rank {} are missing in its recording",
                one.number
            ));
        }
        of_ranks.push((process.clock.nanos_per_tick, of_all(process)));
    }
    // A rank that ended early came to fewer.
    let number = of_ranks.iter().map(|(_, calls)| calls.len()).min();
    let mut found = Vec::new();
    for index in 0..number.unwrap_or(0) {
        let call = of_ranks[0].1[index];
        if of_ranks
            .iter()
            .any(|(_, calls)| calls[index].function != call.function)
        {
            return Err("calls of some ranks are missing in their recordings".to_owned());
        }
        // One counter of the machine stamps all: what differs is how each process measured it.
        let length = of_ranks[0].0;
        let stays = of_ranks.iter().map(|(_, calls)| {
            let of = |ticks: u64| ticks as f64 * length;
            (of(calls[index].begin.0), of(calls[index].end.0))
        });
        found.push(Meeting {
            function: call.function,
            stays: stays.collect(),
            call,
        });
    }
    Ok(found)
}

fn host<'a>(one: &OneRank<'a>) -> &'a str {
    &machine(one).host
}

fn of_all(process: &Process) -> Vec<&Message> {
    let records = process.threads.iter().flat_map(|thread| &thread.records);
    let calls = records.filter_map(|record| match record {
        Record::Message(call) if call.waits_for_all => Some(call),
        _ => None,
    });
    let mut calls: Vec<&Message> = calls.collect();
    calls.sort_by_key(|call| call.begin);
    calls
}

/// Fills in each rank's waits and how often it was last, and finds the rank that the others wait
/// for most.
fn waits(all: &[OneRank<'_>], meetings: &[Meeting<'_>], rows: &mut [RankRow]) -> Option<Late> {
    if meetings.is_empty() {
        return None;
    }
    let mut waited = vec![0.0; rows.len()];
    let mut last = vec![0_u64; rows.len()];
    // For each rank, what all others wait for it, by the meeting.
    let mut for_rank: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); rows.len()];
    for (index, meeting) in meetings.iter().enumerate() {
        let begins = meeting.stays.iter().map(|stay| stay.0);
        let latest = begins.fold(f64::MIN, f64::max);
        let who = meeting.stays.iter().position(|stay| stay.0 >= latest)?;
        last[who] += 1;
        for (rank, &(begin, end)) in meeting.stays.iter().enumerate() {
            let ns = (latest.min(end) - begin).max(0.0);
            waited[rank] += ns;
            *for_rank[who].entry(index).or_default() += ns;
        }
    }
    for (row, (ns, times)) in rows.iter_mut().zip(waited.iter().zip(&last)) {
        row.waiting_ns = Some((ns.round() as u64).min(row.mpi_ns));
        row.last = Some(*times);
    }
    let sum = |of: &BTreeMap<usize, f64>| of.values().sum::<f64>();
    let late = (0..rows.len()).max_by(|a, b| sum(&for_rank[*a]).total_cmp(&sum(&for_rank[*b])))?;
    let others = (rows.len() as f64 - 1.0).max(1.0);
    // Meetings of one place together.
    let mut places: BTreeMap<(u16, u32), f64> = BTreeMap::new();
    for (index, ns) in &for_rank[late] {
        let meeting = &meetings[*index];
        *places
            .entry((meeting.function, meeting.call.site.0))
            .or_default() += ns;
    }
    let ((function, site), _) = places.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let names = crate::sites::site_names(all[0].recording);
    let name = names.get(site as usize).map_or("", String::as_str);
    let function = NAMES.get(usize::from(function)).copied().unwrap_or("MPI");
    Some(Late {
        rank: rows[late].rank,
        times: last[late],
        of: meetings.len() as u64,
        waited_ns: (sum(&for_rank[late]) / others).round() as u64,
        place: format!("{function} at {name}"),
    })
}
