//! What threads waited for at barriers: for what the last to arrive did meanwhile.
//!
//! At a barrier all wait for the thread that arrives last, so it is that thread's time that
//! they wait for, and what it did with more time than a waiting thread is why that one had
//! to wait. Where the last thread did nothing for longer than the other, which began later
//! then, the wait is divided as all of the last one's time.

use crate::facts::{BarrierWaitCauses, Dsm, PhaseShare, ThreadShare, Times};
use crate::phases::Shares;
use crate::sums::{saturating_sum, to_times};
use crate::time_accounting::{Team, TimeAccount};
use fathomp_trace::state::State;
use std::ops::AddAssign;

/// What there is to do before a barrier, in the order of [`BarrierWaitCauses`]' fields.
const CAUSES: usize = 6;

/// Nanoseconds by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Causes([f64; CAUSES]);

impl AddAssign for Causes {
    fn add_assign(&mut self, more: Self) {
        for (sum, more) in self.0.iter_mut().zip(more.0) {
            *sum += more;
        }
    }
}

impl Causes {
    fn total(&self) -> f64 {
        self.0.iter().sum()
    }

    /// Of `waited_ns`, the same shares; all of it is something else if nothing is known.
    pub(crate) fn finish(&self, waited_ns: u64) -> BarrierWaitCauses {
        let total = self.total();
        let share = |cause: f64| match total > 0.0 {
            true => (cause / total * waited_ns as f64) as u64,
            false => 0,
        };
        let [compute_ns, fault_ns, lock_ns, atomic_ns, flush_ns, _] = self.0.map(share);
        let known = [compute_ns, fault_ns, lock_ns, atomic_ns, flush_ns];
        BarrierWaitCauses {
            compute_ns,
            fault_ns,
            lock_ns,
            atomic_ns,
            flush_ns,
            other_ns: waited_ns.saturating_sub(known.iter().sum()),
        }
    }
}

/// A thread's way to a barrier, or to several.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    /// What it did before.
    did: Causes,
    /// How long it waited there.
    waited_ns: f64,
}

/// What the kernel takes to raise a signal and to return from it, about, on machines of
/// today. A thread's faults are timed inside their handler, so this counts as application
/// code.
const SIGNAL_NS: u64 = 1500;

impl Way {
    /// The same with what the kernel took for faults.
    fn with_signals(mut self, faults: u64) -> Self {
        let [compute, in_faults, ..] = &mut self.did.0;
        let signals_ns = compute.min(faults.saturating_mul(SIGNAL_NS) as f64);
        *compute -= signals_ns;
        *in_faults += signals_ns;
        self
    }

    fn of_phase(share: &PhaseShare) -> Self {
        let dsm = &share.dsm;
        let locks_ns = dsm.lock_ns.saturating_sub(dsm.atomic_ns);
        let did = [
            share.own_ns,
            dsm.fault_ns,
            locks_ns,
            dsm.atomic_ns,
            dsm.flush_ns,
            dsm.ask_ns,
        ];
        Self {
            did: Causes(did.map(|ns| ns as f64)),
            waited_ns: dsm.barrier_ns as f64,
        }
    }

    fn of_states(states: &Times, dsm: &Dsm) -> Self {
        let waited_ns = states.barriers_ns();
        let waited_in_locks_ns = states[State::Lock].saturating_add(states[State::Critical]);
        let locks_ns = dsm.lock_ns.saturating_sub(dsm.atomic_ns);
        // Flushes, questions and what locks took that no wait was told of are in application
        // code.
        let inside_ns = dsm
            .flush_ns
            .saturating_add(dsm.ask_ns)
            .saturating_add(locks_ns.saturating_sub(waited_in_locks_ns));
        let locks_ns = locks_ns.max(waited_in_locks_ns);
        let compute_ns = states[State::Compute].saturating_sub(inside_ns);
        let known_ns = [
            compute_ns,
            dsm.fault_ns,
            locks_ns,
            dsm.atomic_ns,
            dsm.flush_ns,
        ];
        let known_ns = known_ns
            .iter()
            .fold(waited_ns, |sum, ns| sum.saturating_add(*ns));
        let did = [
            compute_ns,
            dsm.fault_ns,
            locks_ns,
            dsm.atomic_ns,
            dsm.flush_ns,
            states.total_ns().saturating_sub(known_ns),
        ];
        Self {
            did: Causes(did.map(|ns| ns as f64)),
            waited_ns: waited_ns as f64,
        }
    }
}

/// Charges what all threads waited to what the last to arrive did.
fn charge(ways: &[Way]) -> Causes {
    let mut causes = Causes::default();
    let last = ways
        .iter()
        .min_by(|a, b| a.waited_ns.total_cmp(&b.waited_ns));
    let Some(last) = last.filter(|_| ways.len() > 1) else {
        return causes;
    };
    let others = &mut causes.0[CAUSES - 1];
    *others += last.waited_ns * ways.len() as f64;
    for way in ways {
        let waited_ns = way.waited_ns - last.waited_ns;
        let mut longer = last.did;
        for (longer, did) in longer.0.iter_mut().zip(way.did.0) {
            *longer = (*longer - did).max(0.0);
        }
        if longer.total() <= 0.0 {
            longer = last.did;
        }
        let total = longer.total();
        if total > 0.0 {
            causes += Causes(longer.0.map(|ns| ns / total * waited_ns));
        } else {
            causes.0[CAUSES - 1] += waited_ns;
        }
    }
    causes
}

