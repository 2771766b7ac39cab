//! Our model of a program on nodes of one thread each: the published critical
//! path, with what it leaves out.
//!
//! ```text
//! T(p) = sum over regions r of ( max over threads i of ( w_ri + c_ri + x_ri )
//!        + barriers B(p) + flushes F(p) + locks )
//! ```
//!
//! * w: application time of the region with one thread, divided by p; times the thread's
//!   share in what was recorded with other numbers of nodes (of the time on a processor),
//!   relative to the mean ([`balance`]); times p over the processors, where these are
//!   fewer. Outside of regions, undivided. The published models have T(1)/p for all of it.
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

mod balance;
mod contention;
mod interval;
mod locks;
mod part;
mod predict;
mod stalls;
mod sync;
mod terms;

pub use interval::{NodesInterval, Precision, interval};
pub use predict::{
    NodesError, NodesPoint, NodesPredicted, NodesProgram, NodesQuestion, predict_nodes,
};
pub use terms::{NoTerm, NodesTerm, NodesTerms, NodesTime};

use super::cluster::Cluster;
use super::counts::{Event, Prices, Protocol};
use balance::Balance;
use contention::Links;
use fathomp_analyse::{Analysis, Region, State};
use locks::Locks;
use part::Part;
use serde::Serialize;
use stalls::Stalls;
use sync::Sync;

/// A region's part of a time on nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodesRegion {
    /// Its name.
    pub region: String,
    /// Its time.
    #[serde(flatten)]
    pub time: NodesTime,
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
    /// Its recordings on other numbers of nodes, which say how cold work is there; if
    /// there are none, the one whose time is wanted does.
    pub others: &'a [&'a Analysis],
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
    let sync = Sync::among(beside.cluster, nodes, beside.prices, beside.protocol);
    let regions = analysis.regions.iter().map(|region| NodesRegion {
        region: region.name.clone(),
        time: time(analysis, region, beside, &sync),
    });
    Some(regions.collect())
}

/// Application time of a region with one thread, if that met it.
fn alone_ns(alone: &Analysis, region: &Region) -> Option<f64> {
    let same = alone.regions.iter().find(|one| one.key == region.key)?;
    Some(same.states[State::Compute] as f64)
}

/// What a thread's events cost. Where a diff's price was measured here, it is known how
/// many bytes it is of, and so is what was sent; and what one of a word costs may be.
fn events_ns(part: &Part, beside: &Beside<'_>, sync: &Sync) -> [f64; Event::COUNT] {
    let mut events = part.counts.cost_ns(beside.prices);
    if beside.cluster.measured.is_some() {
        let each = sync.crowd.map_or(0.0, |crowd| crowd.diff);
        let per_byte = (beside.prices.diff_to_home_us - each).max(0.0) / HALF_DIFF_BYTES;
        let diffs = part.counts.0[Event::DiffToHome as usize];
        events[Event::DiffToHome as usize] = (diffs * each + part.diff_bytes * per_byte) * 1e3;
    }
    events
}

