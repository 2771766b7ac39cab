//! Our model of a program on nodes of one thread each: the published critical
//! path, with what it leaves out.
//!
//! ```text
//! T(p) = sum over regions r of ( max over threads i of ( w_ri + c_ri + x_ri )
//!        + barriers B(p) + flushes F(p) + locks )
//! ```
//!
//! * w: application time of the region with one thread, divided by p; times the
//!   thread's share in what was recorded with p (of the time on a processor), relative
//!   to the mean; times p over the processors, where these are fewer. Outside of regions, undivided. The
//!   published models have T(1)/p for all of it.
//!   If time is emulated, also what work took longer than that, all together.
//! * c: the published cost of its faults and diffs; of diffs by their bytes, where
//!   the price is of a known number of them.
//! * x: what a fetch costs more while others fetch as well, for as many of its
//!   fetches as its node answers others'; and what pages and diffs wait for others
//!   on the links of their homes ([`contention`]).
//!   Without homes, fetches also take longer for each diff of a page beyond the first.
//! * B, F, L: prices of synchronisation among p nodes. A lock that all ask for is
//!   handed on from one to the next, who may fetch a page before handing it on; one
//!   that nobody else wants takes a message there and back. Threads that wait for flags,
//!   flushing more often than they lock, come to locks by turns.
//!
//! Sums of regions are taken, so what differs from one phase of a region to the next
//! is not seen: threads that are slowest by turns are predicted too quick.

mod contention;
mod interval;
mod predict;
mod terms;

pub use interval::{NodesInterval, Precision, interval};
pub use predict::{
    NodesError, NodesPoint, NodesPredicted, NodesProgram, NodesQuestion, predict_nodes,
};
pub use terms::{NoTerm, NodesTerm, NodesTerms, NodesTime};

use super::cluster::Cluster;
use super::counts::{Counts, Event, Prices, Protocol};
use super::recordings::counts;
use contention::Links;
use fathomp_analyse::{Analysis, Dsm, Region, State, ThreadShare};
use serde::Serialize;

/// A region's part of a time on nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodesRegion {
    /// Its name.
    pub region: String,
    /// Its time.
    #[serde(flatten)]
    pub time: NodesTime,
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
    /// In application code and, if that was recorded, on a processor.
    own_ns: f64,
    counts: Counts,
    /// Of the diffs in `counts`.
    diff_bytes: f64,
    dsm: Dsm,
}

impl Part {
    fn new(share: &ThreadShare, protocol: Protocol) -> Self {
        let dsm = share.dsm.unwrap_or_default();
        let ns = |state| share.states[state];
        // Flushes and atomic instructions, which are locks, count as application
        // code; faults are states of their own.
        let locks_ns = ns(State::Lock) + ns(State::Critical);
        let inside_ns = dsm.flush_ns + dsm.lock_ns.saturating_sub(locks_ns);
        let own_ns = ns(State::Compute).saturating_sub(inside_ns) as f64;
        let mut part = Self {
            // Where nodes share processors, having none looks like working.
            own_ns: share
                .counts
                .processor_ns
                .map_or(own_ns, |processor_ns| own_ns.min(processor_ns)),
            counts: counts(&dsm, protocol),
            diff_bytes: 0.0,
            dsm,
        };
        part.diff_bytes = contention::diff_bytes(&part);
        part
    }

    /// What its events cost. Where a diff's price was measured here, it is known how
    /// many bytes it is of, and so is what was sent.
    fn events_ns(&self, beside: &Beside<'_>) -> [f64; Event::COUNT] {
        let mut events = self.counts.cost_ns(beside.prices);
        if beside.cluster.measured.is_some() {
            let per_byte = beside.prices.diff_to_home_us / HALF_DIFF_BYTES;
            events[Event::DiffToHome as usize] = self.diff_bytes * per_byte * 1e3;
        }
        events
    }

    /// Whether it has looked for what others write: it flushes more often than it meets
    /// them or locks.
    fn looks(&self) -> bool {
        self.dsm.flushes > self.dsm.locks.max(self.dsm.barriers)
    }

    /// Fetches of this thread while its node answers others': of two unequal numbers,
    /// the smaller.
    fn shared_fetches(&self) -> f64 {
        let answered = self.dsm.pages_served as f64;
        self.counts.0[Event::Fetch as usize].min(answered)
    }
}

/// Bytes of the diff that the procedure of calibration sends: every other word of a
/// page, that is half of each of its 64 blocks, with their masks.
const HALF_DIFF_BYTES: f64 = 2568.0;

/// Threads with more application time than this many times that of one thread
/// alone, all together, have looked for what others write, not worked, unless their
/// time is emulated.
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
    /// Whose prices these are.
    pub protocol: Protocol,
    /// What events cost.
    pub prices: &'a Prices,
}

