//! How a cluster's prices were measured, and what was measured beside them.

use super::network::Network;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Ends of a 95 % interval.
pub type Ends = [f64; 2];

/// Circumstances and precision of measured prices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// When, nanoseconds since the Unix epoch.
    pub unix_ns: u64,
    /// The network that was emulated between processes of one machine, as it was
    /// asked for; none: the machine's own memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_emulated: Option<Network>,
    /// Interval of the network's latency.
    pub latency_us: Ends,
    /// Interval of its bandwidth.
    pub bandwidth_mb_per_s: Ends,
    /// Intervals of the prices, by their names.
    pub prices_us: BTreeMap<String, Ends>,
    /// Prices of synchronisation by number of nodes, ascending.
    #[serde(default)]
    pub synchronisation: Vec<Synchronisation>,
}

/// What synchronisation costs among so many nodes of one thread each. Earlier versions wrote
/// more, which is not read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Synchronisation {
    /// How many.
    pub nodes: u32,
    /// A barrier.
    pub barrier_us: Priced,
    /// A page fetched while the thread of its home computes; not by earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetch_at_work_us: Option<Priced>,
    /// What was measured of many at one place; not by earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crowd: Option<Crowd>,
}

/// Extra cost of a barrier at which all nodes send their changes to one node. It is a difference of
/// two measured times, so a small one may come out as zero or negative.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Crowd {
    /// What a barrier takes longer for each further diff of half a page, of each node; not by
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_diff_us: Option<Priced>,
}

/// A median and its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Priced {
    /// The median.
    pub median: f64,
    /// Its interval.
    pub interval: Ends,
}

impl Measured {
    /// Every number with a name, to be checked.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let ends = |name, ends: Ends| ends.map(|end| (name, end));
        let network = ends("measured.latency_us", self.latency_us)
            .into_iter()
            .chain(ends("measured.bandwidth_mb_per_s", self.bandwidth_mb_per_s));
        let barriers = self.synchronisation.iter();
        network.chain(barriers.map(|row| {
            let name = "measured.synchronisation.barrier_us";
            (name, row.barrier_us.median)
        }))
    }
}
