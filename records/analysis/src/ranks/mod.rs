//! All ranks of an MPI program together: time computing, time in MPI, and waits for other ranks.
//!
//! Efficiencies are POP's for hybrid programs in their multiplicative form (Wylie, Gimenez, Kuehn:
//! "Hybrid parallel efficiencies", POP Centre of Excellence): with T the time of the run, u the time
//! in which a thread computes, o the time in which the first thread of a rank is outside MPI, of n
//! ranks with m threads (T lies between the end of `MPI_Init` and the begin of `MPI_Finalize`):
//!
//! * parallel efficiency = sum of u / (n m T) = MPI efficiency x OpenMP efficiency;
//! * MPI efficiency = mean o / T = load balance (mean o / max o) x communication (max o / T).

mod activity;
mod call_times;
mod clocks;
mod efficiency;
mod events;
mod meetings;
mod messages;
mod one;
mod own_time;
mod phases;
mod reasons;
mod row;
mod sent;
mod summary;
mod turns;
mod waits;

pub use clocks::HostClock;
pub use efficiency::HybridEfficiency;
pub use messages::{Channel, match_messages};
pub use one::OneRank;
pub use phases::{RankLine, RankPhase, Stretch, states_of};
pub use reasons::WaitKind;
pub use row::RankRow;
pub use sent::SentMessages;
pub use summary::RankSummary;
pub use turns::{LockedCalls, Turns};
pub use waits::{Late, RankMessages, RankWait};

use efficiency::{Parts, efficiency};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use waits::{Waits, waits};

