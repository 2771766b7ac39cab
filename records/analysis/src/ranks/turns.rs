//! Calls of MPI by several threads of a rank at the same time, which take turns inside MPI or before
//! it, at a lock of the program's.
//!
//! A call that begins while another thread of its rank is in MPI and waits for no other rank is
//! compared with calls from the same place that begin while none is. When a call begins does not
//! depend on how long it takes, so that without turns both would take as long.

use super::call_times::CallTimes;
use super::own_time::{OwnTime, median};
use fathomp_types::Ticks;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Calls of each kind that a median needs.
const CALLS_MIN: usize = 20;

/// Calls from one place in a rank whose threads call MPI at the same time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Turns {
    /// The rank.
    pub rank: u32,
    /// Function and place.
    pub place: String,
    /// Threads that call there.
    pub threads: u32,
    /// Calls that begin while another thread is in MPI and waits for nobody.
    pub count: u64,
    /// What such a call takes without waits for other ranks, the median,
    pub together_ns: f64,
    /// and what one takes that begins while no other thread is in MPI.
    pub alone_ns: f64,
}

impl Turns {
    /// What its calls take longer than alone: the sum of all threads.
    #[must_use]
    pub fn lost_ns(&self) -> f64 {
        self.count as f64 * (self.together_ns - self.alone_ns).max(0.0)
    }
}

/// Waits of a rank's threads for locks and critical sections while another of them is in MPI.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LockedCalls {
    /// The rank.
    pub rank: u32,
    /// Function and place of the calls in which most of that passes.
    pub place: String,
    /// Threads that wait so.
    pub threads: u32,
    /// How often.
    pub count: u64,
    /// For how long, all threads.
    pub waited_ns: u64,
}

/// Such waits by rank, the dearest first.
pub(super) fn locked(times: &CallTimes<'_>, numbers: &[u32]) -> Vec<LockedCalls> {
    let ranks = numbers.iter().enumerate();
    let mut found: Vec<LockedCalls> = ranks
        .filter_map(|(rank, number)| locked_of_rank(times, rank, *number))
        .collect();
    found.sort_by_key(|one| Reverse(one.waited_ns));
    found
}

fn locked_of_rank(times: &CallTimes<'_>, rank: usize, number: u32) -> Option<LockedCalls> {
    let events = times.events[rank];
    if events.lock_waits.is_empty() {
        return None;
    }
    let ns = |at: Ticks| times.own_ns(rank, at);
    // By thread, its calls in order, each with its place.
    let mut calls: BTreeMap<u32, Vec<(f64, f64, u32)>> = BTreeMap::new();
    for call in &events.calls {
        let of_thread = calls.entry(call.thread).or_default();
        of_thread.push((ns(call.begin), ns(call.end), call.place));
    }
    let mut by_place: BTreeMap<u32, f64> = BTreeMap::new();
    let (mut threads, mut count, mut waited) = (BTreeSet::new(), 0, 0.0);
    for (thread, begin, end) in &events.lock_waits {
        let (begin, end) = (ns(*begin), ns(*end));
        let mut inside = 0.0;
        for (_, of_other) in calls.iter().filter(|(other, _)| *other != thread) {
            let first = of_other.partition_point(|one| one.0 < begin);
            let here = of_other[first.saturating_sub(1)..].iter();
            for one in here.take_while(|one| one.0 < end) {
                let ns = (one.1.min(end) - one.0.max(begin)).max(0.0);
                *by_place.entry(one.2).or_default() += ns;
                inside += ns;
            }
        }
        if inside > 0.0 {
            threads.insert(*thread);
            count += 1;
            waited += inside.min(end - begin);
        }
    }
    let (place, _) = by_place.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (count > 0).then(|| LockedCalls {
        rank: number,
        place: events.places[place as usize].to_string(),
        threads: threads.len() as u32,
        count,
        waited_ns: waited as u64,
    })
}

/// Where such calls take longer than alone, the dearest first.
pub(super) fn turns(times: &CallTimes<'_>, numbers: &[u32]) -> Vec<Turns> {
    let ranks = numbers.iter().enumerate();
    let mut found: Vec<Turns> = ranks
        .flat_map(|(rank, number)| of_rank(times, rank, *number))
        .filter(|one| one.together_ns > one.alone_ns)
        .collect();
    found.sort_by_key(|one| Reverse(one.lost_ns() as u64));
    found
}

/// Calls of a place, in nanoseconds, by whether another thread was in MPI when they began.
#[derive(Default)]
struct Sum {
    together: Vec<f64>,
    alone: Vec<f64>,
    threads: BTreeSet<u32>,
}

fn of_rank(times: &CallTimes<'_>, rank: usize, number: u32) -> Vec<Turns> {
    let events = times.events[rank];
    let first = events.calls.first().map(|call| call.thread);
    if events.calls.iter().all(|call| Some(call.thread) == first) {
        return Vec::new();
    }
    // The last call of each thread that began before.
    let mut last: BTreeMap<u32, OwnTime> = BTreeMap::new();
    let mut sums: BTreeMap<u32, Sum> = BTreeMap::new();
    for (at, call) in (0..).zip(&events.calls) {
        let times = times.own(rank, at);
        let mut others = last.iter().filter(|(thread, _)| **thread != call.thread);
        let is_together =
            others.any(|(_, other)| other.begin <= times.called && times.called < other.end);
        let sum = sums.entry(call.place).or_default();
        sum.threads.insert(call.thread);
        match is_together {
            true => sum.together.push(times.ns()),
            false => sum.alone.push(times.ns()),
        }
        last.insert(call.thread, times);
    }
    let enough = |sum: &Sum| sum.together.len().min(sum.alone.len()) >= CALLS_MIN;
    let compared = sums.into_iter().filter(|(_, sum)| enough(sum));
    compared
        .map(|(place, mut sum)| Turns {
            rank: number,
            place: events.places[place as usize].to_string(),
            threads: sum.threads.len() as u32,
            count: sum.together.len() as u64,
            together_ns: median(&mut sum.together),
            alone_ns: median(&mut sum.alone),
        })
        .collect()
}
