//! What synchronisation costs among so many nodes, and what one node that others want
//! something of takes for each.

use super::diffs::DiffPrices;
use super::serving;
use super::tree::levels;
use crate::prices::Cluster;
use crate::prices::{Crowd, Synchronisation};
use crate::prices::{Prices, Protocol};

/// What synchronisation costs among so many nodes, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sync {
    pub(super) barrier: f64,
    /// The same among the fewest nodes, for each level of the tree that they come through.
    pub(super) barrier_level: f64,
    pub(super) lock: f64,
    pub(super) flush: f64,
    /// What is known of many that want something of one.
    pub(super) crowd: Option<AtOne>,
}

/// Prices of [`Crowd`], in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AtOne {
    /// From one grant of a lock to the next if the holder fetches a page and changes it.
    pub(super) update: f64,
    /// A lock that nobody else wants, taken and given back with what was changed meanwhile;
    /// without the fault at that.
    pub(super) lone: f64,
    /// A flush of nothing by one thread, if that is known.
    pub(super) lone_flush: Option<f64>,
    /// What it takes longer for the first diff beside what that costs.
    pub(super) flush_release: f64,
    /// What it keeps the processor of node 0 from the next.
    pub(super) flush_served: f64,
    /// What a barrier takes longer for a page that a node is told of.
    pub(super) notice: f64,
    /// What it takes longer for a page at home that its node has written, before others are
    /// told of it.
    pub(super) told: f64,
    /// What a barrier takes longer if there are diffs at all.
    pub(super) release: f64,
    pub(super) diffs: DiffPrices,
    /// A fetch; without homes one of a word.
    pub(super) fetch: f64,
    /// What a fetch keeps the processor of the node that answers from the next.
    pub(super) fetch_served: f64,
    /// What it takes less of that if another node has fetched the page since it was written:
    /// it is read-only at home already.
    pub(super) fetched_before: f64,
    /// What a message costs more for which nobody looks: the thread of the node that it comes to
    /// is at work, and somebody has to wake up.
    pub(super) wakes: f64,
}

impl Sync {
    /// Measured among so many nodes, or among the nearest number that was;
    /// derived from the network's latency if there is none.
    pub(super) fn among(
        cluster: &Cluster,
        nodes: u32,
        prices: &Prices,
        protocol: Protocol,
    ) -> Self {
        let rows = cluster.measured.as_ref();
        let rows = rows.map_or(&[][..], |measured| &measured.synchronisation);
        let away = |count: u32| (f64::from(count) / f64::from(nodes)).ln().abs();
        let nearest = rows
            .iter()
            .min_by(|a, b| away(a.nodes).total_cmp(&away(b.nodes)));
        let fewest = rows.iter().min_by_key(|row| row.nodes);
        match nearest {
            Some(row) => Self {
                barrier: row.barrier_us.median,
                barrier_level: fewest.map_or(0.0, |row| {
                    row.barrier_us.median / f64::from(levels(row.nodes).max(1))
                }),
                lock: row.lock_us.median,
                flush: row.flush_us.median,
                crowd: row
                    .crowd
                    .map(|crowd| AtOne::new(&crowd, row, rows, cluster, prices, protocol)),
            },
            None => {
                let levels = f64::from(levels(nodes).max(1));
                let latency_us = cluster.network.latency_us;
                Self {
                    barrier: 2.0 * levels * latency_us,
                    barrier_level: 2.0 * latency_us,
                    lock: latency_us,
                    flush: 2.0 * latency_us,
                    crowd: None,
                }
            }
        }
    }
}

impl Sync {
    /// A flush, if nobody else has any.
    pub(super) fn lone_flush(&self) -> f64 {
        let lone = self.crowd.and_then(|crowd| crowd.lone_flush);
        lone.unwrap_or(self.flush)
    }
}

