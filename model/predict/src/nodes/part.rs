//! A thread's part in a region, or in a phase of one.

use super::diffs::Diffs;
use super::messages::{MESSAGE_BYTES, PAGE_BYTES, WHOLE_DIFF_BYTES};
use crate::counts::counts;
use crate::prices::{Counts, Event, Protocol};
use fathomp_analysis::{Dsm, PhaseShare, Region, State, ThreadShare};

/// A diff of one changed byte, and one in which every byte changed.
const DIFF_BYTES: [f64; 2] = [17.0, WHOLE_DIFF_BYTES];

/// A thread's part in a region, or in a phase: what lies between two barriers.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// In application code and, if that was recorded, on a processor.
    pub(super) own_ns: f64,
    /// Its node gives all flushes their order, and need not ask for that.
    pub(super) orders: bool,
    /// What comes next begins at node 0, where all have met before.
    pub(super) last: bool,
    /// Its work, relative to the mean of all threads in the whole region.
    pub(super) share: f64,
    pub(super) counts: Counts,
    /// Those in `counts`.
    pub(super) diffs: Diffs,
    pub(super) dsm: Dsm,
}

impl Part {
    fn new(own_ns: f64, dsm: Dsm, protocol: Protocol) -> Self {
        let mut part = Self {
            own_ns,
            orders: false,
            last: true,
            share: 0.0,
            counts: counts(&dsm, protocol),
            diffs: Diffs::default(),
            dsm,
        };
        part.diffs = sent_home(&part);
        let fetches = &mut part.counts.0[Event::Fetch as usize];
        *fetches = (*fetches - part.dsm.fetch_faults_looking as f64).max(0.0);
        part
    }

    fn whole(share: &ThreadShare, protocol: Protocol, emulated: bool) -> Self {
        let dsm = share.dsm.unwrap_or_default();
        let ns = |state| share.states[state];
        // Flushes, questions and, in older recordings, atomic instructions, which are locks,
        // count as application code; faults and atomic instructions are states of their own.
        let locks_ns = ns(State::Lock) + ns(State::Critical) + dsm.atomic_ns;
        let inside_ns = dsm.flush_ns + dsm.ask_ns + dsm.lock_ns.saturating_sub(locks_ns);
        let own_ns = ns(State::Compute).saturating_sub(inside_ns) as f64;
        // Where nodes share processors, having none looks like working.
        let processor_ns = share.counts.processor_ns.filter(|_| !emulated);
        let own_ns = processor_ns.map_or(own_ns, |processor_ns| own_ns.min(processor_ns));
        let own_ns = (own_ns - between_looks_ns(&dsm)).max(0.0);
        Self::new(own_ns, dsm, protocol)
    }

    /// Those of a region's threads, in a recording of emulated time or not.
    pub(super) fn all(region: &Region, protocol: Protocol, emulated: bool) -> Vec<Self> {
        let shares = region.threads.iter();
        let parts = shares.map(|share| Self {
            orders: share.node == 0,
            ..Self::whole(share, protocol, emulated)
        });
        parts.collect()
    }

    /// The same from barrier to barrier, and what is left. One phase where it is not known, or
    /// means nothing: outside of regions, where one thread works, and where threads look for what
    /// others write, and it was not recorded when.
    pub(super) fn phases(region: &Region, protocol: Protocol, emulated: bool) -> Vec<Vec<Self>> {
        let whole = Self::all(region, protocol, emulated);
        let known = region.dsm.as_ref().map_or(&[][..], |dsm| &dsm.phases);
        if known.is_empty() || region.level == 0 || Self::look(&whole) {
            return vec![whole];
        }
        let mut phases: Vec<Vec<Self>> = Vec::with_capacity(known.len() + 1);
        phases.resize_with(known.len() + 1, Vec::new);
        for (thread, whole) in whole.into_iter().enumerate() {
            let shares = known.iter().map(|phase| phase.get(thread).copied());
            let shares: Vec<PhaseShare> = shares.map(Option::unwrap_or_default).collect();
            whole.divide(&shares, protocol, &mut phases);
        }
        if phases
            .last()
            .is_some_and(|rest| rest.iter().all(Self::is_idle))
        {
            phases.pop();
        }
        phases
    }

    /// Adds what a thread did in each phase, and at last what is left, to `phases`.
    fn divide(self, shares: &[PhaseShare], protocol: Protocol, phases: &mut [Vec<Self>]) {
        let mut known = Dsm::default();
        shares.iter().for_each(|share| known += &share.dsm);
        let own_ns =
            |share: &PhaseShare| (share.own_ns as f64 - between_looks_ns(&share.dsm)).max(0.0);
        let all_ns: f64 = shares.iter().map(own_ns).sum();
        // Of its time, as much belongs to these phases as they have of its barriers.
        let covered = known.barriers as f64 / self.dsm.barriers.max(1) as f64;
        let covered_ns = self.own_ns * covered.min(1.0);
        let scale = if all_ns > 0.0 {
            covered_ns / all_ns
        } else {
            0.0
        };
        let left_ns = self.own_ns - all_ns * scale;
        let rest = PhaseShare {
            own_ns: 0,
            dsm: self.dsm.less(&known),
            last: true,
        };
        let scaled = shares.iter().map(|share| (own_ns(share) * scale, share));
        let parts = scaled.chain([(left_ns, &rest)]);
        for (phase, (own_ns, share)) in phases.iter_mut().zip(parts) {
            phase.push(Self {
                orders: self.orders,
                last: share.last,
                ..Self::new(own_ns, share.dsm, protocol)
            });
        }
    }

