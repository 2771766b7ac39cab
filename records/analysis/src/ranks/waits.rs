//! What ranks wait for each other, by kind, place and pair of ranks.
//!
//! Kinds as Scalasca names them (Geimer et al.: "A parallel trace-data interface for scalable
//! performance analysis", and its list of patterns): late sender, late receiver, late broadcast, early
//! reduce, wait at barrier or NxN.

use super::clocks::{Bounds, HostClock, Shift};
use super::events::{Call, CallPlace, Events, Pattern};
use super::meetings::{Meeting, meetings};
use super::messages::{Pair, pairs};
use super::own_time::{OwnTime, Spans, in_order, overlap};
use super::sent::{self, SentMessages};
use super::summary::RankSummary;
use super::turns::{self, LockWait, LockedCalls, Turns};
use fathomp_types::Ticks;
use fathomp_types::mpi::WORLD;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Why a rank waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// It receives a message that is not sent yet.
    LateSender,
    /// It sends a message that the other is not ready to receive.
    LateReceiver,
    /// It is in a collective call that the last rank has not come to.
    LastRank,
    /// It is to get something from a root that has not come.
    LateRoot,
    /// It is the root and waits for what the last rank gives.
    EarlyRoot,
}

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
        events: &events,
        shifts: &shifts,
        dearest: vec![HashMap::new(); all.len()],
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
    let own = work.own_times();
    let of_rank = |calls: &Vec<OwnTime>| in_order(calls.iter().map(|one| one.aligned));
    let busy: Vec<Spans> = own.iter().map(of_rank).collect();
    let sent = sent::sent(&events, &pairs, &own, &work.in_mpi());
    let turns = turns::turns(&events, &numbers, &own);
    let locked = turns::locked(&events, &numbers, &own, &work.lock_waits());
    let mut waits = work.close(&numbers, &busy);
    (waits.sent, waits.turns, waits.locked) = (sent, turns, locked);
    waits.shifts = shifts;
    waits.clocks = clocks;
    Ok(waits)
}

/// Why a rank waits in a call, and for whom: the dearest reason of each call counts.
#[derive(Clone, Copy, Debug)]
struct Reason {
    kind: WaitKind,
    for_rank: usize,
    /// What that does meanwhile: index of its call.
    call: usize,
    ns: f64,
}

/// What one rank waits for another, and the part in which that is busy with messages.
#[derive(Clone, Copy, Debug, Default)]
struct PairSum {
    ns: f64,
    busy: f64,
}

struct Work<'a> {
    all: &'a [RankSummary],
    events: &'a [&'a Events],
    shifts: &'a [Option<Shift>],
    /// By rank and call.
    dearest: Vec<HashMap<usize, Reason>>,
    /// For each rank, what others wait for it in calls that need all, by place.
    for_rank: Vec<BTreeMap<CallPlace, f64>>,
    last: Vec<u64>,
    meetings: u64,
    messages: BTreeMap<(usize, usize), RankMessages>,
    all_there: Vec<f64>,
}

