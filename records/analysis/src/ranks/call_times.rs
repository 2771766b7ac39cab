//! When calls of MPI are, on the clocks of their hosts and of the first host.

use super::clocks::Shift;
use super::events::{Call, Events};
use super::own_time::{OwnTime, overlap_of};
use super::reasons::Reasons;
use super::summary::RankSummary;
use fathomp_types::Ticks;

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

    /// The time from `begin` to `end` that is covered by what `part` gives of each call of a rank.
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
