//! Our model of a program on nodes of one thread each: the published critical
//! path, with what it leaves out.
//!
//! ```text
//! T(p) = sum over phases k of all regions of
//!        ( max over threads i of ( w_ki + c_ki + x_ki ) + barriers B(p) + flushes F(p) + locks )
//! ```
//!
//! A phase is what lies between two barriers of the nodes: threads that are slowest by turns
//! take longer than any of them in all. Where phases were not recorded, a region is one; and
//! where threads wait for flags in between, and it was not recorded when they looked.
//!
//! * w: application time of the region with one thread, divided by p; times the thread's
//!   share in what was recorded with other numbers of nodes (of the time on a processor),
//!   relative to the mean ([`balance`]); times p over the processors, where these are
//!   fewer. Outside of regions, undivided. The published models have T(1)/p for all of it.
//!   If time is emulated, also what work took longer than that, all together.
//! * c: the published cost of its faults and diffs; of first writes less what work takes longer
//!   after them ([`stalls`]), and of diffs by their bytes and runs ([`diffs`]), where the price is
//!   of a known number of them.
//! * x: what fetches wait for others at their homes and on the links, for who has to wake up
//!   there, and for diffs that a home is still writing ([`contention`], [`left`]): they are
//!   simulated, message by message ([`queues`]).
//!   Without homes, fetches also take longer for each diff of a page beyond the first.
//! * B, F, L: prices of synchronisation among p nodes. Of a barrier, each thread pays its own
//!   way ([`meeting`]). A lock that all ask for is
//!   handed on from one to the next, who may fetch a page before handing it on; one
//!   that nobody else wants takes a message there and back. Threads that wait for flags,
//!   flushing more often than they lock, come to locks by turns; and the slowest waits for
//!   each of the others while their pipeline fills and empties ([`waits`]).

mod balance;
mod contention;
mod diffs;
mod fetches;
mod interval;
mod left;
mod locks;
mod looks;
mod meeting;
mod mva;
mod part;
mod predict;
mod queues;
mod serving;
mod stalls;
mod sync;
mod terms;
mod time;
mod waits;

pub use interval::{NodesInterval, Precision, interval};
pub use predict::{
    NodesError, NodesPoint, NodesPredicted, NodesProgram, NodesQuestion, predict_nodes,
};
pub use terms::{NoTerm, NodesTerm, NodesTerms, NodesTime};

use super::cluster::Cluster;
use super::counts::{Prices, Protocol};
use fathomp_analyse::{Analysis, Region, State};
use fathomp_dsm::Diff;
use serde::Serialize;
use sync::Sync;
use time::time;

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
/// page.
const HALF_DIFF_BYTES: f64 = Diff::BYTES_OF_HALF as f64;

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