fn time(analysis: &Analysis, region: &Region, beside: &Beside<'_>, sync: &Sync) -> NodesTime {
    let mut time = NodesTime::default();
    let Beside {
        alone,
        processors,
        prices,
        protocol,
        ..
    } = *beside;
    let emulated = analysis.program.emulated_time;
    let mut parts = Part::all(region, protocol);
    let all_ns: f64 = parts.iter().map(|part| part.own_ns).sum();
    let alone_ns = alone_ns(alone, region).unwrap_or(all_ns);
    let looks = parts.iter().any(Part::looks);
    if sync.crowd.is_some() && !looks {
        parts.iter_mut().for_each(Part::forget_locked);
    }
    // Outside of regions one thread works and the others wait for it.
    let serial = region.level == 0;
    let working = if serial { 1.0 } else { parts.len() as f64 };
    let mean_ns = alone_ns / working;
    let crowd = processors.map_or(1.0, |processors| (working / f64::from(processors)).max(1.0));
    let looked = match emulated {
        true => looks,
        false => all_ns > LOOKING * crowd * alone_ns,
    };
    let balance = Balance::new(analysis, region, beside);
    let known = !serial && balance.is_known() && !looked;
    let threads = parts.len();
    for (thread, part) in parts.iter_mut().enumerate().filter(|_| known) {
        part.share = balance.of_thread(thread, threads);
    }
    let work_ns = |part: &Part| mean_ns * part.share;
    let stalls = match emulated {
        true => Stalls::new(analysis, region, beside),
        false => Stalls::default(),
    };
    let interrupted: f64 = parts.iter().map(Part::interruptions).sum();
    let stalls_ns = |part: &Part| {
        stalls.part * work_ns(part)
            + stalls.each_ns
                * match (serial, known) {
                    (true, _) => 1.0,
                    (_, true) => interrupted * part.share / working,
                    (_, false) => part.interruptions(),
                }
    };
    let served = sync.crowd;
    let links = Links::new(
        &parts,
        protocol,
        &beside.cluster.network,
        prices.fetch_us,
        served,
    );
    let contention_ns =
        |part: &Part| part.shared_fetches() * sync.exchange * 1e3 + links.fetches_wait_ns(part);
    // Of a page's diffs the price of a fetch holds one.
    let writers_ns = |part: &Part| match protocol {
        Protocol::Home => 0.0,
        Protocol::Homeless => {
            let came = part.dsm.diffs_applied as f64 + part.dsm.pages_fetched as f64;
            let more = (came - part.dsm.fetch_faults as f64).max(0.0);
            more * HALF_DIFF_BYTES / beside.cluster.network.bandwidth_mb_per_s * 1e3
        }
    };
    let notices_ns = |part: &Part| {
        served.map_or(0.0, |crowd| {
            part.dsm.invalidations as f64 * crowd.notice * 1e3
        })
    };
    let whole_ns = |part: &Part| {
        let events_ns: f64 = events_ns(part, beside, sync).iter().sum();
        work_ns(part) * crowd
            + stalls_ns(part)
            + events_ns
            + notices_ns(part)
            + contention_ns(part)
            + writers_ns(part)
    };
    let mut by_arrival: Vec<(f64, &Part)> =
        parts.iter().map(|part| (whole_ns(part), part)).collect();
    by_arrival.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some((_, slowest)) = by_arrival.last() else {
        return time;
    };
    let slowest_ns = work_ns(slowest);
    if serial {
        time[NodesTerm::Serial] = slowest_ns;
    } else {
        time[NodesTerm::Work] = mean_ns.min(slowest_ns);
        time[NodesTerm::Imbalance] = (slowest_ns - mean_ns).max(0.0);
        time[NodesTerm::Sharing] = slowest_ns * (crowd - 1.0);
    }
    time[NodesTerm::Stalls] = stalls_ns(slowest);
    time[NodesTerm::Notices] = notices_ns(slowest);
    let [local, remote, fetches, diffs] = events_ns(slowest, beside, sync);
    time[NodesTerm::LocalWrites] = local;
    time[NodesTerm::RemoteWrites] = remote;
    time[NodesTerm::Fetches] = fetches;
    time[NodesTerm::Diffs] = diffs;
    time[NodesTerm::Contention] = contention_ns(slowest) + links.diffs_wait_ns(&by_arrival);
    time[NodesTerm::Writers] = writers_ns(slowest);
    time[NodesTerm::Barriers] = slowest.dsm.barriers as f64 * sync.barrier * 1e3;
    time[NodesTerm::Flushes] = slowest.dsm.flushes as f64 * sync.flush * 1e3;
    let locks = Locks::new(&parts, slowest, beside, sync);
    time[NodesTerm::Locks] = if looks {
        locks.by_turns_ns(time.time_ns())
    } else {
        locks.together_ns()
    };
    time
}
