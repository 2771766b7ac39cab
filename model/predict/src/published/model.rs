//! The models themselves.

use crate::counts::{Run, Scope};
use crate::prices::{Counts, Event, Prices};
use serde::Serialize;
use std::collections::BTreeMap;

/// What a predicted time consists of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Breakdown {
    /// Sequential time divided among the threads.
    pub work_ns: f64,
    /// Time of each [`Event`] that the others wait for.
    pub events_ns: [f64; Event::COUNT],
    /// How many of each there are: along the critical path, or of all threads together.
    pub counts: Counts,
}

impl Breakdown {
    /// The predicted time.
    #[must_use]
    pub fn time_ns(&self) -> f64 {
        self.work_ns + self.events_ns.iter().sum::<f64>()
    }
}

/// What a region adds to the critical path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegionCost {
    /// Its name; empty for the whole program.
    pub region: String,
    /// The thread that has most to pay, if threads were counted one by one.
    pub thread: Option<u32>,
    /// What it pays.
    pub time_ns: f64,
}

/// The critical-path model: in each region the others wait for the thread whose
/// faults cost most. Also says what each region adds, most first. None if
/// neither threads nor the critical path were counted.
#[must_use]
pub fn critical(run: &Run, prices: &Prices) -> Option<(Breakdown, Vec<RegionCost>)> {
    let said = run.rows.iter().any(|row| row.scope == Scope::Critical);
    let mut slowest: BTreeMap<&str, (f64, Option<u32>, Counts)> = BTreeMap::new();
    for row in &run.rows {
        let thread = match row.scope {
            Scope::Critical => None,
            Scope::Thread(thread) if !said => Some(thread),
            Scope::Thread(_) | Scope::All => continue,
        };
        let time_ns = row.counts.cost_ns(prices).iter().sum();
        let most = slowest
            .entry(&row.region)
            .or_insert((time_ns, thread, row.counts));
        if time_ns > most.0 {
            *most = (time_ns, thread, row.counts);
        }
    }
    if slowest.is_empty() {
        return None;
    }
    let counts = slowest
        .values()
        .fold(Counts::default(), |sum, (_, _, counts)| sum + *counts);
    let mut regions: Vec<RegionCost> = slowest
        .into_iter()
        .map(|(region, (time_ns, thread, _))| RegionCost {
            region: region.to_owned(),
            thread,
            time_ns,
        })
        .collect();
    regions.sort_by(|a, b| b.time_ns.total_cmp(&a.time_ns));
    let breakdown = Breakdown {
        work_ns: run.sequential_ns / f64::from(run.threads),
        events_ns: counts.cost_ns(prices),
        counts,
    };
    Some((breakdown, regions))
}

/// The aggregate model: of the faults of all threads, a fraction `f` is served
/// one after the other and the rest evenly by all threads at once. None if
/// neither threads nor their sum were counted.
#[must_use]
pub fn aggregate(run: &Run, prices: &Prices, f: f64) -> Option<Breakdown> {
    let counts = total(run)?;
    let events_ns = counts.cost_ns(prices);
    let threads = f64::from(run.threads);
    let share = f + (1.0 - f) / threads;
    Some(Breakdown {
        work_ns: run.sequential_ns / threads,
        events_ns: events_ns.map(|time| time * share),
        counts,
    })
}

/// Counts of all threads in all regions.
fn total(run: &Run) -> Option<Counts> {
    let said = run.rows.iter().any(|row| row.scope == Scope::All);
    run.rows
        .iter()
        .filter(|row| match row.scope {
            Scope::All => true,
            Scope::Thread(_) => !said,
            Scope::Critical => false,
        })
        .map(|row| row.counts)
        .reduce(|sum, counts| sum + counts)
}

/// The `f`, at least 0, with which the aggregate model comes nearest to the
/// observed speedups of `runs`: least squares in the relative error of the
/// time. Above 1, faults cost more than all of them one after the other, which no `f` means:
/// something else takes time. None if no run tells, because nothing was observed or nothing costs.
#[must_use]
pub fn fit_f(runs: &[Run], prices: &Prices) -> Option<f64> {
    let (mut above, mut below) = (0.0, 0.0);
    for run in runs {
        let Some(observed) = run.speedup_observed else {
            continue;
        };
        let (Some(least), Some(most)) = (aggregate(run, prices, 0.0), aggregate(run, prices, 1.0))
        else {
            continue;
        };
        let observed_ns = run.sequential_ns / observed;
        let slope = (most.time_ns() - least.time_ns()) / observed_ns;
        above += slope * (1.0 - least.time_ns() / observed_ns);
        below += slope * slope;
    }
    (below > 0.0).then(|| (above / below).max(0.0))
}

/// Whether no fault of these runs costs anything, so that every `f` gives the same.
#[must_use]
pub fn is_without_faults(runs: &[Run], prices: &Prices) -> bool {
    let free = |run: &Run| {
        let costs = total(run).map(|counts| counts.cost_ns(prices));
        costs.is_some_and(|costs| costs.iter().all(|cost| *cost == 0.0))
    };
    runs.iter().all(free)
}
