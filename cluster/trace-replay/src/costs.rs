//! What nodes' own work costs, beside the network.

use fathomp_protocols::Diff;
use fathomp_transport::Net;

/// What events of consistency cost as a whole, as clusters are described, in
/// microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// First write to a page whose home is the node; any write fault, without
    /// homes.
    pub local_write_us: f64,
    /// First write to a copy, its twin included.
    pub remote_write_us: f64,
    /// A page fetched.
    pub fetch_us: f64,
    /// A half-full diff sent home; 0 without homes.
    pub diff_to_home_us: f64,
    /// They were measured on nodes of ours: a diff's price is what a barrier takes
    /// longer for one more, and what is fetched without homes is a diff. As published,
    /// a diff's price is that of a message by itself, and what is fetched is a page.
    pub ours: bool,
    /// A barrier of two nodes, if that was measured.
    pub barrier_us: Option<f64>,
    /// A page fetched from a home whose thread computes, if that was measured.
    pub fetch_at_work_us: Option<f64>,
}

/// Bytes of a page; of a half-full diff in the encoding of word and value, which is what
/// published prices are of; and of one of ours.
const PAGE_BYTES: f64 = fathomp_types::PAGE_BYTES as f64;
const DIFF_BYTES: f64 = 4096.0;
const OUR_DIFF_BYTES: f64 = Diff::BYTES_OF_HALF as f64;

/// Without homes a diff's making and putting in is part of the fetch's price. Measured
/// with homes, where it has one of its own, it is so many local write faults (2.2 to 2.5).
const DIFF_FAULTS: f64 = 2.3;

/// What nodes' own work costs, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// A thread traps, and is let go on.
    pub trap_ns: u64,
    /// A page is copied, to compare with later.
    pub twin_ns: u64,
    /// A node handles a message: one after the other.
    pub message_ns: u64,
    /// What it takes longer if there are pages or diffs in it.
    pub content_ns: u64,
    /// A message waits so long for a node none of whose threads waits.
    pub wake_ns: u64,
    /// A diff is made, if it is half full.
    pub diff_ns: u64,
    /// A diff is put in, if it is half full.
    pub apply_ns: u64,
}

impl Costs {
    /// The same where a page has so many bytes in place of 4 KiB: what is copied or read of
    /// whole pages takes in proportion as long. Diffs cost by their bytes anyway.
    #[must_use]
    pub fn of_pages(self, page_bytes: u32) -> Self {
        let of = |ns: u64| (ns as f64 * f64::from(page_bytes) / PAGE_BYTES).round() as u64;
        Self {
            twin_ns: of(self.twin_ns),
            content_ns: of(self.content_ns),
            ..self
        }
    }

    /// What is left of prices when the network's part is taken away: of a fetch, the
    /// trap and two messages to be handled, and a diff if there are no homes; of a diff,
    /// equal parts for making it and putting it in, and a message as published. Of two
    /// messages, one with content, that without is as at a barrier. What is less than
    /// nothing is nothing.
    #[must_use]
    pub fn from_prices(prices: &Prices, net: &Net) -> Self {
        let ns = |us: f64| (us * 1e3).max(0.0).round() as u64;
        // 1 MB/s is 1 byte/us.
        let busy_us = |bytes: f64| bytes / net.mb_per_s();
        let arrival_us = |bytes: f64| net.latency_us() + busy_us(bytes);
        let homeless = prices.diff_to_home_us <= 0.0;
        let fetched = match prices.ours && homeless {
            true => OUR_DIFF_BYTES,
            false => PAGE_BYTES,
        };
        let of_fetch_us = prices.fetch_us - net.latency_us() - arrival_us(fetched);
        let own_us = (of_fetch_us - prices.local_write_us).max(0.0);
        let (of_messages_us, of_diff_us) = match (prices.ours, homeless) {
            (true, true) => {
                let diff_us = (DIFF_FAULTS * prices.local_write_us).min(own_us);
                (own_us - diff_us, diff_us)
            }
            (true, false) => (own_us, prices.diff_to_home_us - busy_us(OUR_DIFF_BYTES)),
            (false, _) => {
                let message_us = arrival_us(DIFF_BYTES) + own_us / 2.0;
                (own_us, prices.diff_to_home_us - message_us)
            }
        };
        // At a barrier three are handled in a row, and none has content.
        let at_barrier_us = prices.barrier_us.map_or(f64::INFINITY, |barrier_us| {
            ((barrier_us - 2.0 * net.latency_us()) / 3.0).max(0.0)
        });
        let message_us = at_barrier_us.min(of_messages_us / 2.0);
        Self {
            trap_ns: ns(prices.local_write_us),
            twin_ns: ns(prices.remote_write_us - prices.local_write_us),
            message_ns: ns(message_us),
            content_ns: ns(of_messages_us - 2.0 * message_us),
            wake_ns: ns(prices.fetch_at_work_us.unwrap_or(0.0) - prices.fetch_us),
            diff_ns: ns(of_diff_us / 2.0),
            apply_ns: ns(of_diff_us / 2.0),
        }
    }

