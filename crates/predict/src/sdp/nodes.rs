//! Our model of a program on nodes of one thread each: the published critical
//! path, with what it leaves out.
//!
//! ```text
//! T(p) = sum over regions r of ( max over threads i of ( w_ri + c_ri + x_ri )
//!        + barriers B(p) + flushes F(p) + sum over threads of locks L(p) )
//! ```
//!
//! * w: application time of the region with one thread, divided by p; times the
//!   thread's share in what was recorded with p, relative to the mean; times p over
//!   the processors, where these are fewer. Outside of regions, undivided. The
//!   published models have T(1)/p for all of it.
//! * c: the published cost of its faults and diffs.
//! * x: what a fetch costs more while others fetch as well, for as many of its
//!   fetches as each other thread has too.
//! * B, F, L: prices of synchronisation among p nodes. Locks are taken one after
//!   the other, whoever asks.

use super::cluster::Cluster;
use super::counts::{Counts, Event, Prices};
use fathomp_analyse::{Analysis, Dsm, Region, State, ThreadShare};
use serde::Serialize;

/// What a predicted time on nodes consists of, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct NodesTime {
    /// Application time outside of regions.
    pub serial_ns: f64,
    /// Application time inside, divided among the threads.
    pub work_ns: f64,
    /// What the slowest thread takes longer than the mean.
    pub imbalance_ns: f64,
    /// What threads take longer that share processors.
    pub sharing_ns: f64,
    /// First writes to own pages.
    pub local_writes_ns: f64,
    /// First writes to copies.
    pub remote_writes_ns: f64,
    /// Fetches, each as if it were alone.
    pub fetches_ns: f64,
    /// What they cost more because others fetch as well.
    pub contention_ns: f64,
    /// Diffs sent home.
    pub diffs_ns: f64,
    /// Barriers.
    pub barriers_ns: f64,
    /// Locks and atomics.
    pub locks_ns: f64,
    /// Flushes.
    pub flushes_ns: f64,
}

impl NodesTime {
    /// The terms, by name.
    #[must_use]
    pub fn terms(&self) -> [(&'static str, f64); 12] {
        [
            ("serial", self.serial_ns),
            ("work", self.work_ns),
            ("imbalance", self.imbalance_ns),
            ("sharing", self.sharing_ns),
            ("local writes", self.local_writes_ns),
            ("remote writes", self.remote_writes_ns),
            ("fetches", self.fetches_ns),
            ("contention", self.contention_ns),
            ("diffs", self.diffs_ns),
            ("barriers", self.barriers_ns),
            ("locks", self.locks_ns),
            ("flushes", self.flushes_ns),
        ]
    }

    /// The predicted time.
    #[must_use]
    pub fn time_ns(&self) -> f64 {
        self.terms().iter().map(|(_, time_ns)| time_ns).sum()
    }
}

/// What synchronisation costs among so many nodes, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sync {
    barrier: f64,
    lock: f64,
    flush: f64,
    /// What a fetch costs more while all others fetch too.
    exchange: f64,
}

/// Nodes below a node in the tree of a barrier.
const FAN_IN: f64 = 4.0;

impl Sync {
    /// Measured among so many nodes, or among the nearest number that was;
    /// derived from the network's latency if there is none.
    fn among(cluster: &Cluster, nodes: u32, prices: &Prices) -> Self {
        let rows = cluster.measured.iter().flat_map(|one| &one.synchronisation);
        let away = |count: u32| (f64::from(count) / f64::from(nodes)).ln().abs();
        let nearest = rows.min_by(|a, b| away(a.nodes).total_cmp(&away(b.nodes)));
        match nearest {
            Some(row) => Self {
                barrier: row.barrier_us.median,
                lock: row.lock_us.median,
                flush: row.flush_us.median,
                exchange: (row.exchange_us.median - prices.fetch_us).max(0.0),
            },
            None => {
                let levels = f64::from(nodes).log(FAN_IN).ceil().max(1.0);
                let latency_us = cluster.network.latency_us;
                Self {
                    barrier: 2.0 * levels * latency_us,
                    lock: latency_us,
                    flush: 2.0 * latency_us,
                    exchange: 0.0,
                }
            }
        }
    }
}

/// A thread's part in a region.
struct Part {
    own_ns: f64,
    counts: Counts,
    dsm: Dsm,
}

impl Part {
    fn new(share: &ThreadShare) -> Self {
        let dsm = share.dsm.unwrap_or_default();
        let ns = |state| share.states[state];
        // Flushes and atomic instructions, which are locks, count as application
        // code; faults are states of their own.
        let locks_ns = ns(State::Lock) + ns(State::Critical);
        let inside_ns = dsm.flush_ns + dsm.lock_ns.saturating_sub(locks_ns);
        Self {
            own_ns: ns(State::Compute).saturating_sub(inside_ns) as f64,
            counts: Counts::home(
                dsm.write_faults_local as f64,
                dsm.write_faults_remote as f64,
                dsm.fetch_faults as f64,
                dsm.diffs_sent as f64,
            ),
            dsm,
        }
    }