/// The time that a program recorded on nodes takes, by region; None if it was
/// recorded in one process.
#[must_use]
pub fn nodes(analysis: &Analysis, beside: &Beside<'_>) -> Option<Vec<NodesRegion>> {
    let mut shares = analysis.regions.iter().flat_map(|region| &region.threads);
    let counted = shares.any(|share| share.dsm.is_some());
    let nodes = analysis.program.nodes;
    if !counted || nodes < 2 {
        return None;
    }
    let sync = Sync::among(beside.cluster, nodes, beside.prices);
    let regions = analysis.regions.iter().map(|region| NodesRegion {
        region: region.name.clone(),
        time: time(region, beside, &sync, analysis.program.emulated_time),
    });
    Some(regions.collect())
}

/// Application time of a region with one thread, if that met it.
fn alone_ns(alone: &Analysis, region: &Region) -> Option<f64> {
    let same = alone.regions.iter().find(|one| one.key == region.key)?;
    Some(same.states[State::Compute] as f64)
}

fn time(region: &Region, beside: &Beside<'_>, sync: &Sync, emulated: bool) -> NodesTime {
    let mut time = NodesTime::default();
    let Beside {
        alone,
        processors,
        prices,
        protocol,
        ..
    } = *beside;
    let parts: Vec<Part> = region
        .threads
        .iter()
        .map(|share| Part::new(share, protocol))
        .collect();
    let all_ns: f64 = parts.iter().map(|part| part.own_ns).sum();
    let alone_ns = alone_ns(alone, region).unwrap_or(all_ns);
    // Outside of regions one thread works and the others wait for it.
    let serial = region.level == 0;
    let working = if serial { 1.0 } else { parts.len() as f64 };
    let mean_ns = alone_ns / working;
    let crowd = processors.map_or(1.0, |processors| (working / f64::from(processors)).max(1.0));
    let looked = match emulated {
        true => parts.iter().any(Part::looks),
        false => all_ns > LOOKING * crowd * alone_ns,
    };
    let known = !serial && all_ns > 0.0 && !looked;
    let work_ns = |part: &Part| {
        if known {
            mean_ns * part.own_ns * working / all_ns
        } else {
            mean_ns
        }
    };
    let more = (all_ns / alone_ns.max(1.0) - 1.0).max(0.0);
    let stalls_ns = |part: &Part| match known && emulated {
        true => work_ns(part) * more,
        false => 0.0,
    };
    let links = Links::new(&parts, protocol, &beside.cluster.network, prices.fetch_us);
    let contention_ns =
        |part: &Part| part.shared_fetches() * sync.exchange * 1e3 + links.wait_ns(part);
    // Of a page's diffs the price of a fetch holds one.
    let writers_ns = |part: &Part| match protocol {
        Protocol::Home => 0.0,
        Protocol::Homeless => {
            let came = part.dsm.diffs_applied as f64 + part.dsm.pages_fetched as f64;
            let more = (came - part.dsm.fetch_faults as f64).max(0.0);
            more * HALF_DIFF_BYTES / beside.cluster.network.bandwidth_mb_per_s * 1e3
        }
    };
    let whole_ns = |part: &Part| {
        let events_ns: f64 = part.events_ns(beside).iter().sum();
        work_ns(part) * crowd + stalls_ns(part) + events_ns + contention_ns(part) + writers_ns(part)
    };
    let slowest = parts
        .iter()
        .max_by(|a, b| whole_ns(a).total_cmp(&whole_ns(b)));
    let Some(slowest) = slowest else {
        return time;
    };
    let slowest_ns = work_ns(slowest);
    if serial {
        time[NodesTerm::Serial] = slowest_ns;
    } else {
        time[NodesTerm::Work] = mean_ns.min(slowest_ns);
        time[NodesTerm::Imbalance] = (slowest_ns - mean_ns).max(0.0);
        time[NodesTerm::Sharing] = slowest_ns * (crowd - 1.0);
        time[NodesTerm::Stalls] = stalls_ns(slowest);
    }
    let [local, remote, fetches, diffs] = slowest.events_ns(beside);
    time[NodesTerm::LocalWrites] = local;
    time[NodesTerm::RemoteWrites] = remote;
    time[NodesTerm::Fetches] = fetches;
    time[NodesTerm::Diffs] = diffs;
    time[NodesTerm::Contention] = contention_ns(slowest);
    time[NodesTerm::Writers] = writers_ns(slowest);
    let locks: f64 = parts.iter().map(|part| part.dsm.locks as f64).sum();
    let locked: f64 = parts
        .iter()
        .map(|part| part.dsm.fetch_faults_locked as f64)
        .sum();
    // Its own are among its fetches.
    let others_locked = locked - slowest.dsm.fetch_faults_locked as f64;
    time[NodesTerm::Barriers] = slowest.dsm.barriers as f64 * sync.barrier * 1e3;
    let [queued_us, own_us] = [
        locks * sync.lock + others_locked * prices.fetch_us,
        slowest.dsm.locks as f64 * 2.0 * beside.cluster.network.latency_us,
    ];
    // Who flushes more often than it locks waits for flags, at which threads come by
    // turns; else they come together.
    let by_turns = slowest.dsm.flushes > slowest.dsm.locks;
    let locks_us = if by_turns {
        own_us
    } else {
        queued_us.max(own_us)
    };
    time[NodesTerm::Locks] = locks_us * 1e3;
    time[NodesTerm::Flushes] = slowest.dsm.flushes as f64 * sync.flush * 1e3;
    time
}
