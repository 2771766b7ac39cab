//! When calls of MPI are, on the clocks of their hosts and of the first host, and the part of a call
//! that does not wait for other ranks.

use super::clocks::Shift;
use super::events::{Call, Events};
use super::reasons::Reasons;
use super::summary::RankSummary;
use fathomp_types::Ticks;

/// Begins and ends, in order.
pub(super) type Spans = Vec<(f64, f64)>;

/// Puts spans in order.
pub(super) fn in_order(spans: impl Iterator<Item = (f64, f64)>) -> Spans {
    let mut spans: Spans = spans.collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    spans
}

/// A call, in nanoseconds of its host's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnTime {
    pub(super) called: f64,
    /// It waits for no other rank from here
    pub(super) begin: f64,
    /// to here.
    pub(super) end: f64,
    /// Both on the first host's clock.
    pub(super) aligned: (f64, f64),
}

impl OwnTime {
    pub(super) fn ns(&self) -> f64 {
        (self.end - self.begin).max(0.0)
    }
}

/// The times of all calls. They are computed where they are needed: kept, they would take more
/// memory than the calls.
#[derive(Debug)]
pub(super) struct CallTimes<'a> {
    /// By rank, its calls.
    pub(super) events: Vec<&'a Events>,
    /// By rank, the length of a tick of its host's clock.
    nanos: Vec<f64>,
    /// By rank, what brings its clock to the first host's, if that is known.
    pub(super) shifts: Vec<Option<Shift>>,
    /// By rank, why it waits in its calls.
    pub(super) reasons: Vec<Reasons>,
}

impl<'a> CallTimes<'a> {
    pub(super) fn new(
        all: &[RankSummary],
        events: Vec<&'a Events>,
        shifts: Vec<Option<Shift>>,
    ) -> Self {
        let nanos = all.iter().map(|one| nanos_per_tick(all, &one.row.host));
        Self {
            nanos: nanos.collect(),
            shifts,
            reasons: events.iter().map(|one| Reasons::of(one)).collect(),
            events,
        }
    }

    /// A time by the clock of the rank's host.
    pub(super) fn own_ns(&self, rank: usize, ticks: Ticks) -> f64 {
        ticks.0 as f64 * self.nanos[rank]
    }

    /// The same on the first host's clock.
    fn at(&self, rank: usize, ticks: Ticks) -> Option<f64> {
        // One counter stamps all ranks of a host: what differs is how each measured it.
        Some(self.shifts[rank]?.apply(self.own_ns(rank, ticks)))
    }

    /// When a rank's call began and ended, on the first host's clock.
    pub(super) fn span(&self, rank: usize, call: u32) -> Option<(f64, f64)> {
        let call = self.events[rank].call(call);
        Some((self.at(rank, call.begin)?, self.at(rank, call.end)?))
    }

    /// When a call began to do something other than to wait, and its end.
    pub(super) fn own(&self, rank: usize, call: u32) -> OwnTime {
        let waited_ns = self.reasons[rank].waited_ns(call);
        let one = self.events[rank].call(call);
        let [called, end] = [one.begin, one.end].map(|at| self.own_ns(rank, at));
        let begin = (called + waited_ns).min(end);
        let shift = self.shifts[rank].unwrap_or_default();
        OwnTime {
            called,
            begin,
            end,
            aligned: (shift.apply(begin), shift.apply(end)),
        }
    }

    /// Of the time from `begin` to `end` on the first host's clock, that in which a rank is in MPI.
    pub(super) fn in_mpi(&self, rank: usize, begin: f64, end: f64) -> f64 {
        self.time_in(rank, begin, end, |call| self.span(rank, call))
    }

    /// The same, without that in which it waits for others.
    pub(super) fn busy(&self, rank: usize, begin: f64, end: f64) -> f64 {
        self.time_in(rank, begin, end, |call| Some(self.own(rank, call).aligned))
    }

    /// The time from `begin` to `end` that lies in a part of each call of a rank.
    fn time_in(
        &self,
        rank: usize,
        begin: f64,
        end: f64,
        part: impl Fn(u32) -> Option<(f64, f64)>,
    ) -> f64 {
        let called = |call: &Call| self.at(rank, call.begin).unwrap_or(f64::MAX);
        let part = |call: usize| part(call as u32).unwrap_or((0.0, 0.0));
        overlap_of(&self.events[rank].calls, called, part, begin, end)
    }
}

/// A time by the clock of the rank's host, as the host's first rank measured that.
pub(super) fn own_ns(all: &[RankSummary], rank: usize, ticks: Ticks) -> f64 {
    ticks.0 as f64 * nanos_per_tick(all, &all[rank].row.host)
}

/// The length of a host's ticks, as its first rank measured it.
pub(super) fn nanos_per_tick(all: &[RankSummary], host: &str) -> f64 {
    let first = all.iter().find(|one| one.row.host == host);
    first.map_or(1.0, |one| one.nanos_per_tick)
}

/// The time from `begin` to `end` that lies in spans, which are in order.
pub(super) fn overlap(spans: &[(f64, f64)], begin: f64, end: f64) -> f64 {
    overlap_of(spans, |one| one.0, |at| spans[at], begin, end)
}

/// The time from `begin` to `end` that lies in parts of things that are in the order of their
/// begins. `part` gives the part of the one with that index.
fn overlap_of<T>(
    all: &[T],
    begins: impl Fn(&T) -> f64,
    part: impl Fn(usize) -> (f64, f64),
    begin: f64,
    end: f64,
) -> f64 {
    // What one thread does does not overlap: only the one before may reach in.
    let first = all.partition_point(|one| begins(one) < begin);
    let first = first.saturating_sub(1);
    let here = (first..all.len()).take_while(|at| begins(&all[*at]) < end);
    let parts = here.map(part);
    let ns: f64 = parts
        .map(|one| (one.1.min(end) - one.0.max(begin)).max(0.0))
        .sum();
    ns.min((end - begin).max(0.0))
}

/// The median; 0 of nothing.
pub(super) fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    match values.is_empty() {
        true => 0.0,
        false => *values.select_nth_unstable_by(middle, f64::total_cmp).1,
    }
}