/// All ranks of a program.
#[derive(Clone, Debug, Serialize)]
pub struct Ranks {
    /// Ranks, by number.
    pub ranks: Vec<RankRow>,
    /// Ranks that were started with these, and whose recordings are not there.
    pub missing: Vec<u32>,
    /// The longest of their times, without what passes before and in `MPI_Init`, and in and behind
    /// `MPI_Finalize`.
    pub wall_ns: u64,
    /// Efficiencies of all together; none if some are missing.
    pub efficiency: Option<HybridEfficiency>,
    /// Calls of MPI by function and place, of all ranks, the dearest first.
    pub calls: Vec<RankCalls>,
    /// The rank for which the others wait longest, if they do.
    pub late: Option<Late>,
    /// Threads that share processors, if some do.
    pub crowd: Option<RankCrowd>,
    /// What ranks wait for each other, by kind and place, the dearest first.
    pub waits: Vec<RankWait>,
    /// Messages by sender and receiver.
    pub messages: Vec<RankMessages>,
    /// The same messages by the place that sends them, those that took longest first.
    pub sent: Vec<SentMessages>,
    /// Where calls of several threads of a rank take longer together than alone, the dearest first.
    pub turns: Vec<Turns>,
    /// Waits of threads for locks while another thread of their rank is in MPI, by rank, the dearest
    /// first.
    pub locked: Vec<LockedCalls>,
    /// From one call of all ranks to another.
    pub phases: Vec<RankPhase>,
    /// Hosts but the first, and how well their clocks are known.
    pub clocks: Vec<HostClock>,
    /// Why it is not known what ranks wait for each other, if it is not: one sentence.
    pub unknown_waits: Option<String>,
    /// What all threads do over time.
    #[serde(skip)]
    pub lines: Vec<RankLine>,
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
    /// Of that, time in which ranks wait for others, if it is known.
    pub waiting_ns: Option<u64>,
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

/// Puts ranks together. They may be given in any order; without any, all of it is zero.
#[must_use]
pub fn ranks(mut all: Vec<RankSummary>) -> Ranks {
    all.sort_by_key(RankSummary::number);
    let missing = missing(&all);
    let found = match missing.len() {
        0 => waits(&all),
        _ => Err("recordings of ranks are missing".to_owned()),
    };
    let (waits, unknown_waits) = match found {
        Ok(waits) => (Some(waits), None),
        Err(why) => (None, Some(why)),
    };
    let mut rows: Vec<RankRow> = all.iter().map(|one| one.row.clone()).collect();
    if let Some(waits) = &waits {
        let known = waits.waited_ns.iter().zip(&waits.last).zip(&waits.shifts);
        for (row, ((ns, last), shift)) in rows.iter_mut().zip(known) {
            if shift.is_some() {
                row.waiting_ns = Some((ns.round() as u64).min(row.mpi_ns));
                row.last = Some(*last);
            }
        }
    }
    let wall_ns = rows.iter().map(|one| one.wall_ns).max().unwrap_or(0);
    let parts: Vec<Parts> = rows.iter().map(parts).collect();
    let lines = phases::lines(&all, waits.as_ref());
    let phases = waits.as_ref().map(|waits| phases::phases(&all, waits));
    let calls = calls(&all, waits.as_ref());
    let waits = waits.unwrap_or_default();
    Ranks {
        efficiency: missing
            .is_empty()
            .then(|| efficiency(&parts, wall_ns as f64)),
        missing,
        crowd: crowd(&all),
        calls,
        ranks: rows,
        wall_ns,
        late: waits.late,
        waits: waits.list,
        messages: waits.messages,
        sent: waits.sent,
        turns: waits.turns,
        locked: waits.locked,
        clocks: waits.clocks,
        phases: phases.unwrap_or_default(),
        unknown_waits,
        lines,
    }
}

/// Of as many ranks as were started together, those that are not there. Recordings of earlier
/// versions do not say how many there were.
fn missing(all: &[RankSummary]) -> Vec<u32> {
    let started = all
        .iter()
        .map(|one| one.started.unwrap_or(0).max(one.number() + 1));
    let started = started.max().unwrap_or(0);
    let is_there = |number: &u32| {
        all.binary_search_by_key(number, RankSummary::number)
            .is_ok()
    };
    (0..started).filter(|number| !is_there(number)).collect()
}

fn parts(row: &RankRow) -> Parts {
    Parts {
        threads: f64::from(row.threads),
        outside_ns: row.wall_ns.saturating_sub(row.mpi_ns) as f64,
        computing_ns: row.computing_ns as f64,
        waiting_ns: row.waiting_ns.map(|ns| ns as f64),
    }
}

/// What a launcher that binds ranks does first (Open MPI gives a rank one core unless told
/// otherwise), then ranks of a host that are too many together.
fn crowd(all: &[RankSummary]) -> Option<RankCrowd> {
    let of = |one: &RankSummary, rank, threads, processors| RankCrowd {
        rank,
        host: one.row.host.clone(),
        threads,
        processors,
    };
    let bound = all.iter().find_map(|one| {
        let (threads, may_use) = (one.row.threads, one.processors);
        (may_use > 0 && threads > may_use).then(|| of(one, Some(one.number()), threads, may_use))
    });
    if bound.is_some() {
        return bound;
    }
    let mut hosts: BTreeMap<&str, (&RankSummary, u32)> = BTreeMap::new();
    for one in all {
        let sum = hosts.entry(&one.row.host).or_insert((one, 0));
        sum.1 = sum.1.saturating_add(one.row.threads);
    }
    hosts.into_values().find_map(|(one, threads)| {
        let online = one.online;
        (online > 0 && threads > online).then(|| of(one, None, threads, online))
    })
}

fn calls(all: &[RankSummary], waits: Option<&Waits>) -> Vec<RankCalls> {
    let mut sums: BTreeMap<(&str, &str), RankCalls> = BTreeMap::new();
    for one in all {
        for call in &one.calls {
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
            sum.complete &= one.is_complete;
            sum.count = sum.count.saturating_add(call.count);
            sum.time_ns = sum.time_ns.saturating_add(call.time_ns);
            sum.rank_ns[0] = sum.rank_ns[0].min(call.time_ns);
            sum.rank_ns[1] = sum.rank_ns[1].max(call.time_ns);
            let known = sum.bytes.filter(|_| call.sized == call.count);
            sum.bytes = known.map(|bytes| bytes.saturating_add(call.bytes));
        }
    }
    let mut rows: Vec<RankCalls> = sums.into_values().collect();
    if let Some(waits) = waits {
        for row in &mut rows {
            let here = |place: &events::CallPlace| {
                place.function == row.function && place.name == row.name
            };
            let ns = waits.places.iter().filter(|(place, _)| here(place));
            row.waiting_ns = Some(ns.map(|(_, ns)| *ns).sum::<f64>().round() as u64);
        }
    }
    rows.sort_by_key(|one| Reverse(one.time_ns));
    rows
}