impl Work<'_> {
    fn call(&self, rank: usize, call: usize) -> &Call {
        &self.events[rank].calls[call]
    }

    /// When a rank's call began and ended, on the first host's clock.
    fn span(&self, rank: usize, call: usize) -> Option<(f64, f64)> {
        let call = self.call(rank, call);
        Some((self.at(rank, call.begin)?, self.at(rank, call.end)?))
    }

    fn at(&self, rank: usize, ticks: Ticks) -> Option<f64> {
        // One counter stamps all ranks of a host: what differs is how each measured it.
        Some(self.shifts[rank]?.apply(own_ns(self.all, rank, ticks)))
    }

    /// A rank waits for another until a time. What clocks may be wrong by is no wait.
    fn waits(&mut self, rank: usize, call: usize, until: f64, mut reason: Reason) -> f64 {
        let Some((begin, end)) = self.span(rank, call) else {
            return 0.0;
        };
        let error = |rank: usize| self.shifts[rank].map_or(0.0, |shift| shift.error);
        let unsure = match self.all[rank].row.host == self.all[reason.for_rank].row.host {
            true => 0.0,
            false => error(rank) + error(reason.for_rank),
        };
        reason.ns = until.min(end) - begin;
        if reason.ns <= unsure {
            return 0.0;
        }
        let kept = self.dearest[rank].entry(call).or_insert(reason);
        if reason.ns > kept.ns {
            *kept = reason;
        }
        reason.ns
    }

    fn meeting(&mut self, meeting: &Meeting) {
        let spans: Option<Vec<(f64, f64)>> = meeting
            .stays
            .iter()
            .map(|(rank, call)| self.span(*rank, *call))
            .collect();
        let Some(spans) = spans else {
            return;
        };
        let last = (0..spans.len()).max_by(|a, b| spans[*a].0.total_cmp(&spans[*b].0));
        let Some(last) = last.filter(|_| spans.len() > 1) else {
            return;
        };
        let reason = |kind, at: usize| Reason {
            kind,
            for_rank: meeting.stays[at].0,
            call: meeting.stays[at].1,
            ns: 0.0,
        };
        let others = |of: usize| (0..spans.len()).filter(move |at| *at != of);
        match (meeting.pattern, meeting.root) {
            (Pattern::All, _) => {
                let (late, call) = meeting.stays[last];
                self.last[late] += 1;
                self.meetings += 1;
                if meeting.communicator == WORLD {
                    self.all_there.push(spans[last].0);
                }
                let place = self.place(late, call).clone();
                for at in others(last) {
                    let (rank, call) = meeting.stays[at];
                    let reason = reason(WaitKind::LastRank, last);
                    let ns = self.waits(rank, call, spans[last].0, reason);
                    *self.for_rank[late].entry(place.clone()).or_default() += ns;
                }
            }
            (Pattern::FromRoot, Some(root)) => {
                for at in others(root) {
                    let (rank, call) = meeting.stays[at];
                    self.waits(rank, call, spans[root].0, reason(WaitKind::LateRoot, root));
                }
            }
            (Pattern::ToRoot, Some(root)) => {
                let (rank, call) = meeting.stays[root];
                self.waits(rank, call, spans[last].0, reason(WaitKind::EarlyRoot, last));
            }
            _ => {}
        }
    }

    fn message(&mut self, pair: Pair) {
        let ((from, send), (to, receive)) = (pair.from, pair.to);
        let (send, receive) = (
            self.events[from].halves[send],
            self.events[to].halves[receive],
        );
        let begun = self.span(from, send.begun).map(|span| span.0);
        let ready = self.span(to, receive.begun).map(|span| span.0);
        let mut waited = 0.0;
        if let (Some(begun), Some(done)) = (begun, receive.done) {
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
        // A send that was over before anybody was ready did not wait for that.
        if let (Some(ready), Some(done)) = (ready, send.done)
            && self.span(from, done).is_some_and(|span| ready <= span.1)
        {
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
        let numbers = (self.all[from].number(), self.all[to].number());
        let sum = self.messages.entry((from, to)).or_default();
        (sum.from, sum.to) = numbers;
        sum.count += 1;
        sum.bytes = sum.bytes.saturating_add(send.bytes.unwrap_or(0));
        sum.waited_ns = sum.waited_ns.saturating_add(waited as u64);
    }

    fn place(&self, rank: usize, call: usize) -> &CallPlace {
        &self.events[rank].places[self.call(rank, call).place]
    }

    /// When each call of each rank began to do something other than to wait, and its end.
    fn own_times(&self) -> Vec<Vec<OwnTime>> {
        let own = |rank: usize, call: usize| {
            let waited = self.dearest[rank].get(&call);
            let waited_ns = waited.map_or(0.0, |reason| reason.ns);
            let one = self.call(rank, call);
            let [called, end] = [one.begin, one.end].map(|at| own_ns(self.all, rank, at));
            let begin = (called + waited_ns).min(end);
            let shift = self.shifts[rank].unwrap_or_default();
            OwnTime {
                called,
                begin,
                end,
                aligned: (shift.apply(begin), shift.apply(end)),
            }
        };
        let ranks = self.events.iter().enumerate();
        ranks
            .map(|(rank, events)| {
                (0..events.calls.len())
                    .map(|call| own(rank, call))
                    .collect()
            })
            .collect()
    }

    /// For each rank, what its threads wait for locks.
    fn lock_waits(&self) -> Vec<Vec<LockWait>> {
        let of_rank = |(rank, events): (usize, &&Events)| {
            let waits = events.lock_waits.iter();
            let ns = |at: Ticks| own_ns(self.all, rank, at);
            waits
                .map(|(thread, begin, end)| (*thread, ns(*begin), ns(*end)))
                .collect()
        };
        self.events.iter().enumerate().map(of_rank).collect()
    }

    /// For each rank, when it is in calls of MPI, on the first host's clock, in order.
    fn in_mpi(&self) -> Vec<Spans> {
        let ranks = self.events.iter().enumerate();
        ranks
            .map(|(rank, events)| {
                let calls = 0..events.calls.len();
                in_order(calls.filter_map(|call| self.span(rank, call)))
            })
            .collect()
    }

    /// How long the rank that is waited for is itself busy with messages meanwhile.
    fn busy_meanwhile(&self, rank: usize, call: usize, reason: &Reason, busy: &[Spans]) -> f64 {
        let Some((begin, _)) = self.span(rank, call) else {
            return 0.0;
        };
        overlap(&busy[reason.for_rank], begin, begin + reason.ns)
    }

    fn close(mut self, numbers: &[u32], busy: &[Spans]) -> Waits {
        let mut waits = Waits {
            waited_ns: vec![0.0; numbers.len()],
            last: std::mem::take(&mut self.last),
            ..Waits::default()
        };
        // By kind and both places: count, time, and time by pair of ranks.
        type Sum = (u64, f64, BTreeMap<(usize, usize), PairSum>);
        let mut sums: BTreeMap<(WaitKind, &CallPlace, &CallPlace), Sum> = BTreeMap::new();
        for (rank, calls) in self.dearest.iter().enumerate() {
            for (call, reason) in calls {
                let here = self.place(rank, *call);
                let there = self.place(reason.for_rank, reason.call);
                waits.waited_ns[rank] += reason.ns;
                *waits.places.entry(here.clone()).or_default() += reason.ns;
                let sum = sums.entry((reason.kind, here, there)).or_default();
                sum.0 += 1;
                sum.1 += reason.ns;
                let pair = sum.2.entry((rank, reason.for_rank)).or_default();
                pair.ns += reason.ns;
                pair.busy += self.busy_meanwhile(rank, *call, reason, busy);
            }
        }
        for ((kind, here, there), (count, ns, by_pair)) in sums {
            let left = by_pair
                .iter()
                .map(|((_, for_rank), pair)| pair.ns - pair.busy - self.taken(*for_rank));
            let sure_ns: f64 = left.map(|ns| ns.max(0.0)).sum();
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
            place: place.to_string(),
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

/// A time by the clock of the rank's host, as the host's first rank measured that.
pub(super) fn own_ns(all: &[RankSummary], rank: usize, ticks: Ticks) -> f64 {
    ticks.0 as f64 * nanos_per_tick(all, &all[rank].row.host)
}

/// The length of a host's ticks, as its first rank measured it.
fn nanos_per_tick(all: &[RankSummary], host: &str) -> f64 {
    let first = all.iter().find(|one| one.row.host == host);
    first.map_or(1.0, |one| one.nanos_per_tick)
}

/// Brings the clocks of all hosts to that of the first rank's.
fn align(
    all: &[RankSummary],
    events: &[&Events],
    meetings: &[Meeting],
    pairs: &[Pair],
) -> (Vec<Option<Shift>>, Vec<HostClock>) {
    let host = |rank: usize| all[rank].row.host.as_str();
    let first = all.first().map_or("", |one| one.row.host.as_str());
    let mut bounds: BTreeMap<&str, Bounds> = BTreeMap::new();
    for rank in 0..all.len() {
        if host(rank) != first {
            bounds.entry(host(rank)).or_default();
        }
    }
    if bounds.is_empty() {
        return (vec![Some(Shift::default()); all.len()], Vec::new());
    }
    let begin = |rank: usize, call: usize| own_ns(all, rank, events[rank].calls[call].begin);
    let end = |rank: usize, call: usize| own_ns(all, rank, events[rank].calls[call].end);
    // What one rank began, another saw before it was through.
    let mut before = |a: (usize, usize), b: (usize, usize)| {
        let (sent, seen) = (begin(a.0, a.1), end(b.0, b.1));
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
        for stay in &meeting.stays {
            before(*of_first, *stay);
            before(*stay, *of_first);
        }
    }
    for pair in pairs {
        let (send, receive) = (
            &events[pair.from.0].halves[pair.from.1],
            &events[pair.to.0].halves[pair.to.1],
        );
        if let Some(done) = receive.done {
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
    let of = |rank: usize| match host(rank) == first {
        true => Some(Shift::default()),
        false => shifts.get(host(rank)).copied().flatten(),
    };
    ((0..all.len()).map(of).collect(), clocks.collect())
}
