//! Emulation of a network: messages are held back as long as a link of some
//! latency and bandwidth would have taken to carry them.

use std::time::Duration;

/// A link between two nodes, the same for all pairs and both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Net {
    /// From the end of sending to the arrival.
    pub latency: Duration,
    /// Bytes a link carries in a second. Infinite if there is no limit.
    pub bytes_per_second: f64,
}

impl Net {
    /// How long a link is busy with so many bytes, in nanoseconds.
    fn busy_ns(&self, bytes: usize) -> u64 {
        // A float that is too large, or not a number, becomes the nearest
        // integer or zero.
        (bytes as f64 * 1e9 / self.bytes_per_second) as u64
    }
}

/// A link's state at its sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Emulation {
    net: Net,
    free_at_ns: u64,
}

impl Emulation {
    pub(super) fn new(net: Net) -> Self {
        Self { net, free_at_ns: 0 }
    }

    /// When a message of `bytes` bytes, sent at `now_ns`, arrives.
    pub(super) fn arrival_ns(&mut self, now_ns: u64, bytes: usize) -> u64 {
        let begin = self.free_at_ns.max(now_ns);
        self.free_at_ns = begin.saturating_add(self.net.busy_ns(bytes));
        let latency = u64::try_from(self.net.latency.as_nanos()).unwrap_or(u64::MAX);
        self.free_at_ns.saturating_add(latency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_queue_for_the_link_and_then_travel() {
        let net = Net {
            latency: Duration::from_nanos(1000),
            bytes_per_second: 1e9,
        };
        let mut link = Emulation::new(net);
        assert_eq!(link.arrival_ns(5000, 100), 6100);
        assert_eq!(link.arrival_ns(5010, 100), 6200);
        assert_eq!(link.arrival_ns(9000, 1), 10_001);
    }

    #[test]
    fn odd_links_do_no_harm() {
        for bytes_per_second in [f64::INFINITY, 0.0, -1.0, f64::NAN] {
            let net = Net {
                latency: Duration::MAX,
                bytes_per_second,
            };
            let mut link = Emulation::new(net);
            assert!(link.arrival_ns(1, 100) > 1);
        }
    }
}
