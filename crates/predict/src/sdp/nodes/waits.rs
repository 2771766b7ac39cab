//! What threads wait for flags that others set.
//!
//! Threads that pass planes on from one to the next by flags are a pipeline: while it fills
//! and empties, the slowest waits for each of the others, as long as these take for a plane
//! and to pass it on. That is what was recorded with other numbers of nodes, for each thread
//! beside the slowest, and as much longer or shorter as the faults and flushes of those
//! threads cost where the time is wanted. Node 0 passes on for nothing: it orders flushes, so
//! that its own need no message, and looks as often as it likes.

use super::Beside;
use super::part::Part;
use super::sync::Sync;
use crate::sdp::counts::Event;
use fathomp_analyse::{Analysis, Dsm, Region, State, ThreadShare};

/// Time that a thread waited for flags, and was in no flush or fault.
pub(super) fn between_looks_ns(dsm: &Dsm) -> f64 {
    dsm.look_ns.saturating_sub(dsm.look_shared_ns) as f64
}

/// What the slowest thread of a region waits for each other in all its phases.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Waits {
    each_ns: f64,
}

impl Waits {
    /// From recordings on other numbers of nodes; from the one whose time is wanted if there
    /// are none.
    pub(super) fn new(
        analysis: &Analysis,
        region: &Region,
        beside: &Beside<'_>,
        sync: &Sync,
    ) -> Self {
        let own = [analysis];
        let recordings: &[&Analysis] = match beside.others {
            [] => &own,
            others => others,
        };
        let regions = recordings.iter().filter_map(|recording| {
            let mut regions = recording.regions.iter();
            regions.find(|one| one.key == region.key)
        });
        let all: Vec<f64> = regions
            .filter_map(|region| Some(seen_ns(region)? * dearer(region, beside, sync)))
            .collect();
        Self {
            each_ns: all.iter().sum::<f64>() / all.len().max(1) as f64,
        }
    }

    /// What it waits in one of so many phases with flags.
    pub(super) fn in_phase_ns(self, parts: &[Part], slowest: &Part, phases: usize) -> f64 {
        if !uses_flags(parts) {
            return 0.0;
        }
        let passing = parts.iter().filter(|part| !part.orders).count();
        let others = passing.saturating_sub(usize::from(!slowest.orders));
        self.each_ns * others as f64 / phases.max(1) as f64
    }
}

/// Whether these pass on by flags.
pub(super) fn uses_flags(parts: &[Part]) -> bool {
    parts.iter().any(Part::uses_flags)
}

/// What the slowest thread of a recorded region waited for each other, in all; none if there
/// was no other.
fn seen_ns(region: &Region) -> Option<f64> {
    let others = region.threads.iter().filter(|share| share.node != 0);
    let others = others.count().checked_sub(1).filter(|count| *count > 0)?;
    let phases = region.dsm.as_ref().map_or(&[][..], |dsm| &dsm.phases);
    let waited_ns: f64 = if phases.is_empty() {
        waited_ns(region.threads.iter().map(|share| {
            let ns = |state| share.states[state] as f64;
            let own_ns = ns(State::Compute) + ns(State::Communication);
            (own_ns, share.dsm.unwrap_or_default())
        }))
    } else {
        let waits = phases.iter().map(|shares| {
            waited_ns(shares.iter().map(|share| {
                let dsm = share.dsm;
                let shared_ns = dsm.fault_ns + dsm.lock_ns + dsm.flush_ns;
                (share.own_ns as f64 + shared_ns as f64, dsm)
            }))
        });
        waits.sum()
    };
    Some(waited_ns / others as f64)
}

/// Of threads that came to the barrier after so long: how much longer that took the last than
/// the one that was busy longest was busy. Nothing if they used no flags.
fn waited_ns(threads: impl Iterator<Item = (f64, Dsm)>) -> f64 {
    let (mut last_ns, mut busiest_ns, mut flags) = (0.0_f64, 0.0_f64, false);
    for (came_ns, dsm) in threads {
        last_ns = last_ns.max(came_ns);
        busiest_ns = busiest_ns.max(came_ns - dsm.look_ns as f64);
        flags |= Part::of_flags(&dsm);
    }
    if flags { last_ns - busiest_ns } else { 0.0 }
}

/// What the faults and flushes of a recorded region cost, over what they took there.
fn dearer(region: &Region, beside: &Beside<'_>, sync: &Sync) -> f64 {
    let parts = Part::all(region, beside.protocol);
    let cost_ns = |part: &Part| {
        let events = part.counts.cost_ns(beside.prices);
        let diffs = part.counts.0[Event::DiffToHome as usize];
        let diffs_ns = sync.crowd.map_or(0.0, |crowd| {
            crowd.diffs_us(diffs, part.diff_bytes, part.synchronisations()) * 1e3
        });
        let flushes_ns = part.flushes() as f64 * sync.flush * 1e3;
        let all_ns: f64 = events.iter().sum();
        all_ns - events[Event::DiffToHome as usize] + diffs_ns + flushes_ns
    };
    let passing = parts.iter().filter(|part| !part.orders);
    let cost_ns: f64 = passing.map(cost_ns).sum();
    let took_ns = |share: &ThreadShare| {
        let dsm = share.dsm.unwrap_or_default();
        (dsm.fault_ns + dsm.flush_ns).saturating_sub(dsm.look_shared_ns) as f64
    };
    let passing = region.threads.iter().filter(|share| share.node != 0);
    let took_ns: f64 = passing.map(took_ns).sum();
    if took_ns > 0.0 {
        cost_ns / took_ns
    } else {
        1.0
    }
}
