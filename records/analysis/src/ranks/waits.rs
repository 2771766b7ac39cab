//! What ranks wait for each other, by kind, place and pair of ranks.
//!
//! Kinds as Scalasca names them (Geimer et al.: "A parallel trace-data interface for scalable
//! performance analysis", and its list of patterns): late sender, late receiver, late broadcast, early
//! reduce, wait at barrier or NxN.

use super::call_times::{CallTimes, nanos_per_tick, own_ns};
use super::clocks::{Bounds, HostClock, Shift};
use super::events::{CallPlace, Collective, Events, Pattern};
use super::meetings::{Meeting, meetings};
use super::messages::{Pair, pairs};
use super::reasons::{Reason, WaitKind};
use super::sent::{self, SentMessages};
use super::summary::RankSummary;
use super::turns::{self, LockedCalls, Turns};
use fathomp_types::Ticks;
use fathomp_types::mpi::WORLD;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Waits of one kind in one place, for what other ranks do in another place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankWait {
    /// Why.
    pub kind: WaitKind,
    /// Where ranks wait: function and place.
    pub place: String,
    /// What they wait for: function and place.
    pub other: String,
    /// How often.
    pub count: u64,
    /// For how long, all ranks.
    pub waited_ns: u64,
    /// Of that, what is left at least if the ranks that are waited for had always had a processor,
    /// and their own messages took no time.
    pub sure_ns: u64,
    /// The part of its calls there in which a rank waits so: the mean of the ranks, by what they wait.
    /// Where ranks work equally and now and then one of them comes later, that is about one half.
    pub regular: f64,
    /// The rank that waits longest there, and the one for which it does.
    pub rank: u32,
    /// See `rank`.
    pub for_rank: u32,
    /// How long these two.
    pub pair_ns: u64,
}

/// Messages from one rank to another, as far as both ends are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RankMessages {
    /// The rank that sends.
    pub from: u32,
    /// The one that receives.
    pub to: u32,
    /// How many.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What the receiver waits for the sender, and the sender for the receiver.
    pub waited_ns: u64,
}

/// A rank for which others wait.
#[derive(Clone, Debug, Serialize)]
pub struct Late {
    /// The rank.
    pub rank: u32,
    /// How often it was the last, of all calls that need all ranks.
    pub times: u64,
    /// Calls that need all ranks of their communicator.
    pub of: u64,
    /// What the others wait for it: the mean of a rank.
    pub waited_ns: u64,
    /// Of that, what is left at least if it had always had a processor.
    pub sure_ns: u64,
    /// Where most of that is: function and place.
    pub place: String,
}

/// All that ranks wait for each other.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// By rank.
    pub(super) waited_ns: Vec<f64>,
    pub(super) last: Vec<u64>,
    pub(super) late: Option<Late>,
    pub(super) list: Vec<RankWait>,
    pub(super) messages: Vec<RankMessages>,
    /// By function and place of the call that waits.
    pub(super) places: BTreeMap<CallPlace, f64>,
    pub(super) clocks: Vec<HostClock>,
    /// By rank, what brings its clock to the first host's.
    pub(super) shifts: Vec<Option<Shift>>,
    /// When all ranks had come to calls of `MPI_COMM_WORLD` that need all, in nanoseconds of the
    /// first host's clock, in order.
    pub(super) all_there: Vec<f64>,
    /// Messages by the place that sends them, and threads that take turns.
    pub(super) sent: Vec<SentMessages>,
    pub(super) turns: Vec<Turns>,
    pub(super) locked: Vec<LockedCalls>,
}

/// Waits that are listed, the dearest.
const LISTED_MAX: usize = 100;

