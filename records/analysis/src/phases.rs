//! What sharing memory cost each thread between two barriers of the nodes.

use crate::facts::{Dsm, PhaseShare};
use crate::sites::Sites;
use crate::time_accounting::TimeAccount;
use fathomp_trace::dsm::DsmCount;
use fathomp_trace::record::{Phase, Record};
use fathomp_types::{Clock, InstanceId, Ticks};
use std::collections::BTreeMap;

/// What `phase` says of its thread.
fn share_of(phase: &Phase, last: bool, clock: &Clock) -> PhaseShare {
    let shared = [
        DsmCount::FaultTicks,
        DsmCount::LockTicks,
        DsmCount::FlushTicks,
        DsmCount::BarrierTicks,
        DsmCount::AskTicks,
    ];
    let shared = shared
        .iter()
        .fold(0_u64, |sum, count| sum.saturating_add(phase.dsm[*count]));
    let length = phase.end.since(phase.begin).0;
    PhaseShare {
        own_ns: clock.span(Ticks(length.saturating_sub(shared))).0,
        dsm: Dsm::new(&phase.dsm, clock),
        last,
    }
}

/// Parts in one phase, by process and index of the thread.
pub(crate) type Shares = BTreeMap<(usize, usize), PhaseShare>;

/// Phases of each region in a process, in the order of time. Of executions that not all
/// threads have left the same number of phases of, there are none.
pub(crate) fn find(
    account: &TimeAccount<'_>,
    process: usize,
    sites: &Sites,
) -> BTreeMap<usize, Vec<Shares>> {
    let mut executions: BTreeMap<(usize, InstanceId), BTreeMap<usize, Vec<&Phase>>> =
        BTreeMap::new();
    for (thread, stream) in account.process.threads.iter().enumerate() {
        for record in &stream.records {
            if let Record::Phase(phase) = record {
                let key = (sites.region(process, phase.site), phase.instance);
                let threads = executions.entry(key).or_default();
                threads.entry(thread).or_default().push(phase);
            }
        }
    }
    let mut most: BTreeMap<usize, usize> = BTreeMap::new();
    for ((region, _), threads) in &executions {
        let most = most.entry(*region).or_default();
        *most = threads.len().max(*most);
    }
    let mut whole: Vec<_> = executions
        .into_iter()
        .filter(|((region, _), threads)| {
            let mut lengths = threads.values().map(Vec::len);
            let first = lengths.next();
            threads.len() == most[region] && lengths.all(|length| Some(length) == first)
        })
        .collect();
    whole.sort_by_key(|(_, threads)| threads.values().map(|phases| phases[0].begin).min());
    let mut found: BTreeMap<usize, Vec<Shares>> = BTreeMap::new();
    for ((region, _), threads) in whole {
        let all = found.entry(region).or_default();
        let first = all.len();
        for (thread, phases) in threads {
            let count = phases.len();
            for (number, phase) in phases.into_iter().enumerate() {
                if all.len() == first + number {
                    all.push(Shares::new());
                }
                let share = share_of(phase, number + 1 == count, &account.process.clock);
                all[first + number].insert((process, thread), share);
            }
        }
    }
    found
}

/// The same, of each of these threads; those that took no part had nothing to do.
pub(crate) fn of_threads<'a>(
    phases: &[Shares],
    threads: impl Iterator<Item = &'a (usize, usize)> + Clone,
) -> Vec<Vec<PhaseShare>> {
    let part = |phase: &Shares, thread| phase.get(thread).copied().unwrap_or_default();
    phases
        .iter()
        .map(|phase| threads.clone().map(|thread| part(phase, thread)).collect())
        .collect()
}
