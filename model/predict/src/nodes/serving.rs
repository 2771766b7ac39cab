//! What a fetch keeps the processor of the node that answers.
//!
//! It is not measured by itself: what was measured is how long fetches take if all nodes fetch
//! from one, and if each fetches from the next. Both are [simulated](queues) for what it may be,
//! and what comes out best is taken: of those under which fetches from one node take as
//! long as was measured, the one for neighbours. The latter get into step with each other by
//! accident, so they decide only where one node is not kept busy by all others.

use super::messages::{HALF_DIFF_BYTES, LOOKS_NS, MESSAGE_BYTES, PAGE_BYTES, WORD_DIFF_BYTES};
use super::queues::{self, Asker, Costs};
use super::tree::levels;
use crate::prices::Cluster;
use crate::prices::Synchronisation;
use crate::prices::{Prices, Protocol};

/// Fetches of each thread that are simulated.
const FETCHES: f64 = 24.0;
/// What it may be is divided into so many parts, and the best of these again.
const PARTS: u32 = 24;
const TIMES: u32 = 2;
/// Larger clusters than this say no more.
const NODES_MAX: u32 = 64;
/// Errors are equal that differ by the square of 2 %.
const EXACT: f64 = 0.0004;

/// Of what a fetch costs more that brings more, what is not the link's: the one node does as much
/// of as the other.
pub(super) fn bytes_served_us(more_bytes: f64, us_per_byte: f64, link_us_per_byte: f64) -> f64 {
    0.5 * more_bytes.max(0.0) * (us_per_byte - link_us_per_byte).max(0.0)
}

/// In microseconds; without homes, of a diff of a word.
pub(super) fn served_us(
    rows: &[Synchronisation],
    cluster: &Cluster,
    prices: &Prices,
    protocol: Protocol,
) -> f64 {
    Measured::new(rows, cluster, prices, protocol).best_us()
}

/// The same of a flush of nothing, of which one thread's alone takes so long.
pub(super) fn flush_served_us(rows: &[Synchronisation], cluster: &Cluster, alone_us: f64) -> f64 {
    Measured::of_flushes(rows, cluster, alone_us).best_us()
}

/// Threads, what each fetch keeps who answers beyond what is sought, and what one took them, in
/// microseconds.
type Case = (Vec<Asker>, f64, f64);

/// What was measured of fetches from one node and from neighbours.
struct Measured {
    costs: Costs,
    from_one: Vec<Case>,
    from_next: Vec<Case>,
    most_us: f64,
}

impl Measured {
    fn new(
        rows: &[Synchronisation],
        cluster: &Cluster,
        prices: &Prices,
        protocol: Protocol,
    ) -> Self {
        let network = &cluster.network;
        let link_us = 1.0 / network.bandwidth_mb_per_s;
        let fewest = rows.iter().min_by_key(|row| row.nodes);
        let crowd = fewest.and_then(|row| row.crowd);
        let alone_us = crowd.map_or(prices.fetch_us, |crowd| crowd.fetch_us.median);
        let at_work_us = crowd.and_then(|crowd| crowd.at_work_us);
        let wake_us = at_work_us.map_or(0.0, |at_work| (at_work.median - alone_us).max(0.0));
        let (bytes, neighbours_bytes) = match protocol {
            Protocol::Home => (PAGE_BYTES, PAGE_BYTES),
            Protocol::Homeless => (WORD_DIFF_BYTES, HALF_DIFF_BYTES),
        };
        let more_bytes = neighbours_bytes - bytes;
        let us_per_byte = (prices.fetch_us - alone_us) / more_bytes.max(1.0);
        let more_us = bytes_served_us(more_bytes, us_per_byte, link_us);
        // They leave a barrier one level of its tree after the other.
        let level_ns = fewest.map_or(0.0, |row| row.barrier_us.median * 500.0);
        let begins_ns = |node| level_ns * f64::from(levels(node + 1));
        let (mut all_from_one, mut all_from_next) = (Vec::new(), Vec::new());
        for row in rows
            .iter()
            .filter(|row| (2..=NODES_MAX).contains(&row.nodes))
        {
            let from_next = |node| Asker {
                fetches: FETCHES,
                begins_ns: begins_ns(node),
                fetch_ns: prices.fetch_us * 1e3,
                bytes: MESSAGE_BYTES + neighbours_bytes,
                asks: Some((node + 1) as usize % row.nodes as usize),
                ..Asker::default()
            };
            let exchange_us = row.exchange_us.median;
            let askers = (0..row.nodes).map(from_next).collect();
            all_from_next.push((askers, more_us, exchange_us));
            let Some(crowd) = row.crowd else { continue };
            let from_one = |node| Asker {
                fetches: if node == 0 { 0.0 } else { FETCHES },
                begins_ns: begins_ns(node),
                fetch_ns: alone_us * 1e3,
                bytes: MESSAGE_BYTES + bytes,
                asks: Some(0),
                ..Asker::default()
            };
            let fetch_us = crowd.fetch_us.median;
            let askers = (0..row.nodes).map(from_one).collect();
            all_from_one.push((askers, 0.0, fetch_us));
        }
        let links_us = (bytes + 2.0 * MESSAGE_BYTES) * link_us;
        Self {
            costs: Costs {
                latency_ns: network.latency_us * 1e3,
                ns_per_byte: link_us * 1e3,
                ask_bytes: MESSAGE_BYTES,
                wake_ns: wake_us * 1e3,
                looks_ns: LOOKS_NS,
                ends_in_waiting: true,
            },
            from_one: all_from_one,
            from_next: all_from_next,
            most_us: (alone_us - 2.0 * network.latency_us - links_us).max(0.0),
        }
    }

