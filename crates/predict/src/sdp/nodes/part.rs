//! A thread's part in a region.

use super::contention;
use crate::sdp::counts::{Counts, Event, Protocol};
use crate::sdp::recordings::counts;
use fathomp_analyse::{Dsm, Region, State, ThreadShare};

/// A thread's part in a region.
pub(super) struct Part {
    /// In application code and, if that was recorded, on a processor.
    pub(super) own_ns: f64,
    /// Its work, relative to the mean of all threads.
    pub(super) share: f64,
    pub(super) counts: Counts,
    /// Of the diffs in `counts`.
    pub(super) diff_bytes: f64,
    pub(super) dsm: Dsm,
}

impl Part {
    fn new(share: &ThreadShare, protocol: Protocol) -> Self {
        let dsm = share.dsm.unwrap_or_default();
        let ns = |state| share.states[state];
        // Flushes and atomic instructions, which are locks, count as application
        // code; faults are states of their own.
        let locks_ns = ns(State::Lock) + ns(State::Critical);
        let inside_ns = dsm.flush_ns + dsm.lock_ns.saturating_sub(locks_ns);
        let own_ns = ns(State::Compute).saturating_sub(inside_ns) as f64;
        let mut part = Self {
            // Where nodes share processors, having none looks like working.
            own_ns: share
                .counts
                .processor_ns
                .map_or(own_ns, |processor_ns| own_ns.min(processor_ns)),
            share: 1.0,
            counts: counts(&dsm, protocol),
            diff_bytes: 0.0,
            dsm,
        };
        part.diff_bytes = contention::diff_bytes(&part);
        part
    }

    /// Those of a region's threads.
    pub(super) fn all(region: &Region, protocol: Protocol) -> Vec<Self> {
        let shares = region.threads.iter();
        shares.map(|share| Self::new(share, protocol)).collect()
    }

    /// Leaves out what it did with a lock held, which is in the price of handing that on:
    /// of every page that was fetched then, it is taken that it was changed and sent home.
    pub(super) fn forget_locked(&mut self) {
        let locked = self.dsm.fetch_faults_locked as f64;
        let diffs = self.counts.0[Event::DiffToHome as usize];
        for event in [Event::RemoteWrite, Event::Fetch, Event::DiffToHome] {
            let count = &mut self.counts.0[event as usize];
            *count = (*count - locked).max(0.0);
        }
        self.diff_bytes *= self.counts.0[Event::DiffToHome as usize] / diffs.max(1.0);
    }

    /// Whether it has looked for what others write: it flushes more often than it meets
    /// them or locks.
    pub(super) fn looks(&self) -> bool {
        self.dsm.flushes > self.dsm.locks.max(self.dsm.barriers)
    }

    /// Fetches of this thread while its node answers others': of two unequal numbers,
    /// the smaller.
    pub(super) fn shared_fetches(&self) -> f64 {
        let answered = self.dsm.pages_served as f64;
        self.counts.0[Event::Fetch as usize].min(answered)
    }

    /// What leaves caches and page tables cold.
    pub(super) fn interruptions(&self) -> f64 {
        let dsm = &self.dsm;
        (dsm.faults() + dsm.barriers + dsm.locks + dsm.flushes) as f64
    }
}
