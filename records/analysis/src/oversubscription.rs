//! More threads at work than processors they may run on: of the whole program, or
//! of threads that were bound to a few of them.

use crate::facts::Oversubscription;
use crate::facts::processors::machine_of;
use crate::sums::relative;
use crate::time_accounting::TimeAccount;
use fathomp_trace::model::{Machine, Meta};
use fathomp_trace::record::{Allowed, Record};
use fathomp_trace::state::State;
use std::collections::BTreeMap;

/// Threads that were at work together for less than this part of the time in which
/// any was do not crowd each other.
const AWHILE: f64 = 0.05;

/// Threads that waited for processors for less than this part of the program's time, on
/// each processor, did not need more of them.
const SCARCE: f64 = 0.02;

/// Threads that may run on the same processors.
#[derive(Default)]
struct Group {
    /// Begins (+1) and ends (-1) of being in a region, in common time.
    edges: Vec<(u64, i64)>,
    ready_ns: u64,
    processor_ns: u64,
    members: u32,
}

impl Group {
    /// The most members that were at work at once for a while.
    fn at_once(&mut self) -> u32 {
        self.edges.sort_unstable();
        let mut time: BTreeMap<i64, u64> = BTreeMap::new();
        let (mut busy, mut since) = (0, 0);
        for &(at, edge) in &self.edges {
            let sum = time.entry(busy).or_default();
            *sum = sum.saturating_add(at.saturating_sub(since));
            since = at;
            busy += edge;
        }
        time.remove(&0);
        let all: u64 = time.values().copied().fold(0, u64::saturating_add);
        let mut at_least = 0_u64;
        for (number, ns) in time.into_iter().rev() {
            at_least = at_least.saturating_add(ns);
            if at_least as f64 > AWHILE * all as f64 {
                return u32::try_from(number).unwrap_or(0);
            }
        }
        0
    }

    fn add_times(&mut self, ready_ns: u64, processor_ns: u64) {
        self.ready_ns = self.ready_ns.saturating_add(ready_ns);
        self.processor_ns = self.processor_ns.saturating_add(processor_ns);
    }

    fn crowd(
        &mut self,
        processors: u32,
        first: Option<u32>,
        wall_ns: u64,
    ) -> Option<Oversubscription> {
        let threads = self.at_once();
        let scarce = self.ready_ns as f64 >= SCARCE * wall_ns as f64 * f64::from(processors);
        (processors > 0 && threads > processors && scarce).then_some(Oversubscription {
            processors,
            first,
            threads,
            members: self.members,
            ready_ns: self.ready_ns,
            processor_ns: self.processor_ns,
        })
    }
}

/// Crowds, that of each host as a whole first. Threads on different hosts do not share
/// processors.
pub(crate) fn find(
    accounts: &[TimeAccount<'_>],
    offsets_ns: &[u64],
    meta: &Meta,
    wall_ns: u64,
) -> Vec<Oversubscription> {
    let mut hosts: BTreeMap<usize, Host<'_>> = BTreeMap::new();
    for (account, offset) in accounts.iter().zip(offsets_ns) {
        for (thread, facts) in account.process.threads.iter().enumerate() {
            let (number, machine) = machine_of(&meta.hosts, &meta.machine, facts.node.0);
            let host = hosts.entry(number).or_insert_with(|| Host::new(machine));
            add(&mut host.whole, account, *offset, thread);
            if let Some(allowed) = allowed(account, thread) {
                let bound = host.bound.entry(allowed).or_default();
                add(bound, account, *offset, thread);
            }
        }
    }
    let mut crowds: Vec<Oversubscription> = Vec::new();
    for host in hosts.values_mut() {
        let processors = host.processors();
        crowds.extend(host.whole.crowd(processors, None, wall_ns));
    }
    for host in hosts.values_mut() {
        let processors = host.processors();
        crowds.extend(host.bound.iter_mut().filter_map(|(allowed, group)| {
            let count = u32::from(allowed.count);
            // All processors: those threads are part of the crowd of the whole.
            let some = count < processors;
            group
                .crowd(count, Some(allowed.first.into()), wall_ns)
                .filter(|_| some)
        }));
    }
    crowds
}

/// Threads on one host.
struct Host<'a> {
    machine: &'a Machine,
    whole: Group,
    bound: BTreeMap<Allowed, Group>,
}

impl<'a> Host<'a> {
    fn new(machine: &'a Machine) -> Self {
        Self {
            machine,
            whole: Group::default(),
            bound: BTreeMap::new(),
        }
    }

    /// Processors that threads could use.
    fn processors(&self) -> u32 {
        let union = self.bound.keys().map(|allowed| u32::from(allowed.count));
        match self.machine.cpus_allowed.is_empty() {
            true => self.machine.processors().max(union.max().unwrap_or(0)),
            false => self.machine.processors(),
        }
    }
}

/// The processors that a thread might run on when that was looked at last.
fn allowed(account: &TimeAccount<'_>, thread: usize) -> Option<Allowed> {
    let records = &account.process.threads[thread].records;
    records.iter().rev().find_map(|record| match record {
        Record::Counters(reading) => reading.counts.allowed,
        _ => None,
    })
}

fn add(group: &mut Group, account: &TimeAccount<'_>, offset_ns: u64, thread: usize) {
    let clock = &account.process.clock;
    let nanos = |ticks| clock.span(ticks).0;
    let mut spans = Vec::new();
    for part in account.of_thread(thread) {
        group.add_times(0, nanos(part.states[State::Compute]));
        if part.outer.is_some() {
            continue;
        }
        let moment = |at| relative(clock, account.begin, at).saturating_add(offset_ns);
        let (from, to) = match part.merged() {
            false => (moment(part.from), moment(part.to)),
            true => (moment(part.begin()), moment(part.record.end)),
        };
        spans.push((from, to));
    }
    group.members += u32::from(!spans.is_empty());
    for (from, to) in united(spans) {
        group.edges.extend([(from, 1), (to, -1)]);
    }
    for record in &account.process.threads[thread].records {
        if let Record::Counters(reading) = record {
            group.add_times(reading.counts.run_delay_ns.unwrap_or(0), 0);
        }
    }
}

/// Spans without what several of them have in common: executions of several regions by turns, each
/// region's recorded as one, are still those of one thread.
fn united(mut spans: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    spans.retain(|(from, to)| to > from);
    spans.sort_unstable();
    let mut united: Vec<(u64, u64)> = Vec::new();
    for (from, to) in spans {
        match united.last_mut() {
            Some((_, end)) if from <= *end => *end = to.max(*end),
            _ => united.push((from, to)),
        }
    }
    united
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_in_regions_by_turns_is_at_work_once() {
        let by_turns = vec![(10, 100), (12, 98), (11, 99), (120, 130), (5, 5)];
        assert_eq!(united(by_turns), [(10, 100), (120, 130)]);
        let mut group = Group::default();
        for _ in 0..2 {
            for (from, to) in united(vec![(10, 100), (12, 98), (11, 99)]) {
                group.edges.extend([(from, 1), (to, -1)]);
            }
        }
        assert_eq!(group.at_once(), 2);
    }
}
