//! What threads wait for locks.

use super::beside::Beside;
use super::mva::response;
use super::part::Part;
use super::sync::Sync;
use crate::prices::Protocol;

/// Locks of a region's threads, and what they cost, in microseconds.
#[derive(Debug)]
pub(super) struct Locks {
    threads: f64,
    /// Of all threads, and of the slowest.
    all: f64,
    own: f64,
    /// Of these, those under which a page was fetched.
    all_fetched: f64,
    own_fetched: f64,
    /// From one grant to the next; if a page is passed on too.
    grant_us: f64,
    update_us: f64,
    /// Without anybody else.
    lone_us: f64,
    fetch_us: f64,
    /// Fetches with a lock held are not among those that were counted.
    apart: bool,
    /// Diffs beside those of pages that were fetched with a lock held, which go home when it is
    /// given back: of all threads, and of the slowest.
    all_diffs_us: f64,
    own_diffs_us: f64,
}

impl Locks {
    pub(super) fn new(parts: &[Part], slowest: &Part, beside: &Beside<'_>, sync: &Sync) -> Self {
        let sum = |count: fn(&Part) -> u64| parts.iter().map(|part| count(part) as f64).sum();
        // What locks hand on is little.
        let fetch_us = match (beside.protocol, sync.crowd) {
            (Protocol::Homeless, Some(crowd)) => crowd.fetch.min(beside.prices.fetch_us),
            _ => beside.prices.fetch_us,
        };
        let round_trip_us = 2.0 * beside.cluster.network.latency_us;
        Self {
            threads: parts.len() as f64,
            all: sum(|part| part.dsm.locks),
            own: slowest.dsm.locks as f64,
            all_fetched: sum(|part| part.dsm.fetch_faults_locked),
            own_fetched: slowest.dsm.fetch_faults_locked as f64,
            grant_us: sync.lock,
            update_us: sync
                .crowd
                .map_or(sync.lock + fetch_us, |crowd| crowd.update),
            lone_us: match slowest.orders {
                true => 0.0,
                false => sync.crowd.map_or(round_trip_us, |crowd| crowd.lone),
            },
            fetch_us,
            apart: sync.crowd.is_some(),
            all_diffs_us: 0.0,
            own_diffs_us: 0.0,
        }
    }

    /// Diffs go home when locks are given back. Who gets one next fetches a page, and that waits
    /// at its home until all of them are there.
    pub(super) fn release_diffs(&mut self, all_us: f64, own_us: f64) {
        (self.all_diffs_us, self.own_diffs_us) = (all_us, own_us);
    }

    /// If all threads ask for them at the same time: all one after the other, or those of
    /// the slowest if that is more.
    pub(super) fn together_ns(&self) -> f64 {
        let lone_us = self.own * self.lone_us;
        if !self.apart {
            // Its own are among its fetches.
            let others = self.all_fetched - self.own_fetched;
            return (self.all * self.grant_us + others * self.fetch_us).max(lone_us) * 1e3;
        }
        // With some locks several pages are passed on.
        let updates = self.all_fetched.min(self.all);
        let queued_us = updates * self.update_us
            + (self.all_fetched - updates) * self.fetch_us
            + (self.all - updates) * self.grant_us
            + self.all_diffs_us;
        let alone_us = lone_us + self.own_fetched * self.fetch_us + self.own_diffs_us;
        queued_us.max(alone_us) * 1e3
    }

    /// If each thread asks for them now and then in the course of what takes it
    /// `else_ns`, in which its fetches with a lock held are: as often as it finds another
    /// there, who may be fetching.
    pub(super) fn by_turns_ns(&self, else_ns: f64) -> f64 {
        if self.own <= 0.0 {
            return 0.0;
        }
        let held_us = self.own_fetched * self.fetch_us / self.own;
        let between_us = (else_ns * 1e-3 / self.own - held_us).max(0.0) + self.lone_us;
        let one_us = self.grant_us + self.fetch_us * self.all_fetched / self.all;
        let waits_us = response(self.threads, between_us, one_us) - between_us - one_us;
        self.own * (self.lone_us + waits_us.max(0.0)) * 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three threads with one lock and a fetch under it each, and the slowest with two.
    fn locks() -> Locks {
        Locks {
            threads: 3.0,
            all: 4.0,
            own: 2.0,
            all_fetched: 3.0,
            own_fetched: 1.0,
            grant_us: 10.0,
            update_us: 50.0,
            lone_us: 30.0,
            fetch_us: 40.0,
            apart: true,
            all_diffs_us: 0.0,
            own_diffs_us: 0.0,
        }
    }

    #[test]
    fn who_gets_a_lock_waits_for_what_its_last_holder_has_written() {
        let mut locks = locks();
        assert_eq!(locks.together_ns(), (3.0 * 50.0 + 10.0) * 1e3);
        locks.release_diffs(70.0, 25.0);
        assert_eq!(locks.together_ns(), (3.0 * 50.0 + 10.0 + 70.0) * 1e3);
        // The slowest waits for its own, whoever else has nothing to send.
        locks.release_diffs(150.0, 150.0);
        locks.update_us = 1.0;
        let own_us = 2.0 * 30.0 + 40.0 + 150.0;
        assert_eq!(locks.together_ns(), own_us * 1e3);
    }
}