impl AtOne {
    /// `near` and `row` are of as many nodes as asked for, `rows` of all numbers: the fewest say what
    /// one costs, and the most what it keeps another waiting.
    fn new(
        near: &Crowd,
        row: &Synchronisation,
        rows: &[Synchronisation],
        cluster: &Cluster,
        prices: &Prices,
        protocol: Protocol,
    ) -> Self {
        let askers = |row: &Synchronisation| f64::from(row.nodes.saturating_sub(1));
        let crowds = || {
            let crowds = rows.iter().map(|row| (askers(row), row.crowd));
            crowds.filter_map(|(askers, crowd)| Some((askers, crowd?)))
        };
        let by_askers = |a: &(f64, Crowd), b: &(f64, Crowd)| a.0.total_cmp(&b.0);
        // The page's home is one of the holders, and need not fetch it.
        let update = match protocol {
            Protocol::Home => {
                let all = near.update_us.median * f64::from(row.nodes);
                (all - row.lock_us.median).max(0.0) / askers(row).max(1.0)
            }
            // Some find what they change where it is; the others hand on both.
            Protocol::Homeless => {
                let both = row.lock_us.median + near.fetch_us.median;
                near.update_us.median.max(both)
            }
        };
        let own = (1.0, *near);
        let (few, least) = crowds().min_by(by_askers).unwrap_or(own);
        let (many, most) = crowds().max_by(by_askers).unwrap_or(own);
        let alone_us = least.fetch_us.median;
        let wakes = least
            .at_work_us
            .map_or(0.0, |at_work| (at_work.median - alone_us).max(0.0));
        let others = (many - 1.0).max(1.0) / many;
        // If all fetch the same pages, one of them is first; and each waits for what is done for all.
        let same_less = most
            .same_us
            .map_or(0.0, |same| most.fetch_us.median - same.median);
        let fetched_before = same_less.max(0.0) / (many * others);
        // Of pages of several nodes their home does something for each, one after the other,
        // and the others for their own, at the same time.
        let apart = 1.0 - few / many;
        let notice = match apart > 0.0 {
            true => (least.notice_us.median - most.notice_us.median) / apart,
            false => least.notice_us.median,
        };
        let told = least.notice_us.median - notice.max(0.0);
        let us_per_byte = 1.0 / cluster.network.bandwidth_mb_per_s;
        let crowds: Vec<(f64, Crowd)> = match crowds().next() {
            Some(_) => crowds().collect(),
            None => vec![own],
        };
        let diffs = DiffPrices::new(&crowds, us_per_byte, prices.diff_to_home_us);
        let diff = diffs.each;
        let first = least.first_diff_us.map_or(diff, |first| first.median);
        let lone_flush = least.lone_flush_us.map(|flush| flush.median);
        let flush_diff = least.lone_flush_diff_us.map(|flush| flush.median);
        let flush_more = lone_flush.zip(flush_diff).map(|(flush, diff)| diff - flush);
        let release = (first - diff).max(0.0);
        Self {
            update,
            lone: (near.lone_update_us.median - prices.remote_write_us).max(0.0),
            notice: notice.max(0.0),
            told: told.max(0.0),
            release,
            lone_flush,
            flush_release: flush_more.map_or(release, |more| (more - diff).max(0.0)),
            flush_served: lone_flush
                .map_or(0.0, |flush| serving::flush_served_us(rows, cluster, flush)),
            diffs,
            fetch: least.fetch_us.median,
            fetch_served: serving::served_us(rows, cluster, prices, protocol),
            fetched_before,
            wakes,
        }
    }
}

impl AtOne {
    /// What it takes longer that diffs go home at so many synchronisations, flushes as a rule.
    pub(super) fn releases_us(&self, diffs: f64, synchronisations: f64) -> f64 {
        self.flush_release * synchronisations.max(1.0).min(diffs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diffs_go_home_as_often_as_there_are_some() {
        let crowd = AtOne {
            update: 0.0,
            lone: 0.0,
            lone_flush: None,
            flush_release: 7.0,
            flush_served: 0.0,
            notice: 0.0,
            told: 0.0,
            release: 0.0,
            diffs: DiffPrices::default(),
            fetch: 0.0,
            fetch_served: 0.0,
            fetched_before: 0.0,
            wakes: 0.0,
        };
        // One diff goes home once, ten do at three synchronisations.
        assert_eq!(crowd.releases_us(1.0, 3.0), 7.0);
        assert_eq!(crowd.releases_us(10.0, 3.0), 3.0 * 7.0);
        assert_eq!(crowd.releases_us(0.0, 3.0), 0.0);
    }
}
