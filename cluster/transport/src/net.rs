//! Emulation of a network: messages are held back as long as it would have taken
//! to carry them.
//!
//! Every node has a link to a switch that never is the bottleneck. A link
//! carries one message at a time in each direction: what a node sends queues for
//! the one direction, what is sent to it by all others for the other. In between
//! lies the latency. A message's bytes follow each other closely, so where
//! nothing queues it arrives after latency + size / bandwidth.

use fathomp_launch::{Network, NetworkError};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A network, the same for all pairs of nodes and both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Net(Network);

impl From<Network> for Net {
    fn from(network: Network) -> Self {
        Self(network)
    }
}

impl Net {
    /// From microseconds and 10^6 bytes per second.
    ///
    /// # Errors
    /// If these are not numbers of a network.
    pub fn new(latency_us: f64, mb_per_s: f64) -> Result<Self, NetworkError> {
        Network::new(latency_us, mb_per_s).map(Self)
    }

    /// Latency in microseconds.
    #[must_use]
    pub fn latency_us(&self) -> f64 {
        self.0.latency_us()
    }

    /// Bandwidth in 10^6 bytes per second.
    #[must_use]
    pub fn mb_per_s(&self) -> f64 {
        self.0.mb_per_s()
    }

    /// Time from a question to its answer if nothing queues and both are short.
    pub(crate) fn answers_after(self) -> Duration {
        self.0.latency() * 2
    }

    /// Latency in whole nanoseconds.
    pub(crate) fn latency_ns(self) -> u64 {
        u64::try_from(self.0.latency().as_nanos()).unwrap_or(u64::MAX)
    }

    /// How long a link is busy with so many bytes, in nanoseconds.
    pub(crate) fn busy_ns(self, bytes: usize) -> u64 {
        // A float that is too large becomes the largest integer.
        (bytes as f64 * 1e3 / self.0.mb_per_s()) as u64
    }

    /// When a message of `bytes` bytes, sent at `now_ns`, arrives, given until
    /// when its sender's link is busy outwards and its receiver's inwards; they
    /// are from now on with this message too. For messages from one node to
    /// another the moments ascend, if the calls do not overlap.
    pub fn arrival_ns(
        &self,
        now_ns: u64,
        bytes: usize,
        outwards: &AtomicU64,
        inwards: &AtomicU64,
    ) -> u64 {
        let leaves_ns = self.begins_ns(now_ns, bytes, outwards);
        let reaches_ns = leaves_ns.saturating_add(self.latency_ns());
        let arrives_ns = self.begins_ns(reaches_ns, bytes, inwards);
        arrives_ns.saturating_add(self.busy_ns(bytes))
    }

    /// When a link begins to carry a message of `bytes` bytes that reaches it at
    /// `from_ns`, given until when it is busy, which is from now on with this message
    /// too.
    pub(crate) fn begins_ns(self, from_ns: u64, bytes: usize, link: &AtomicU64) -> u64 {
        reserve(link, from_ns, self.busy_ns(bytes))
    }
}

/// Takes a link for `busy_ns` as soon as it is free, but not before `from_ns`;
/// returns when that is.
fn reserve(free_at_ns: &AtomicU64, from_ns: u64, busy_ns: u64) -> u64 {
    let behind = |free_ns: u64| Some(free_ns.max(from_ns).saturating_add(busy_ns));
    let before = free_at_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, behind);
    before.map_or(from_ns, |free_ns| free_ns.max(from_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_queue_for_links_and_travel_in_between() {
        // A byte takes a nanosecond.
        let net = Net::new(1.0, 1000.0).unwrap();
        let links: [[AtomicU64; 2]; 3] = Default::default();
        let send = |now_ns, bytes, from: usize, to: usize| {
            net.arrival_ns(now_ns, bytes, &links[from][0], &links[to][1])
        };
        assert_eq!(send(5000, 100, 0, 1), 6100);
        // Behind the first on its way out, to whomever it goes.
        assert_eq!(send(5010, 100, 0, 2), 6200);
        // Behind the first on its way in, from whomever it comes.
        assert_eq!(send(5000, 100, 2, 1), 6200);
        // The other directions are free.
        assert_eq!(send(5050, 100, 1, 0), 6150);
        assert_eq!(send(9000, 1, 0, 1), 10_001);
    }

    proptest! {
        #[test]
        fn never_earlier_than_latency_and_bandwidth_allow(
            latency_us in 0.0..1e6,
            mb_per_s in 1e-3..1e6,
            messages in prop::collection::vec((0..1_000_000_u64, 0..1_000_000_usize), 1..20),
        ) {
            let net = Net::new(latency_us, mb_per_s).unwrap();
            let [outwards, inwards] = [AtomicU64::new(0), AtomicU64::new(0)];
            let (mut now_ns, mut last_ns, mut all) = (0, 0, 0.0);
            let first_ns = messages[0].0;
            for (pause_ns, bytes) in messages {
                now_ns += pause_ns;
                all += bytes as f64;
                let arrival_ns = net.arrival_ns(now_ns, bytes, &outwards, &inwards);
                let least_ns = |since_ns: u64, bytes: f64| {
                    since_ns as f64 + latency_us * 1e3 + bytes / mb_per_s * 1e3
                };
                // Each rounding takes less than a nanosecond away.
                prop_assert!(arrival_ns as f64 + 2.0 >= least_ns(now_ns, bytes as f64));
                prop_assert!(arrival_ns as f64 + 22.0 >= least_ns(first_ns, all));
                prop_assert!(arrival_ns >= last_ns);
                last_ns = arrival_ns;
            }
        }
    }

    #[test]
    fn a_link_without_limit_is_never_busy() {
        let unlimited = Net::new(0.0, f64::INFINITY).unwrap();
        assert_eq!(unlimited.busy_ns(1 << 40), 0);
    }
}