    /// Fetches of this thread that another makes at the same time, as a mean
    /// over the others: of two unequal numbers, the smaller.
    fn shared_fetches(&self, all: &[Self]) -> f64 {
        let fetches = |part: &Self| part.counts.0[Event::Fetch as usize];
        let both = all.iter().map(|other| fetches(other).min(fetches(self)));
        let others = (all.len() as f64 - 1.0).max(1.0);
        (both.sum::<f64>() - fetches(self)).max(0.0) / others
    }
}

/// A thread with more application time than this many times that of one thread
/// alone, all threads together, has looked for what others write, not worked.
const LOOKING: f64 = 1.5;

/// What is known beside the recording on nodes.
#[derive(Clone, Copy, Debug)]
pub struct Beside<'a> {
    /// The program's recording with one thread.
    pub alone: &'a Analysis,
    /// Processors that all nodes share; none if each has its own.
    pub processors: Option<u32>,
    /// Where synchronisation is priced.
    pub cluster: &'a Cluster,
    /// What events cost.
    pub prices: &'a Prices,
}

/// The time that a program recorded on nodes takes; None if it was recorded in
/// one process.
#[must_use]
pub fn nodes(analysis: &Analysis, beside: &Beside<'_>) -> Option<NodesTime> {
    let mut shares = analysis.regions.iter().flat_map(|region| &region.threads);
    let counted = shares.any(|share| share.dsm.is_some());
    let nodes = analysis.program.nodes;
    if !counted || nodes < 2 {
        return None;
    }
    let sync = Sync::among(beside.cluster, nodes, beside.prices);
    let mut time = NodesTime::default();
    for region in &analysis.regions {
        add(&mut time, region, beside, &sync);
    }
    Some(time)
}

/// Application time of a region with one thread, if that met it.
fn alone_ns(alone: &Analysis, region: &Region) -> Option<f64> {
    let same = alone.regions.iter().find(|one| one.key == region.key)?;
    Some(same.states[State::Compute] as f64)
}

fn add(time: &mut NodesTime, region: &Region, beside: &Beside<'_>, sync: &Sync) {
    let Beside {
        alone,
        processors,
        prices,
        ..
    } = *beside;
    let parts: Vec<Part> = region.threads.iter().map(Part::new).collect();
    let all_ns: f64 = parts.iter().map(|part| part.own_ns).sum();
    let alone_ns = alone_ns(alone, region).unwrap_or(all_ns);
    // Outside of regions one thread works and the others wait for it.
    let serial = region.level == 0;
    let working = if serial { 1.0 } else { parts.len() as f64 };
    let mean_ns = alone_ns / working;
    let crowd = processors.map_or(1.0, |processors| (working / f64::from(processors)).max(1.0));
    let known = !serial && all_ns > 0.0 && all_ns <= LOOKING * crowd * alone_ns;
    let work_ns = |part: &Part| {
        if known {
            mean_ns * part.own_ns * working / all_ns
        } else {
            mean_ns
        }
    };
    let contention_ns = |part: &Part| part.shared_fetches(&parts) * sync.exchange * 1e3;
    let whole_ns = |part: &Part| {
        let events_ns: f64 = part.counts.cost_ns(prices).iter().sum();
        work_ns(part) * crowd + events_ns + contention_ns(part)
    };
    let slowest = parts
        .iter()
        .max_by(|a, b| whole_ns(a).total_cmp(&whole_ns(b)));
    let Some(slowest) = slowest else { return };
    let slowest_ns = work_ns(slowest);
    if serial {
        time.serial_ns += slowest_ns;
    } else {
        time.work_ns += mean_ns.min(slowest_ns);
        time.imbalance_ns += (slowest_ns - mean_ns).max(0.0);
        time.sharing_ns += slowest_ns * (crowd - 1.0);
    }
    let [local, remote, fetches, diffs] = slowest.counts.cost_ns(prices);
    time.local_writes_ns += local;
    time.remote_writes_ns += remote;
    time.fetches_ns += fetches;
    time.diffs_ns += diffs;
    time.contention_ns += contention_ns(slowest);
    let locks: u64 = parts.iter().map(|part| part.dsm.locks).sum();
    time.barriers_ns += slowest.dsm.barriers as f64 * sync.barrier * 1e3;
    time.locks_ns += locks as f64 * sync.lock * 1e3;
    time.flushes_ns += slowest.dsm.flushes as f64 * sync.flush * 1e3;
}
