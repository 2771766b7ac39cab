//! What a barrier takes of whom.
//!
//! Nodes come up a tree to node 0, which lets them go on down the tree. What was measured is of
//! nodes that come all at the same time, one barrier after the other: each waits for the way up
//! and down, and for what node 0 does for the others before and after. In a program the last one
//! often comes alone. Node 0 need not go up, and goes on at once; and some have fewer levels to go
//! than others.

use super::sync::Sync;
use super::tree::levels;

/// A barrier's parts, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Meeting {
    /// From a node to the next above it, and back, if nobody else is under way.
    pub(super) level_ns: f64,
    /// What node 0 does for the others, that come before it or that it lets go before.
    others_ns: f64,
    nodes: u32,
}

impl Meeting {
    /// Among so many nodes.
    pub(super) fn new(sync: &Sync, nodes: u32) -> Self {
        let levels = f64::from(levels(nodes).max(1));
        let whole_us = sync.barrier_level.min(sync.barrier / levels);
        Self {
            level_ns: 0.5 * whole_us * 1e3,
            others_ns: 0.5 * (sync.barrier - whole_us * levels) * 1e3,
            nodes,
        }
    }

    /// From a node to node 0, and back, if nobody else is under way.
    fn way_ns(&self, node: usize) -> f64 {
        let node = u32::try_from(node).unwrap_or(u32::MAX);
        self.level_ns * f64::from(levels(node.saturating_add(1)))
    }

    /// Until it is known that all have come, who come so late: less if they come one long after
    /// the other.
    pub(super) fn known_ns(&self, arrivals_ns: &[f64]) -> f64 {
        let Some((own_ns, others_ns)) = arrivals_ns.split_first() else {
            return 0.0;
        };
        let arrivals = others_ns.iter().zip(1..);
        let mut at_root: Vec<f64> = arrivals
            .map(|(arrives_ns, node)| arrives_ns + self.way_ns(node))
            .collect();
        at_root.sort_by(f64::total_cmp);
        let each_ns = self.others_ns / f64::from(self.nodes.saturating_sub(2).max(1));
        let done_ns = at_root
            .iter()
            .fold(f64::NEG_INFINITY, |done_ns, arrives_ns| {
                (done_ns + each_ns).max(*arrives_ns)
            });
        done_ns.max(*own_ns)
    }

    /// From a node to node 0, at the same time as all others.
    pub(super) fn up_ns(&self, node: usize) -> f64 {
        self.down_ns(node)
    }

    /// Until a node knows it that is not the first to be told.
    pub(super) fn down_ns(&self, node: usize) -> f64 {
        match node {
            0 => 0.0,
            _ => self.way_ns(node) + self.others_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_alone_waits_for_the_way_only() {
        let sync = |barrier| Sync {
            barrier,
            barrier_level: 10.0,
            lock: 0.0,
            flush: 0.0,
            crowd: None,
        };
        let four = Meeting::new(&sync(22.0), 4);
        let downs_ns = [0, 1, 3].map(|node| four.down_ns(node));
        assert_eq!(downs_ns, [0.0, 11_000.0, 11_000.0]);
        // All at the same time, as measured; one long after the others; in between.
        assert_eq!(four.known_ns(&[7e6; 4]), 7e6 + 11_000.0);
        assert_eq!(four.known_ns(&[7e6, 7e6, 1e6, 2e6]), 7e6 + 5_000.0);
        assert_eq!(four.known_ns(&[0.0, 1e6, 7e6, 7e6]), 7e6 + 8_000.0);
        // Nobody waits for the way of node 0.
        assert_eq!(four.known_ns(&[7e6, 1e6, 1e6, 1e6]), 7e6);
        let two = Meeting::new(&sync(9.0), 2);
        assert_eq!(
            [two.known_ns(&[0.0, 3.0]), two.down_ns(1)],
            [4_503.0, 4_500.0]
        );
        // Some have two levels to go.
        let eight = Meeting::new(&sync(32.0), 8);
        let downs_ns = [4, 5].map(|node| eight.down_ns(node));
        assert_eq!(downs_ns, [11_000.0, 16_000.0]);
    }
}