    /// Whether there is nothing in it that has a price.
    fn is_idle(&self) -> bool {
        let counted = self.counts.0.iter().sum::<f64>() + self.interruptions();
        counted <= 0.0 && self.own_ns < 1.0
    }

    /// Leaves out what it did with a lock held, which is in the price of handing that on:
    /// of every page that was fetched then, it is taken that it was changed and sent home.
    pub(super) fn forget_locked(&mut self) {
        let locked = self.dsm.fetch_faults_locked as f64;
        let all = self.diffs;
        for event in [Event::RemoteWrite, Event::Fetch, Event::DiffToHome] {
            let count = &mut self.counts.0[event as usize];
            *count = (*count - locked).max(0.0);
        }
        let number = self.counts.0[Event::DiffToHome as usize];
        let left = number / all.number.max(1.0);
        self.diffs = Diffs {
            number,
            bytes: all.bytes * left,
            runs: all.runs * left,
        };
    }

    /// Whether it passes on to others by flags, or waits for theirs: it flushes more often than
    /// it meets them or locks.
    pub(super) fn uses_flags(&self) -> bool {
        Self::of_flags(&self.dsm)
    }

    /// The same of what a thread counted.
    pub(super) fn of_flags(dsm: &Dsm) -> bool {
        dsm.flushes.saturating_sub(dsm.looks) > dsm.locks.max(dsm.barriers)
    }

    /// Whether these wait for flags, and it was not recorded when they did: some of their
    /// flushes are looks.
    pub(super) fn look<'a>(parts: impl IntoIterator<Item = &'a Self> + Clone) -> bool {
        let recorded = parts.clone().into_iter().any(|part| part.dsm.looks > 0);
        !recorded && parts.into_iter().any(Self::uses_flags)
    }

    /// Flushes that are not looks.
    pub(super) fn flushes(&self) -> u64 {
        self.dsm.flushes.saturating_sub(self.dsm.looks)
    }

    /// Flushes that are not looks, and what else node 0 is asked.
    pub(super) fn questions(&self) -> u64 {
        self.flushes().saturating_add(self.dsm.asks)
    }

    /// All that node 0 is asked for one by one.
    pub(super) fn asks_root(&self) -> u64 {
        self.questions().saturating_add(self.dsm.locks)
    }

    /// Barriers, locks and flushes.
    pub(super) fn synchronisations(&self) -> f64 {
        (self.dsm.barriers + self.dsm.locks + self.flushes()) as f64
    }

    /// What leaves caches and page tables cold.
    pub(super) fn interruptions(&self) -> f64 {
        let faults = self
            .dsm
            .faults()
            .saturating_sub(self.dsm.fetch_faults_looking);
        faults as f64 + self.synchronisations()
    }
}

/// The diffs that a thread's node sent home: what it sent and was no page.
fn sent_home(part: &Part) -> Diffs {
    let dsm = &part.dsm;
    let number = part.counts.0[Event::DiffToHome as usize];
    let messages = [
        dsm.fetch_faults,
        dsm.locks,
        dsm.barriers,
        dsm.flushes,
        dsm.pages_served,
    ];
    let messages: f64 = messages.iter().map(|count| *count as f64).sum();
    let other = messages * MESSAGE_BYTES + dsm.pages_served as f64 * PAGE_BYTES;
    let [least, most] = DIFF_BYTES.map(|bytes| bytes * number);
    Diffs {
        number,
        bytes: (dsm.bytes_sent as f64 - other).clamp(least, most),
        runs: dsm.diff_runs as f64,
    }
}

/// Time that a thread waited for flags, and was in no flush or fault.
pub(super) fn between_looks_ns(dsm: &Dsm) -> f64 {
    dsm.look_ns.saturating_sub(dsm.look_shared_ns) as f64
}

/// Time that a thread was in faults and flushes, but for those in which it waited for flags.
pub(super) fn passing_ns(dsm: &Dsm) -> f64 {
    (dsm.fault_ns + dsm.flush_ns).saturating_sub(dsm.look_shared_ns) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_phases_do_not_hold_is_left() {
        let dsm = |fetch_faults, barriers| Dsm {
            fetch_faults,
            barriers,
            ..Dsm::default()
        };
        let shares = [(300, dsm(7, 1)), (100, dsm(0, 1))];
        let shares = shares.map(|(own_ns, dsm)| PhaseShare {
            own_ns,
            dsm,
            last: false,
        });
        let of = |own_ns, barriers| {
            let mut phases = vec![Vec::new(), Vec::new(), Vec::new()];
            let whole = Part::new(own_ns, dsm(10, barriers), Protocol::Home);
            whole.divide(&shares, Protocol::Home, &mut phases);
            let parts = phases.iter().map(|phase: &Vec<Part>| &phase[0]);
            parts
                .map(|part| (part.own_ns, part.dsm.fetch_faults, part.is_idle()))
                .collect::<Vec<_>>()
        };
        // Half of the barriers are not known: half of the time belongs there.
        assert_eq!(
            of(1600.0, 4),
            [(600.0, 7, false), (200.0, 0, false), (800.0, 3, false)]
        );
        assert_eq!(of(400.0, 2)[2], (0.0, 3, false));
    }
}
