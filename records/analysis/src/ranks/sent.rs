//! What messages take by the place that sends them, without waits for other ranks.

use super::call_times::CallTimes;
use super::events::{CallPlace, Events};
use super::messages::Pair;
use super::own_time::median;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Messages from one place, as far as both ends are known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SentMessages {
    /// Function and place that begin to send them.
    pub place: String,
    /// How many.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The time that one takes in calls of both ranks, without waits for the other: the median,
    /// which a thread that loses its processor inside a call does not change.
    pub message_ns: f64,
    /// The most bytes in a nanosecond that any message from here moved.
    pub bytes_per_ns: f64,
    /// Messages to a rank to which one was sent from the same place before, with nothing received
    /// and no collective call since.
    pub in_a_row: u64,
}

/// By place: bytes, and what each message takes.
type Sums<'a> = BTreeMap<&'a CallPlace, (u64, Vec<f64>, f64)>;

/// Messages by place, the dearest first.
pub(super) fn sent(times: &CallTimes<'_>, pairs: &[Pair]) -> Vec<SentMessages> {
    let all = &times.events;
    let loads: Vec<Vec<u32>> = all.iter().map(|events| loads(events)).collect();
    // Of both calls of one end, this message's part. A call that completes it may wait until the
    // other rank, which computes, lets MPI go on: only the time in which that is in MPI counts.
    let end_ns = |(rank, half): (u32, u32), peer: u32| {
        let rank = rank as usize;
        let half = &all[rank].halves[half as usize];
        let load = |call: u32| f64::from(loads[rank][call as usize].max(1));
        let whole = |call: u32| times.own(rank, call).ns() / load(call);
        let both = |call: u32| {
            let (begin, end) = times.own(rank, call).aligned;
            times.in_mpi(peer as usize, begin, end) / load(call)
        };
        match half.done() {
            Some(done) if done == half.begun => both(done),
            done => whole(half.begun) + done.map_or(0.0, both),
        }
    };
    let whole_ns = |(rank, half): (u32, u32)| {
        let half = &all[rank as usize].halves[half as usize];
        let ns = |call: u32| times.own(rank as usize, call).ns();
        ns(half.begun) + half.done().map_or(0.0, ns)
    };
    let mut sums: Sums<'_> = BTreeMap::new();
    for pair in pairs {
        let events = all[pair.from.0 as usize];
        let half = &events.halves[pair.from.1 as usize];
        let place = events.place_of(half.begun);
        let ns = end_ns(pair.from, pair.to.0) + end_ns(pair.to, pair.from.0);
        let bytes = half.bytes().unwrap_or(0);
        let sum = sums.entry(place).or_default();
        sum.0 = sum.0.saturating_add(bytes);
        sum.1.push(ns);
        let all_of_it = whole_ns(pair.from) + whole_ns(pair.to);
        sum.2 = sum.2.max(bytes as f64 / all_of_it.max(1.0));
    }
    let mut in_a_row: BTreeMap<&CallPlace, u64> = BTreeMap::new();
    for events in all {
        count_in_a_row(events, &mut in_a_row);
    }
    let mut found: Vec<SentMessages> = sums
        .into_iter()
        .map(|(place, (bytes, mut times, bytes_per_ns))| SentMessages {
            place: place.to_string(),
            count: times.len() as u64,
            bytes,
            message_ns: median(&mut times),
            bytes_per_ns,
            in_a_row: in_a_row.get(place).copied().unwrap_or(0),
        })
        .collect();
    found.sort_by_key(|one| Reverse((one.message_ns * one.count as f64) as u64));
    found
}

/// Of each call, how many messages it begins or completes.
fn loads(events: &Events) -> Vec<u32> {
    let mut loads = vec![0_u32; events.calls.len()];
    for half in &events.halves {
        loads[half.begun as usize] += 1;
        if let Some(done) = half.done().filter(|done| *done != half.begun) {
            loads[done as usize] += 1;
        }
    }
    loads
}

fn count_in_a_row<'a>(events: &'a Events, sums: &mut BTreeMap<&'a CallPlace, u64>) {
    /// What a call does, in the order in which one call does it.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    enum Step {
        Sends(u32, i32),
        HearsOfOthers,
    }
    let at = |call: u32| events.call(call).begin;
    let collectives = events.collectives.iter();
    let mut steps: Vec<_> = collectives
        .filter_map(|one| Some((at(one.done()?), Step::HearsOfOthers)))
        .collect();
    for half in &events.halves {
        match (half.is_send, half.done()) {
            (true, _) => steps.push((
                at(half.begun),
                Step::Sends(events.call(half.begun).place, half.peer),
            )),
            (false, Some(done)) => steps.push((at(done), Step::HearsOfOthers)),
            (false, None) => {}
        }
    }
    steps.sort();
    let mut since: BTreeSet<(u32, i32)> = BTreeSet::new();
    for (_, step) in steps {
        match step {
            Step::HearsOfOthers => since.clear(),
            Step::Sends(place, to) => {
                if !since.insert((place, to)) {
                    *sums.entry(&events.places[place as usize]).or_default() += 1;
                }
            }
        }
    }
}
