//! What threads wait for flags that others set.
//!
//! Threads that pass planes on from one to the next by flags are a pipeline: while it fills
//! and empties, the slowest waits for each of the others, as long as these take for a plane
//! and to pass it on. That is what was recorded with other numbers of nodes, of the thread
//! that came last to the barrier, and as much longer or shorter as the faults
//! and flushes of those threads cost where the time is wanted. Of what it waited, it is known how
//! [late](looks) each saw what it waited for, which is the more the more threads there are; the
//! rest is the same for each. Node 0 passes on for nothing: it
//! orders flushes, so that its own need no message, and looks as often as it likes.

use super::beside::Beside;
use super::looks::Looks;
use super::part::Part;
use fathomp_analysis::{Analysis, Dsm, Region, State};

/// What the slowest thread waits for others in a phase of a recorded region.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    /// How late those that wait see flags, and what it takes beside from each of the others to the
    /// next.
    looks: Looks,
    hop_ns: f64,
    /// How many phases pass on by flags.
    phases: f64,
}

/// What the slowest thread of a region waits for each other in all its phases.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Waits(Vec<Seen>);

impl Waits {
    /// From recordings on other numbers of nodes; from the one whose time is wanted if there
    /// are none. `dearer` is what their faults and flushes cost where the time is wanted, over what
    /// they took.
    pub(super) fn new(
        analysis: &Analysis,
        region: &Region,
        beside: &Beside<'_>,
        dearer: impl Fn(&Analysis, &Region) -> f64,
    ) -> Self {
        let own = [analysis];
        let recordings: &[&Analysis] = match beside.others {
            [] => &own,
            others => others,
        };
        let all = recordings.iter().filter_map(|recording| {
            let mut regions = recording.regions.iter();
            let region = regions.find(|one| one.key == region.key)?;
            let seen = Seen::new(region)?;
            Some(seen.times(dearer(recording, region)))
        });
        Self(all.collect())
    }

    /// What it waits in one of so many phases with flags.
    pub(super) fn in_phase_ns(&self, parts: &[Part], slowest: &Part, phases: usize) -> f64 {
        if !uses_flags(parts) {
            return 0.0;
        }
        let passing = parts.iter().filter(|part| !part.orders).count();
        let others = passing.saturating_sub(usize::from(!slowest.orders));
        let all = self.0.iter();
        let all_ns = all.map(|seen| seen.phases * seen.looks.wave_ns(others, seen.hop_ns));
        let mean_ns = all_ns.sum::<f64>() / self.0.len().max(1) as f64;
        mean_ns / phases.max(1) as f64
    }
}

/// Whether these pass on by flags.
pub(super) fn uses_flags(parts: &[Part]) -> bool {
    parts.iter().any(Part::uses_flags)
}

impl Seen {
    /// What the thread that came last waited for the others in a recorded region; none if there
    /// was no other, or it used no flags.
    fn new(region: &Region) -> Option<Self> {
        let passing = || region.threads.iter().map(|share| share.node != 0);
        let others = passing().filter(|passes| *passes).count().checked_sub(1);
        let others = others.filter(|count| *count > 0)?;
        let phases = region.dsm.as_ref().map_or(&[][..], |dsm| &dsm.phases);
        let waits: Vec<u64> = if phases.is_empty() {
            let waited = last_waited_ns(passing().zip(&region.threads).map(|(passes, share)| {
                let ns = |state| share.states[state];
                let came_ns = ns(State::Compute) + ns(State::Communication);
                (passes, came_ns, share.dsm.unwrap_or_default())
            }));
            waited.into_iter().collect()
        } else {
            let waits = phases.iter().filter_map(|shares| {
                last_waited_ns(passing().zip(shares).map(|(passes, share)| {
                    let dsm = share.dsm;
                    let shared_ns = dsm.fault_ns + dsm.lock_ns + dsm.flush_ns;
                    (passes, share.own_ns.saturating_add(shared_ns), dsm)
                }))
            });
            waits.collect()
        };
        if waits.is_empty() {
            return None;
        }
        let flags = waits.len() as f64;
        let waited_ns = waits.iter().map(|ns| *ns as f64).sum::<f64>() / flags;
        let passing = region.threads.iter().filter(|share| share.node != 0);
        let passing = || passing.clone().filter_map(|share| share.dsm);
        let flushes: f64 = passing().map(|dsm| dsm.flushes as f64).sum();
        let flush_ns: f64 = passing().map(|dsm| dsm.flush_ns as f64).sum();
        let flush_ns = flush_ns / flushes.max(1.0);
        let (looks, hop_ns) = Looks::of_wave(flush_ns, others, waited_ns);
        Some(Self {
            looks,
            hop_ns,
            phases: flags,
        })
    }

    /// The same if faults and flushes take so many times as long.
    fn times(mut self, dearer: f64) -> Self {
        self.looks.flush_ns *= dearer;
        self.hop_ns *= dearer;
        self
    }
}

/// Of threads, whether they pass on, when they came to the barrier, and what they counted: how
/// long the last of those that do had waited. None if none used flags.
fn last_waited_ns(threads: impl Iterator<Item = (bool, u64, Dsm)>) -> Option<u64> {
    let (mut last, mut flags) = ((0, 0), false);
    for (passes, came_ns, dsm) in threads {
        if passes {
            last = last.max((came_ns, dsm.look_ns));
        }
        flags |= Part::of_flags(&dsm);
    }
    flags.then_some(last.1)
}
