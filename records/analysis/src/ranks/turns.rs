//! Calls of MPI by several threads of a rank at the same time, which take turns inside MPI or before
//! it, at a lock of the program's.
//!
//! A call that begins while another thread of its rank is in MPI and waits for no other rank is
//! compared with calls from the same place that begin while none is. When a call begins does not
//! depend on how long it takes, so that without turns both would take as long.

use super::events::Events;
use super::own_time::{OwnTime, median};
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

/// A thread's wait for a lock: its number, begin and end, in nanoseconds of its host's clock.
pub(super) type LockWait = (usize, f64, f64);

/// Such waits by rank, the dearest first.
pub(super) fn locked(
    all: &[&Events],
    numbers: &[u32],
    own: &[Vec<OwnTime>],
    waits: &[Vec<LockWait>],
) -> Vec<LockedCalls> {
    let ranks = all.iter().zip(numbers).zip(own.iter().zip(waits));
    let mut found: Vec<LockedCalls> = ranks
        .filter_map(|((events, number), (own, waits))| locked_of_rank(events, *number, own, waits))
        .collect();
    found.sort_by_key(|one| Reverse(one.waited_ns));
    found
}

fn locked_of_rank(
    events: &Events,
    number: u32,
    own: &[OwnTime],
    waits: &[LockWait],
) -> Option<LockedCalls> {
    // By thread, its calls in order, each with its place.
    let mut calls: BTreeMap<usize, Vec<(f64, f64, usize)>> = BTreeMap::new();
    for (call, times) in events.calls.iter().zip(own) {
        let of_thread = calls.entry(call.thread).or_default();
        of_thread.push((times.called, times.end, call.place));
    }
    for of_thread in calls.values_mut() {
        of_thread.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let mut by_place: BTreeMap<usize, f64> = BTreeMap::new();
    let (mut threads, mut count, mut waited) = (BTreeSet::new(), 0, 0.0);
    for (thread, begin, end) in waits {
        let mut inside = 0.0;
        for (_, of_other) in calls.iter().filter(|(other, _)| *other != thread) {
            let first = of_other.partition_point(|one| one.0 < *begin);
            let here = of_other[first.saturating_sub(1)..].iter();
            for one in here.take_while(|one| one.0 < *end) {
                let ns = (one.1.min(*end) - one.0.max(*begin)).max(0.0);
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
        place: events.places[place].to_string(),
        threads: threads.len() as u32,
        count,
        waited_ns: waited as u64,
    })
}

/// Where such calls take longer than alone, the dearest first.
pub(super) fn turns(all: &[&Events], numbers: &[u32], own: &[Vec<OwnTime>]) -> Vec<Turns> {
    let ranks = all.iter().zip(numbers).zip(own);
    let mut found: Vec<Turns> = ranks
        .flat_map(|((events, number), own)| of_rank(events, *number, own))
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
    threads: BTreeSet<usize>,
}

fn of_rank(events: &Events, number: u32, own: &[OwnTime]) -> Vec<Turns> {
    let first = events.calls.first().map(|call| call.thread);
    if events.calls.iter().all(|call| Some(call.thread) == first) {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..events.calls.len()).collect();
    order.sort_by(|a, b| own[*a].called.total_cmp(&own[*b].called));
    // The last call of each thread that began before.
    let mut last: BTreeMap<usize, OwnTime> = BTreeMap::new();
    let mut sums: BTreeMap<usize, Sum> = BTreeMap::new();
    for at in order {
        let (call, times) = (&events.calls[at], own[at]);
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
            place: events.places[place].to_string(),
            threads: sum.threads.len() as u32,
            count: sum.together.len() as u64,
            together_ns: median(&mut sum.together),
            alone_ns: median(&mut sum.alone),
        })
        .collect()
}