    /// Of flushes, which node 0 answers without a page: what all of the most nodes measured took at
    /// once. Of fewer, who asks alone waits for nobody.
    fn of_flushes(rows: &[Synchronisation], cluster: &Cluster, alone_us: f64) -> Self {
        let network = &cluster.network;
        let link_us = 1.0 / network.bandwidth_mb_per_s;
        let case = |row: &Synchronisation| {
            let asker = |node| Asker {
                fetches: if node == 0 { 0.0 } else { FETCHES },
                fetch_ns: alone_us * 1e3,
                bytes: MESSAGE_BYTES,
                asks: Some(0),
                ..Asker::default()
            };
            let askers = (0..row.nodes).map(asker).collect();
            (askers, 0.0, row.flush_us.median)
        };
        let many = rows
            .iter()
            .filter(|row| (3..=NODES_MAX).contains(&row.nodes));
        Self {
            costs: Costs {
                latency_ns: network.latency_us * 1e3,
                ns_per_byte: link_us * 1e3,
                ask_bytes: MESSAGE_BYTES,
                wake_ns: 0.0,
                looks_ns: LOOKS_NS,
                ends_in_waiting: true,
            },
            from_one: many
                .max_by_key(|row| row.nodes)
                .map(case)
                .into_iter()
                .collect(),
            from_next: Vec::new(),
            most_us: (alone_us - 2.0 * (network.latency_us + MESSAGE_BYTES * link_us)).max(0.0),
        }
    }

    /// What fits best.
    fn best_us(&self) -> f64 {
        let (mut low, mut high) = (0.0, self.most_us);
        let mut best = 0.0;
        for _ in 0..TIMES {
            let step = (high - low) / f64::from(PARTS);
            let candidates = (0..=PARTS).map(|part| low + step * f64::from(part));
            let tried: Vec<[f64; 3]> = candidates
                .map(|us| {
                    [
                        us,
                        self.error(&self.from_one, us),
                        self.error(&self.from_next, us),
                    ]
                })
                .collect();
            let least = tried.iter().map(|[_, from_one, _]| *from_one);
            let exact = least.fold(f64::INFINITY, f64::min) + EXACT;
            let good = tried.iter().filter(|[_, from_one, _]| *from_one <= exact);
            best = good
                .min_by(|a, b| a[2].total_cmp(&b[2]))
                .map_or(0.0, |[us, ..]| *us);
            (low, high) = ((best - step).max(0.0), (best + step).min(self.most_us));
        }
        best
    }

