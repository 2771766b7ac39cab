//! Whether it is worth giving tasks away: a batch costs both nodes flushes and messages, and what
//! its tasks take says whether that pays. Tasks are told apart by their code and by how deep in
//! the tree of tasks they are, for in recursions that says how much is below them.

use super::letter::BATCH_MAX;
use std::collections::HashMap;

/// What tasks have to take, as a multiple of what giving them away costs.
const COST_FACTOR_MIN: u64 = 4;
/// What a batch is taken to cost at least, both nodes together.
const COST_LEAST_NS: u64 = 25_000;
/// No more kinds of tasks are told apart.
const KINDS_MAX: usize = 256;
/// Depths from here on count as one.
const DEEP: u32 = 24;
/// Shortest and longest time until tasks that did not pay are tried again. The shortest is some
/// hundred times what a batch costs.
const FIRST_NS: u64 = 10_000_000;
const LONGEST_NS: u64 = 320_000_000;

/// A kind of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    function: usize,
    depth: u32,
}

impl Kind {
    pub(super) fn new(function: usize, depth: u32) -> Self {
        let depth = depth.min(DEEP);
        Self { function, depth }
    }
}

#[derive(Clone, Copy, Debug)]
struct Known {
    mean_ns: u64,
    /// Not before, if it does not pay.
    again_ns: u64,
    pause_ns: u64,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Worth {
    kinds: HashMap<Kind, Known>,
    cost_ns: u64,
}

impl Worth {
    /// What a batch has to take.
    fn least_ns(&self) -> u64 {
        self.cost_ns
            .max(COST_LEAST_NS)
            .saturating_mul(COST_FACTOR_MIN)
    }

    /// Whether a batch of `count` such tasks may go, now.
    pub(super) fn allows(&self, kind: Kind, count: usize, now_ns: u64) -> bool {
        self.kinds.get(&kind).is_none_or(|known| {
            let all_ns = known.mean_ns.saturating_mul(count as u64);
            all_ns >= self.least_ns() || now_ns >= known.again_ns
        })
    }

    /// A batch has been given away at that time, which took this node so long.
    pub(super) fn cost(&mut self, took_ns: u64) {
        // Both nodes have about the same to do. A mean, for now and then one is put off.
        let both_ns = took_ns.saturating_mul(2);
        self.cost_ns = match self.cost_ns {
            0 => both_ns,
            mean => (mean * 7 + both_ns) / 8,
        };
    }

    /// Such a task has taken so long on another node.
    pub(super) fn learn(&mut self, kind: Kind, took_ns: u64, now_ns: u64) {
        let least_ns = self.least_ns();
        if self.kinds.len() >= KINDS_MAX && !self.kinds.contains_key(&kind) {
            self.kinds.clear();
        }
        let known = self.kinds.entry(kind).or_insert(Known {
            mean_ns: took_ns,
            again_ns: 0,
            pause_ns: 0,
        });
        known.mean_ns = known.mean_ns / 4 * 3 + took_ns / 4;
        if known.mean_ns.saturating_mul(BATCH_MAX as u64) >= least_ns {
            known.pause_ns = 0;
            known.again_ns = now_ns.saturating_add(FIRST_NS);
        } else if now_ns >= known.again_ns {
            // Once for each try, however many tasks it was.
            known.pause_ns = (known.pause_ns * 2).clamp(FIRST_NS, LONGEST_NS);
            known.again_ns = now_ns.saturating_add(known.pause_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_pay_is_tried_ever_more_rarely() {
        let (mut worth, kind) = (Worth::default(), Kind::new(7, 1));
        let (mut now_ns, mut tries) = (0, 0);
        while now_ns < 100 * LONGEST_NS {
            if worth.allows(kind, BATCH_MAX, now_ns) {
                tries += 1;
                for _ in 0..BATCH_MAX {
                    worth.learn(kind, 100, now_ns + 1000);
                }
            }
            now_ns += FIRST_NS / 4;
        }
        assert!((95..115).contains(&tries), "{tries}");
    }

    #[test]
    fn what_pays_goes_at_once_and_alone_if_it_is_large() {
        let (mut worth, now_ns) = (Worth::default(), 5);
        let [small, large] = [1, 2].map(|depth| Kind::new(7, depth));
        worth.learn(small, 10_000, now_ns);
        worth.learn(large, 10_000_000, now_ns);
        assert!(worth.allows(small, BATCH_MAX, now_ns + 1) && worth.allows(large, 1, now_ns + 1));
        assert!(!worth.allows(small, 2, now_ns + 1));
        worth.cost(1_000_000);
        assert!(!worth.allows(small, BATCH_MAX, now_ns + 1));
    }
}
