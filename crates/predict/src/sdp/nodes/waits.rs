//! What threads wait for flags that others set.
//!
//! Threads that pass planes on from one to the next by flags are a pipeline: while it fills
//! and empties, the slowest waits for each of the others, as long as these take for a plane
//! and to pass it on. That is what was recorded with other numbers of nodes, of the thread
//! that came last to the barrier, for each other, and as much longer or shorter as the faults
//! and flushes of those threads cost where the time is wanted. Node 0 passes on for nothing: it
//! orders flushes, so that its own need no message, and looks as often as it likes.

use super::Beside;
use super::part::Part;
use super::time::dearer;
use fathomp_analyse::{Analysis, Dsm, Region, State};

/// Time that a thread waited for flags, and was in no flush or fault.
pub(super) fn between_looks_ns(dsm: &Dsm) -> f64 {
    dsm.look_ns.saturating_sub(dsm.look_shared_ns) as f64
}

/// Time that a thread was in faults and flushes, but for those in which it waited for flags.
pub(super) fn passing_ns(dsm: &Dsm) -> f64 {
    (dsm.fault_ns + dsm.flush_ns).saturating_sub(dsm.look_shared_ns) as f64
}

/// What the slowest thread of a region waits for each other in all its phases.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Waits {
    each_ns: f64,
}

impl Waits {
    /// From recordings on other numbers of nodes; from the one whose time is wanted if there
    /// are none.
    pub(super) fn new(analysis: &Analysis, region: &Region, beside: &Beside<'_>) -> Self {
        let own = [analysis];
        let recordings: &[&Analysis] = match beside.others {
            [] => &own,
            others => others,
        };
        let all: Vec<f64> = recordings
            .iter()
            .filter_map(|recording| {
                let mut regions = recording.regions.iter();
                let region = regions.find(|one| one.key == region.key)?;
                Some(seen_ns(region)? * dearer(recording, region, beside))
            })
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

/// What the thread that came last waited for each other in a recorded region, in all; none if
/// there was no other.
fn seen_ns(region: &Region) -> Option<f64> {
    let passing = || region.threads.iter().map(|share| share.node != 0);
    let others = passing().filter(|passes| *passes).count().checked_sub(1);
    let others = others.filter(|count| *count > 0)?;
    let phases = region.dsm.as_ref().map_or(&[][..], |dsm| &dsm.phases);
    let waited_ns: u64 = if phases.is_empty() {
        last_waited_ns(passing().zip(&region.threads).map(|(passes, share)| {
            let ns = |state| share.states[state];
            let came_ns = ns(State::Compute) + ns(State::Communication);
            (passes, came_ns, share.dsm.unwrap_or_default())
        }))
    } else {
        let waits = phases.iter().map(|shares| {
            last_waited_ns(passing().zip(shares).map(|(passes, share)| {
                let dsm = share.dsm;
                let shared_ns = dsm.fault_ns + dsm.lock_ns + dsm.flush_ns;
                (passes, share.own_ns.saturating_add(shared_ns), dsm)
            }))
        });
        waits.sum()
    };
    Some(waited_ns as f64 / others as f64)
}

/// Of threads, whether they pass on, when they came to the barrier, and what they counted: how
/// long the last of those that do had waited. Nothing if none used flags.
fn last_waited_ns(threads: impl Iterator<Item = (bool, u64, Dsm)>) -> u64 {
    let (mut last, mut flags) = ((0, 0), false);
    for (passes, came_ns, dsm) in threads {
        if passes {
            last = last.max((came_ns, dsm.look_ns));
        }
        flags |= Part::of_flags(&dsm);
    }
    if flags { last.1 } else { 0 }
}