/// Finds them; why they are not known if they are not.
pub(super) fn waits(all: &[RankSummary]) -> Result<Waits, String> {
    let events: Vec<&Events> = all
        .iter()
        .map(|one| one.events.as_ref().map_err(Clone::clone))
        .collect::<Result<_, _>>()?;
    let numbers: Vec<u32> = all.iter().map(RankSummary::number).collect();
    let meetings = meetings(&events, &numbers);
    let pairs = pairs(&events, &numbers);
    let (shifts, clocks) = align(all, &events, &meetings, &pairs);
    let mut work = Work {
        all,
        times: CallTimes::new(all, events, shifts),
        for_rank: vec![BTreeMap::new(); all.len()],
        last: vec![0; all.len()],
        meetings: 0,
        messages: BTreeMap::new(),
        all_there: Vec::new(),
    };
    for meeting in &meetings {
        work.meeting(meeting);
    }
    for pair in &pairs {
        work.message(*pair);
    }
    let sent = sent::sent(&work.times, &pairs);
    let turns = turns::turns(&work.times, &numbers);
    let locked = turns::locked(&work.times, &numbers);
    let mut waits = work.close(&numbers);
    (waits.sent, waits.turns, waits.locked) = (sent, turns, locked);
    waits.clocks = clocks;
    Ok(waits)
}

/// What one rank waits for another in calls from one place.
#[derive(Clone, Copy, Debug, Default)]
struct PairSum {
    count: u64,
    ns: f64,
    /// Of that, time in which the other rank is busy with messages.
    busy: f64,
}

/// Waits of one kind between two ranks: the kind, then rank and place of the call that waits, then
/// rank and place of what it waits for, all by their indices.
type PairKey = (WaitKind, (u32, u32), (u32, u32));

struct Work<'a> {
    all: &'a [RankSummary],
    times: CallTimes<'a>,
    /// For each rank, what others wait for it in calls that need all, by place.
    for_rank: Vec<BTreeMap<u32, f64>>,
    last: Vec<u64>,
    meetings: u64,
    messages: BTreeMap<(u32, u32), RankMessages>,
    all_there: Vec<f64>,
}