    /// Making or putting in diffs of so many bytes together, where one that is half full
    /// takes `half_full_ns`: half of that goes with its size.
    pub(crate) fn of_diffs(half_full_ns: u64, diffs: u32, bytes: u32) -> u64 {
        let half_full = f64::from(diffs) + f64::from(bytes) / OUR_DIFF_BYTES;
        (half_full_ns as f64 * half_full / 2.0).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_the_sum_of_its_parts() {
        let net = Net::new(62.5, 103.4).unwrap();
        let prices = Prices {
            local_write_us: 20.9,
            remote_write_us: 40.5,
            fetch_us: 295.3,
            diff_to_home_us: 120.0,
            ours: false,
            barrier_us: None,
            fetch_at_work_us: None,
        };
        let costs = Costs::from_prices(&prices, &net);
        let fetch_us = costs.trap_ns + 2 * costs.message_ns;
        let fetch_us = fetch_us as f64 / 1e3 + 2.0 * 62.5 + 4096.0 / 103.4;
        assert!((fetch_us - 295.3).abs() < 0.01, "{fetch_us}");
        assert_eq!(costs.twin_ns, 19_600);
        // The message alone costs more than the price: the diff itself is free.
        assert_eq!((costs.diff_ns, costs.apply_ns), (0, 0));
    }

    #[test]
    fn a_diff_of_ours_is_what_a_barrier_takes_longer() {
        let net = Net::new(62.5, 100.0).unwrap();
        let prices = Prices {
            local_write_us: 5.0,
            remote_write_us: 6.0,
            fetch_us: 210.0,
            diff_to_home_us: 35.68,
            ours: true,
            barrier_us: Some(146.0),
            fetch_at_work_us: Some(240.0),
        };
        let costs = Costs::from_prices(&prices, &net);
        assert_eq!((costs.diff_ns, costs.apply_ns), (5000, 5000));
        assert_eq!((costs.message_ns, costs.content_ns), (7000, 25_040));
        assert_eq!(costs.wake_ns, 30_000);
        assert_eq!(
            Costs::of_diffs(costs.diff_ns, 2, 2 * Diff::BYTES_OF_HALF as u32),
            10_000
        );
        assert_eq!(Costs::of_diffs(costs.diff_ns, 1, 0), 2500);
        let homeless = Prices {
            diff_to_home_us: 0.0,
            ..prices
        };
        let costs = Costs::from_prices(&homeless, &net);
        let messages_ns = 2 * costs.message_ns + costs.content_ns;
        let own_ns = messages_ns + costs.diff_ns + costs.apply_ns;
        assert_eq!(own_ns + 5000 + 125_000 + 25_680, 210_000);
        assert_eq!((costs.diff_ns, costs.apply_ns), (5750, 5750));
    }

    #[test]
    fn nothing_costs_less_than_nothing() {
        let prices = Prices {
            local_write_us: 5.0,
            remote_write_us: 1.0,
            fetch_us: 1.0,
            diff_to_home_us: 0.0,
            ours: false,
            barrier_us: None,
            fetch_at_work_us: Some(0.5),
        };
        let costs = Costs::from_prices(&prices, &Net::new(100.0, 1.0).unwrap());
        let free = Costs {
            trap_ns: 5000,
            ..Costs::default()
        };
        assert_eq!(costs, free);
    }
}
