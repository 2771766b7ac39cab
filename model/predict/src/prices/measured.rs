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

/// What synchronisation costs among so many nodes of one thread each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Synchronisation {
    /// How many.
    pub nodes: u32,
    /// An empty parallel region.
    pub region_us: Priced,
    /// A barrier.
    pub barrier_us: Priced,
    /// From one grant of a lock that all ask for to the next.
    pub lock_us: Priced,
    /// A flush of nothing.
    pub flush_us: Priced,
    /// A page fetched while all nodes fetch from one another.
    pub exchange_us: Priced,
    /// What was measured of many at one place; not by earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crowd: Option<Crowd>,
}

/// What it costs that all nodes want something of one, and what goes with
/// synchronisation if something was written before. Differences, which may come out as
/// nothing or less where they are small.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crowd {
    /// From one grant of a lock to the next if each holder adds to one number.
    pub update_us: Priced,
    /// The same if nobody else wants the lock, from asking for it to having given it back.
    pub lone_update_us: Priced,
    /// A flush of nothing by one thread while all others wait at a barrier; not by earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lone_flush_us: Option<Priced>,
    /// The same of a word that it has changed on a page of node 0, without the fault at that; not by
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lone_flush_diff_us: Option<Priced>,
    /// A page fetched while all nodes but its home fetch from there.
    pub fetch_us: Priced,
    /// The same if all fetch the same pages; not by earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_us: Option<Priced>,
    /// The same if one alone fetches while the thread of the pages' home computes; not by
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_work_us: Option<Priced>,
    /// What a barrier takes longer if all nodes but the home have a diff of a word for it; not
    /// by earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_diff_us: Option<Priced>,
    /// What it takes longer for each further one, of each of these nodes.
    pub diff_us: Priced,
    /// The same of diffs of half a page, the first of a word; not by earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_diff_us: Option<Priced>,
    /// The same of diffs of whole pages; not by earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_diff_us: Option<Priced>,
    /// The same of diffs of all bytes but one of each word; not by earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ragged_diff_us: Option<Priced>,
    /// What a thread leaves the barrier later for each further diff of a word: it has made and sent
    /// them then, and their home has yet to write them. Not by earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff_sent_us: Option<Priced>,
    /// The same of diffs of whole pages; not by earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_sent_us: Option<Priced>,
    /// What a barrier takes longer for each page that others are told of.
    pub notice_us: Priced,
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
        let medians = self.synchronisation.iter().flat_map(|row| {
            [
                ("measured.synchronisation.region_us", row.region_us.median),
                ("measured.synchronisation.barrier_us", row.barrier_us.median),
                ("measured.synchronisation.lock_us", row.lock_us.median),
                ("measured.synchronisation.flush_us", row.flush_us.median),
                (
                    "measured.synchronisation.exchange_us",
                    row.exchange_us.median,
                ),
            ]
        });
        let crowds = self.synchronisation.iter().filter_map(|row| row.crowd);
        let crowds = crowds.flat_map(|crowd| {
            [
                (
                    "measured.synchronisation.crowd.update_us",
                    crowd.update_us.median,
                ),
                (
                    "measured.synchronisation.crowd.lone_update_us",
                    crowd.lone_update_us.median,
                ),
                (
                    "measured.synchronisation.crowd.fetch_us",
                    crowd.fetch_us.median,
                ),
            ]
        });
        network.chain(medians).chain(crowds)
    }
}