impl Work<'_> {
    /// A rank waits for another until a time. What clocks may be wrong by is no wait.
    fn waits(&mut self, rank: u32, call: u32, until: f64, mut reason: Reason) -> f64 {
        let rank = rank as usize;
        let Some((begin, end)) = self.times.span(rank, call) else {
            return 0.0;
        };
        let other = reason.for_rank as usize;
        let error = |rank: usize| self.times.shifts[rank].map_or(0.0, |shift| shift.error);
        let unsure = match self.all[rank].row.host == self.all[other].row.host {
            true => 0.0,
            false => error(rank) + error(other),
        };
        reason.ns = until.min(end) - begin;
        if reason.ns <= unsure {
            return 0.0;
        }
        self.times.reasons[rank].add(call, reason);
        reason.ns
    }

    fn meeting(&mut self, meeting: &Meeting) {
        let of_stay = |(rank, one): &(u32, u32)| {
            (
                *rank,
                self.times.events[*rank as usize].collectives[*one as usize],
            )
        };
        let stays: Vec<(u32, Collective)> = meeting.stays.iter().map(of_stay).collect();
        let begin = |(rank, one): &(u32, Collective)| {
            self.times.span(*rank as usize, one.call).map(|span| span.0)
        };
        let begins: Option<Vec<f64>> = stays.iter().map(begin).collect();
        let Some(begins) = begins else {
            return;
        };
        let last = (0..begins.len()).max_by(|a, b| begins[*a].total_cmp(&begins[*b]));
        let Some(last) = last.filter(|_| begins.len() > 1) else {
            return;
        };
        // Of a nonblocking operation, a rank waits in the call that completes it.
        let waits = |work: &mut Self, at: usize, kind, other: usize| {
            let (rank, one) = stays[at];
            let reason = Reason {
                kind,
                for_rank: stays[other].0,
                call: stays[other].1.call,
                ns: 0.0,
            };
            one.done()
                .map_or(0.0, |done| work.waits(rank, done, begins[other], reason))
        };
        let others = |of: usize| (0..begins.len()).filter(move |at| *at != of);
        match (meeting.pattern, meeting.root) {
            (Pattern::All, _) => {
                let (late, one) = stays[last];
                let late = late as usize;
                let waited = others(last).map(|at| waits(self, at, WaitKind::LastRank, last));
                let waited: f64 = waited.sum();
                // The last rank to begin a nonblocking operation is late only if others wait.
                if !one.is_blocking() && waited <= 0.0 {
                    return;
                }
                self.last[late] += 1;
                self.meetings += 1;
                let place = self.times.events[late].call(one.call).place;
                *self.for_rank[late].entry(place).or_default() += waited;
                if one.is_blocking() && meeting.communicator == WORLD {
                    self.all_there.push(begins[last]);
                }
            }
            (Pattern::FromRoot, Some(root)) => {
                for at in others(root) {
                    waits(self, at, WaitKind::LateRoot, root);
                }
            }
            (Pattern::ToRoot, Some(root)) => {
                waits(self, root, WaitKind::EarlyRoot, last);
            }
            _ => {}
        }
    }

    fn message(&mut self, pair: Pair) {
        let half =
            |(rank, half): (u32, u32)| self.times.events[rank as usize].halves[half as usize];
        let (send, receive) = (half(pair.from), half(pair.to));
        let (from, to) = (pair.from.0, pair.to.0);
        let span = |rank: u32, call: u32| self.times.span(rank as usize, call);
        let begun = span(from, send.begun).map(|span| span.0);
        let ready = span(to, receive.begun).map(|span| span.0);
        // A send that was over before anybody was ready did not wait for that.
        let sent = send.done().filter(|done| {
            let end = span(from, *done).map(|span| span.1);
            ready.zip(end).is_some_and(|(ready, end)| ready <= end)
        });
        let mut waited = 0.0;
        if let (Some(begun), Some(done)) = (begun, receive.done()) {
            waited += self.waits(
                to,
                done,
                begun,
                Reason {
                    kind: WaitKind::LateSender,
                    for_rank: from,
                    call: send.begun,
                    ns: 0.0,
                },
            );
        }
        if let (Some(ready), Some(done)) = (ready, sent) {
            waited += self.waits(
                from,
                done,
                ready,
                Reason {
                    kind: WaitKind::LateReceiver,
                    for_rank: to,
                    call: receive.begun,
                    ns: 0.0,
                },
            );
        }
        let number = |rank: u32| self.all[rank as usize].number();
        let numbers = (number(from), number(to));
        let sum = self.messages.entry((from, to)).or_default();
        (sum.from, sum.to) = numbers;
        sum.count += 1;
        sum.bytes = sum.bytes.saturating_add(send.bytes().unwrap_or(0));
        sum.waited_ns = sum.waited_ns.saturating_add(waited as u64);
    }

    /// The waits, added up by kind, pair of ranks and both places, in the order of these.
    fn pair_sums(&self) -> Vec<(PairKey, PairSum)> {
        let mut sums: HashMap<PairKey, PairSum> = HashMap::new();
        for (rank, reasons) in self.times.reasons.iter().enumerate() {
            for (call, reason) in reasons.iter() {
                let here = (rank as u32, self.times.events[rank].call(call).place);
                let other = reason.for_rank as usize;
                let there = self.times.events[other].call(reason.call).place;
                let key = (reason.kind, here, (reason.for_rank, there));
                let busy = self.times.span(rank, call).map_or(0.0, |(begin, _)| {
                    self.times.busy(other, begin, begin + reason.ns)
                });
                let sum = sums.entry(key).or_default();
                sum.count += 1;
                sum.ns += reason.ns;
                sum.busy += busy;
            }
        }
        let mut sums: Vec<(PairKey, PairSum)> = sums.into_iter().collect();
        sums.sort_by_key(|(key, _)| *key);
        sums
    }

    /// How often each rank calls at each place.
    fn calls_by_place(&self) -> HashMap<(usize, &CallPlace), u64> {
        let mut calls: HashMap<(usize, &CallPlace), u64> = HashMap::new();
        for (rank, events) in self.times.events.iter().enumerate() {
            let mut counts = vec![0_u64; events.places.len()];
            for call in &events.calls {
                counts[call.place as usize] += 1;
            }
            for (place, count) in events.places.iter().zip(counts) {
                *calls.entry((rank, place)).or_default() += count;
            }
        }
        calls
    }

    fn close(mut self, numbers: &[u32]) -> Waits {
        let mut waits = Waits {
            waited_ns: vec![0.0; numbers.len()],
            last: std::mem::take(&mut self.last),
            ..Waits::default()
        };
        // By kind and names of both places: count, time, and sums by pair of ranks.
        type Sum = (u64, f64, BTreeMap<(usize, usize), PairSum>);
        let calls = self.calls_by_place();
        let mut sums: BTreeMap<(WaitKind, &CallPlace, &CallPlace), Sum> = BTreeMap::new();
        let place =
            |(rank, place): (u32, u32)| &self.times.events[rank as usize].places[place as usize];
        for ((kind, here, there), pair) in self.pair_sums() {
            let (rank, for_rank) = (here.0 as usize, there.0 as usize);
            waits.waited_ns[rank] += pair.ns;
            *waits.places.entry(place(here).clone()).or_default() += pair.ns;
            let sum = sums.entry((kind, place(here), place(there))).or_default();
            sum.0 += pair.count;
            sum.1 += pair.ns;
            // Several places may have one name.
            let of_pair = sum.2.entry((rank, for_rank)).or_default();
            of_pair.count += pair.count;
            of_pair.ns += pair.ns;
            of_pair.busy += pair.busy;
        }
        for ((kind, here, there), (count, ns, by_pair)) in sums {
            let left = by_pair
                .iter()
                .map(|((_, for_rank), pair)| pair.ns - pair.busy - self.taken(*for_rank));
            let sure_ns: f64 = left.map(|ns| ns.max(0.0)).sum();
            let regular = regular(&by_pair, |rank| {
                let calls = calls.get(&(rank, here));
                calls.copied().unwrap_or(0)
            });
            let dearest = by_pair.into_iter().max_by(|a, b| a.1.ns.total_cmp(&b.1.ns));
            let Some(((rank, for_rank), pair)) = dearest else {
                continue;
            };
            waits.list.push(RankWait {
                kind,
                place: here.to_string(),
                other: there.to_string(),
                count,
                waited_ns: ns.round() as u64,
                sure_ns: sure_ns.round() as u64,
                regular,
                rank: numbers[rank],
                for_rank: numbers[for_rank],
                pair_ns: pair.ns.round() as u64,
            });
        }
        waits
            .list
            .sort_by_key(|one| std::cmp::Reverse(one.waited_ns));
        waits.list.truncate(LISTED_MAX);
        waits.late = self.late(numbers, &waits.last);
        waits.messages = self.messages.into_values().collect();
        waits.all_there = self.all_there;
        waits.all_there.sort_by(f64::total_cmp);
        waits.shifts = self.times.shifts;
        waits
    }

    fn taken(&self, rank: usize) -> f64 {
        self.all[rank].row.taken_outside_ns as f64
    }

    fn late(&self, numbers: &[u32], last: &[u64]) -> Option<Late> {
        if self.meetings == 0 {
            return None;
        }
        let sum = |rank: usize| self.for_rank[rank].values().sum::<f64>();
        let late = (0..numbers.len()).max_by(|a, b| sum(*a).total_cmp(&sum(*b)))?;
        let places = self.for_rank[late].iter();
        let (place, _) = places.max_by(|a, b| a.1.total_cmp(b.1))?;
        let others = (numbers.len() as f64 - 1.0).max(1.0);
        let waited = sum(late) / others;
        Some(Late {
            rank: numbers[late],
            times: last[late],
            of: self.meetings,
            waited_ns: waited.round() as u64,
            sure_ns: (waited - self.taken(late)).max(0.0).round() as u64,
            place: self.times.events[late].places[*place as usize].to_string(),
        })
    }
}

