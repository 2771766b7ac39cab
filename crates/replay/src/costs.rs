//! What nodes' own work costs, beside the network.

use fathomp_transport::local::Net;

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
    /// A diff of [`DIFF_BYTES`] sent home; 0 without homes.
    pub diff_to_home_us: f64,
}

/// Bytes of a page, and of a half-full diff in the encoding of word and value,
/// which is what prices are of.
const PAGE_BYTES: f64 = 4096.0;
const DIFF_BYTES: f64 = 4096.0;

/// What nodes' own work costs, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// A thread traps, and is let go on.
    pub trap_ns: u64,
    /// A page is copied, to compare with later.
    pub twin_ns: u64,
    /// A node handles a message: one after the other.
    pub message_ns: u64,
    /// A diff is made.
    pub diff_ns: u64,
    /// A diff is put in.
    pub apply_ns: u64,
}

impl Costs {
    /// What is left of prices when the network's part is taken away: of a fetch, the
    /// trap and two messages to be handled; of a diff, a message, and equal parts for
    /// making it and putting it in. What is less than nothing is nothing.
    #[must_use]
    pub fn from_prices(prices: &Prices, net: &Net) -> Self {
        let ns = |us: f64| (us * 1e3).max(0.0).round() as u64;
        // 1 MB/s is 1 byte/us.
        let arrival_us = |bytes: f64| net.latency_us() + bytes / net.mb_per_s();
        let of_fetch_us = prices.fetch_us - net.latency_us() - arrival_us(PAGE_BYTES);
        let message_us = ((of_fetch_us - prices.local_write_us) / 2.0).max(0.0);
        let of_diff_us = prices.diff_to_home_us - arrival_us(DIFF_BYTES) - message_us;
        Self {
            trap_ns: ns(prices.local_write_us),
            twin_ns: ns(prices.remote_write_us - prices.local_write_us),
            message_ns: ns(message_us),
            diff_ns: ns(of_diff_us / 2.0),
            apply_ns: ns(of_diff_us / 2.0),
        }
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
    fn nothing_costs_less_than_nothing() {
        let prices = Prices {
            local_write_us: 5.0,
            remote_write_us: 1.0,
            fetch_us: 1.0,
            diff_to_home_us: 0.0,
        };
        let costs = Costs::from_prices(&prices, &Net::new(100.0, 1.0).unwrap());
        let free = Costs {
            trap_ns: 5000,
            ..Costs::default()
        };
        assert_eq!(costs, free);
    }
}