/// What is known of one region.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// By execution.
    executions: Causes,
}

impl Known {
    /// Adds what the executions of a process show, by region.
    pub(crate) fn of_executions(
        account: &TimeAccount<'_>,
    ) -> impl Iterator<Item = (usize, Causes)> {
        let in_cluster = account.process.cluster != 0;
        let teams = account.teams.iter().filter(move |_| in_cluster);
        teams.map(|team| (team.region, of_team(account, team)))
    }

    pub(crate) fn add(&mut self, causes: Causes) {
        self.executions += causes;
    }

    /// Why `threads` waited at the barriers of their region. `phases` tell most, if all
    /// threads have left them; then executions, and at last sums.
    pub(crate) fn finish(
        &self,
        phases: &[Shares],
        threads: &[ThreadShare],
    ) -> Option<BarrierWaitCauses> {
        let waited = threads.iter().map(|share| share.states.barriers_ns());
        let waited_ns = saturating_sum(waited);
        if waited_ns == 0 {
            return None;
        }
        let of_all = |phase: &&Shares| phase.len() == threads.len();
        let mut causes = Causes::default();
        for phase in phases.iter().filter(of_all) {
            causes += of_phase(phase);
        }
        if causes.total() <= 0.0 {
            causes = self.executions;
        }
        if causes.total() <= 0.0 {
            causes = of_threads(threads);
        }
        Some(causes.finish(waited_ns))
    }
}

/// Of a phase between two barriers of the nodes.
fn of_phase(shares: &Shares) -> Causes {
    let way = |share: &PhaseShare| Way::of_phase(share).with_signals(share.dsm.faults());
    let ways: Vec<Way> = shares.values().map(way).collect();
    charge(&ways)
}

/// Of an execution, in which there may have been several barriers: as if there had been one.
fn of_team(account: &TimeAccount<'_>, team: &Team) -> Causes {
    let clock = &account.process.clock;
    let way = |member: &usize| {
        let part = &account.parts[*member];
        let states = to_times(&part.states, clock);
        let dsm = Dsm::new(&part.record.dsm_counts(), clock);
        Way::of_states(&states, &dsm).with_signals(dsm.faults())
    };
    let ways: Vec<Way> = team.members.iter().map(way).collect();
    charge(&ways)
}

/// Of executions of which sums are known only.
fn of_threads(threads: &[ThreadShare]) -> Causes {
    let way = |share: &ThreadShare| {
        let dsm = share.dsm.unwrap_or_default();
        Way::of_states(&share.states, &dsm).with_signals(dsm.faults())
    };
    let ways: Vec<Way> = threads.iter().map(way).collect();
    charge(&ways)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(did: [f64; CAUSES], waited_ns: f64) -> Way {
        Way {
            did: Causes(did),
            waited_ns,
        }
    }

    #[test]
    fn a_wait_is_what_the_last_thread_did_for_longer() {
        let last = way([100.0, 40.0, 0.0, 20.0, 0.0, 0.0], 5.0);
        let other = way([100.0, 0.0, 0.0, 0.0, 0.0, 0.0], 65.0);
        let causes = charge(&[other, last]);
        // Both wait while the barrier works; the rest is faults and atomics.
        assert_eq!(causes.0, [0.0, 40.0, 0.0, 20.0, 0.0, 10.0]);
        let found = causes.finish(140);
        assert_eq!((found.fault_ns, found.atomic_ns), (80, 40));
        assert_eq!((found.communication_ns(), found.total_ns()), (120, 140));
    }

    #[test]
    fn who_did_nothing_for_longer_is_waited_for_as_a_whole() {
        let last = way([30.0, 10.0, 0.0, 0.0, 0.0, 0.0], 0.0);
        let other = way([40.0, 10.0, 0.0, 0.0, 0.0, 0.0], 20.0);
        assert_eq!(charge(&[last, other]).0, [15.0, 5.0, 0.0, 0.0, 0.0, 0.0]);
        let nothing = Way::default();
        let waits = way([0.0; CAUSES], 7.0);
        assert_eq!(charge(&[nothing, waits]).0[CAUSES - 1], 7.0);
        assert_eq!(charge(&[waits]), Causes::default());
        assert_eq!(Causes::default().finish(9).other_ns, 9);
    }

    #[test]
    fn signals_of_faults_are_no_application_code() {
        let way = || way([4000.0, 10.0, 0.0, 0.0, 0.0, 0.0], 0.0);
        let did = |faults| way().with_signals(faults).did.0;
        assert_eq!(did(2)[..2], [1000.0, 3010.0]);
        assert_eq!(did(9)[..2], [0.0, 4010.0]);
    }

    #[test]
    fn states_give_the_same_as_counts() {
        let mut states = Times::default();
        states.0.0[State::Compute as usize] = 100;
        states.0.0[State::Communication as usize] = 50;
        states.0.0[State::Lock as usize] = 7;
        states.0.0[State::ExplicitBarrier as usize] = 11;
        states.0.0[State::TaskWait as usize] = 3;
        let dsm = Dsm {
            fault_ns: 30,
            lock_ns: 32,
            atomic_ns: 20,
            flush_ns: 4,
            ..Dsm::default()
        };
        let way = Way::of_states(&states, &dsm);
        // Of the locks, 5 ns were told in no wait.
        assert_eq!(way.did.0, [91.0, 30.0, 12.0, 20.0, 4.0, 3.0]);
        assert_eq!(way.waited_ns, 11.0);
    }
}