impl std::fmt::Display for CallPlace {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name.is_empty() {
            true => out.write_str(self.function),
            false => write!(out, "{} at {}", self.function, self.name),
        }
    }
}

/// See [`RankWait::regular`]; `calls` are those of a rank at the place.
fn regular(by_pair: &BTreeMap<(usize, usize), PairSum>, calls: impl Fn(usize) -> u64) -> f64 {
    let mut by_rank: BTreeMap<usize, (u64, f64)> = BTreeMap::new();
    for ((rank, _), pair) in by_pair {
        let sum = by_rank.entry(*rank).or_default();
        sum.0 += pair.count;
        sum.1 += pair.ns;
    }
    let all_ns: f64 = by_rank.values().map(|(_, ns)| ns).sum();
    let parts = by_rank.iter().map(|(rank, (count, ns))| {
        let part = *count as f64 / (calls(*rank) as f64).max(1.0);
        part.min(1.0) * ns / all_ns.max(1.0)
    });
    parts.sum()
}

/// Brings the clocks of all hosts to that of the first rank's.
fn align(
    all: &[RankSummary],
    events: &[&Events],
    meetings: &[Meeting],
    pairs: &[Pair],
) -> (Vec<Option<Shift>>, Vec<HostClock>) {
    let host = |rank: u32| all[rank as usize].row.host.as_str();
    let first = all.first().map_or("", |one| one.row.host.as_str());
    let mut bounds: BTreeMap<&str, Bounds> = BTreeMap::new();
    for rank in 0..all.len() as u32 {
        if host(rank) != first {
            bounds.entry(host(rank)).or_default();
        }
    }
    if bounds.is_empty() {
        return (vec![Some(Shift::default()); all.len()], Vec::new());
    }
    let ns = |rank: u32, at: Ticks| own_ns(all, rank as usize, at);
    let call = |(rank, call): (u32, u32)| events[rank as usize].call(call);
    // What one rank began, another saw before it was through.
    let mut before = |a: (u32, u32), b: (u32, u32)| {
        let (sent, seen) = (ns(a.0, call(a).begin), ns(b.0, call(b).end));
        if host(a.0) == first
            && let Some(bounds) = bounds.get_mut(host(b.0))
        {
            bounds.least.push((seen, sent - seen));
        }
        if host(b.0) == first
            && let Some(bounds) = bounds.get_mut(host(a.0))
        {
            bounds.most.push((sent, seen - sent));
        }
    };
    for meeting in meetings.iter().filter(|one| one.pattern == Pattern::All) {
        let Some(of_first) = meeting.stays.iter().find(|stay| host(stay.0) == first) else {
            continue;
        };
        // Nobody is through before the last has begun.
        let stay = |(rank, one): (u32, u32)| {
            let one = &events[rank as usize].collectives[one as usize];
            ((rank, one.call), one.done().map(|done| (rank, done)))
        };
        let (begun_there, done_there) = stay(*of_first);
        for (begun, done) in meeting.stays.iter().map(|one| stay(*one)) {
            if let Some(done) = done {
                before(begun_there, done);
            }
            if let Some(done) = done_there {
                before(begun, done);
            }
        }
    }
    for pair in pairs {
        let half = |(rank, half): (u32, u32)| &events[rank as usize].halves[half as usize];
        let (send, receive) = (half(pair.from), half(pair.to));
        if let Some(done) = receive.done() {
            before((pair.from.0, send.begun), (pair.to.0, done));
        }
    }
    let shifts: BTreeMap<&str, Option<Shift>> = bounds
        .iter()
        .map(|(host, bounds)| (*host, bounds.shift()))
        .collect();
    let clocks = shifts.iter().map(|(host, shift)| HostClock {
        host: (*host).to_owned(),
        error_ns: shift.map(|shift| shift.error),
        shift: shift.map(|shift| (shift, nanos_per_tick(all, host))),
    });
    let of = |rank: u32| match host(rank) == first {
        true => Some(Shift::default()),
        false => shifts.get(host(rank)).copied().flatten(),
    };
    ((0..all.len() as u32).map(of).collect(), clocks.collect())
}