    /// How far these are from what they would be, if it were so: the sum of the squares of the
    /// logarithms.
    fn error(&self, cases: &[Case], served_us: f64) -> f64 {
        let each = cases
            .iter()
            .map(|case| (self.would_us(case, served_us) / case.2).ln());
        each.map(|off| off * off)
            .filter(|error| error.is_finite())
            .sum()
    }

    /// What a fetch would take, as a mean.
    fn would_us(&self, (askers, more_us, _): &Case, served_us: f64) -> f64 {
        let mut askers = askers.clone();
        for asker in &mut askers {
            asker.served_ns = (served_us + more_us) * 1e3;
        }
        let waits_ns: f64 = queues::wait_ns(&askers, &self.costs).iter().sum();
        let fetches: f64 = askers.iter().map(|one| one.fetches).sum();
        let alone_ns = askers.last().map_or(0.0, |one| one.fetch_ns);
        (alone_ns + waits_ns / fetches.max(1.0)) * 1e-3
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::Priced;

    /// What fetches would take among two and eight nodes if who answers had so much to do.
    fn measured(served_us: f64) -> Measured {
        let costs = Costs {
            latency_ns: 3_000.0,
            ns_per_byte: 1.0,
            ask_bytes: MESSAGE_BYTES,
            looks_ns: LOOKS_NS,
            ends_in_waiting: true,
            ..Costs::default()
        };
        let cases = |from_one: bool| {
            let case = |nodes: usize| -> Case {
                let asker = |node| Asker {
                    fetches: if from_one && node == 0 { 0.0 } else { FETCHES },
                    begins_ns: 5_000.0 * node as f64,
                    fetch_ns: 30_000.0,
                    bytes: PAGE_BYTES,
                    asks: Some(if from_one { 0 } else { (node + 1) % nodes }),
                    ..Asker::default()
                };
                ((0..nodes).map(asker).collect(), 0.0, 1.0)
            };
            [2, 8].map(case).to_vec()
        };
        let mut all = Measured {
            costs,
            from_one: cases(true),
            from_next: cases(false),
            most_us: 19.0,
        };
        let took_us: Vec<f64> = all
            .from_one
            .iter()
            .chain(&all.from_next)
            .map(|case| all.would_us(case, served_us))
            .collect();
        let cases = all.from_one.iter_mut().chain(&mut all.from_next);
        cases.zip(took_us).for_each(|(case, us)| case.2 = us);
        all
    }

    #[test]
    fn what_answering_takes_is_found_again() {
        for served_us in [7.0, 8.6, 12.0] {
            let found_us = measured(served_us).best_us();
            assert!((found_us - served_us).abs() < 0.2, "{found_us} {served_us}");
        }
        // Where nobody waits for it, the least will do.
        assert_eq!(measured(0.0).best_us(), 0.0);
    }

    #[test]
    fn what_all_flushes_at_once_take_tells_what_one_keeps_node_0() {
        let price = |median: f64| Priced {
            median,
            interval: [median; 2],
        };
        let row = |nodes, flush_us| Synchronisation {
            nodes,
            region_us: price(1.0),
            barrier_us: price(1.0),
            lock_us: price(1.0),
            flush_us: price(flush_us),
            exchange_us: price(1.0),
            crowd: None,
        };
        let cluster = Cluster::find(std::path::Path::new("infiniband_ddr4x")).unwrap();
        let served_us = |rows: &[Synchronisation]| flush_served_us(rows, &cluster, 16.0);
        // Eight keep it busy.
        let busy_us = served_us(&[row(2, 25.0), row(4, 18.0), row(8, 28.0)]);
        assert!((busy_us - 4.0).abs() < 0.3, "{busy_us}");
        // Nobody waits, or it is not known.
        assert!(served_us(&[row(2, 25.0), row(8, 16.0)]) < 2.4);
        assert_eq!(served_us(&[row(2, 25.0)]), 0.0);
    }

    #[test]
    fn only_bytes_that_the_link_does_not_take_are_work() {
        assert_eq!(bytes_served_us(100.0, 0.25, 0.125), 6.25);
        assert_eq!(bytes_served_us(100.0, 0.125, 0.25), 0.0);
        assert_eq!(bytes_served_us(-1.0, 0.25, 0.125), 0.0);
    }
}
