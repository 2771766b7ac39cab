//! At which barriers to expect tasks of other nodes. Waiting for them costs each node one more
//! question and answer than a barrier does, so nobody waits in regions that have had none for
//! long. A node that does not wait runs no tasks of others at that barrier, and nothing else
//! comes of it: each node decides for itself.

use std::collections::HashMap;

/// Barriers in a row without tasks of any node after which none are expected.
const QUIET: u32 = 16;
/// No more regions are told apart.
const REGIONS_MAX: usize = 1024;

/// By the address of a region's code: barriers since a node had tasks for others.
#[derive(Debug, Default)]
pub(super) struct Habits(HashMap<usize, u32>);

impl Habits {
    /// Whether tasks may come before the next barrier of this region.
    pub(super) fn expects(&self, region: usize) -> bool {
        self.0.get(&region).is_none_or(|quiet| *quiet < QUIET)
    }

    /// The region has passed a barrier, before which a node had tasks or not.
    pub(super) fn learn(&mut self, region: usize, had_tasks: bool) {
        if self.0.len() >= REGIONS_MAX && !self.0.contains_key(&region) {
            self.0.clear();
        }
        let quiet = self.0.entry(region).or_default();
        *quiet = match had_tasks {
            true => 0,
            false => quiet.saturating_add(1),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_without_tasks_are_known_after_a_while_and_forgotten_with_the_first() {
        let mut habits = Habits::default();
        for _ in 0..QUIET {
            assert!(habits.expects(7));
            habits.learn(7, false);
        }
        assert!(!habits.expects(7) && habits.expects(8));
        habits.learn(7, true);
        assert!(habits.expects(7));
    }
}
