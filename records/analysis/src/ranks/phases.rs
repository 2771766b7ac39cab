//! All ranks over time: efficiencies from one global collective call to the next, and what threads do.

use super::call_times::own_ns;
use super::efficiency::{HybridEfficiency, Parts, efficiency};
use super::summary::RankSummary;
use super::waits::Waits;
use crate::facts::Times;
use fathomp_trace::state::State;
use fathomp_types::Ticks;
use serde::Serialize;

/// Phases that are told apart.
const PHASES_MAX: f64 = 32.0;

/// A part of the run that begins and ends with a call of all ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankPhase {
    /// From here, behind the begin of the first rank,
    pub begin_ns: u64,
    /// to here.
    pub end_ns: u64,
    /// How well all ranks use it.
    pub efficiency: HybridEfficiency,
}

/// What the threads of a rank do over time.
#[derive(Clone, Debug)]
pub struct RankLine {
    /// The rank.
    pub rank: u32,
    /// Its threads, the first one first.
    pub threads: Vec<Vec<Stretch>>,
}

/// A part of a thread's time in which it mostly does one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// From here, behind the begin of the first rank,
    pub begin_ns: u64,
    /// to here.
    pub end_ns: u64,
    /// What.
    pub state: State,
    /// It computes outside of regions.
    pub is_serial: bool,
}

/// When each rank's recording begins, on the first host's clock; those whose clock is not known
/// are taken to begin with the first.
fn begins(all: &[RankSummary], waits: Option<&Waits>) -> (Vec<f64>, f64) {
    let own = |rank: usize| own_ns(all, rank, Ticks(all[rank].activity.begin));
    let known = |rank: usize| match waits {
        Some(waits) => Some(waits.shifts[rank]?.apply(own(rank))),
        None => (all[rank].row.host == all[0].row.host).then(|| own(rank)),
    };
    let begins: Vec<Option<f64>> = (0..all.len()).map(known).collect();
    let first = begins.iter().flatten().copied().fold(f64::MAX, f64::min);
    (
        begins.into_iter().map(|one| one.unwrap_or(first)).collect(),
        first,
    )
}

/// Efficiencies over time; none without at least two calls of all ranks.
pub(super) fn phases(all: &[RankSummary], waits: &Waits) -> Vec<RankPhase> {
    let (begins, first) = begins(all, Some(waits));
    let (Some(start), Some(end)) = (waits.all_there.first(), waits.all_there.last()) else {
        return Vec::new();
    };
    let least = (end - start) / PHASES_MAX;
    let mut borders = vec![*start];
    for at in &waits.all_there {
        if at - borders[borders.len() - 1] >= least && least > 0.0 {
            borders.push(*at);
        }
    }
    let pairs = borders.windows(2).map(|pair| (pair[0], pair[1]));
    pairs
        .map(|(from, to)| {
            let parts = all.iter().zip(&begins).map(|(one, begin)| {
                let activity = &one.activity;
                let (from, to) = (from - begin, to - begin);
                let shown = activity.threads.len();
                let useful: f64 = (0..shown)
                    .map(|thread| activity.time_in(thread, |cell| cell.useful, from, to))
                    .sum();
                let threads = f64::from(one.row.threads);
                Parts {
                    threads,
                    outside_ns: (to - from) - activity.time_in(0, |cell| cell.mpi, from, to),
                    computing_ns: useful * threads / (shown as f64).max(1.0),
                    waiting_ns: None,
                }
            });
            let parts: Vec<Parts> = parts.collect();
            RankPhase {
                begin_ns: (from - first).max(0.0) as u64,
                end_ns: (to - first).max(0.0) as u64,
                efficiency: efficiency(&parts, to - from),
            }
        })
        .collect()
}

/// What all threads do over time.
pub(super) fn lines(all: &[RankSummary], waits: Option<&Waits>) -> Vec<RankLine> {
    let (begins, first) = begins(all, waits);
    let of = |(one, begin): (&RankSummary, &f64)| {
        let behind = begin - first;
        let cell_ns = one.activity.cell_ns;
        let stretches = |cells: &Vec<super::activity::Cell>| {
            let mut found: Vec<Stretch> = Vec::new();
            for (at, cell) in cells.iter().enumerate() {
                let Some(state) = cell.state else {
                    continue;
                };
                let begin_ns = (behind + at as f64 * cell_ns).max(0.0) as u64;
                let end_ns = (behind + (at as f64 + 1.0) * cell_ns).max(0.0) as u64;
                let next = Stretch {
                    begin_ns,
                    end_ns,
                    state,
                    is_serial: cell.is_serial,
                };
                match found.last_mut() {
                    Some(last)
                        if last.end_ns == begin_ns
                            && (last.state, last.is_serial) == (state, cell.is_serial) =>
                    {
                        last.end_ns = end_ns;
                    }
                    _ => found.push(next),
                }
            }
            found
        };
        RankLine {
            rank: one.number(),
            threads: one.activity.threads.iter().map(stretches).collect(),
        }
    };
    all.iter().zip(&begins).map(of).collect()
}

/// Which states occur in these lines, each with some time.
#[must_use]
pub fn states_of(lines: &[RankLine]) -> Times {
    let mut times = Times::default();
    for stretch in lines.iter().flat_map(|line| line.threads.iter().flatten()) {
        times[stretch.state] += stretch.end_ns.saturating_sub(stretch.begin_ns);
    }
    times
}
