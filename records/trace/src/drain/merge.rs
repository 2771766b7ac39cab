//! Sums of executions, for when there is no more room for each of them.

use crate::record::{CounterReading, Counters, Decider, Instance, Record};
use crate::state::State;
use fathomp_types::{SiteId, ThreadId, Ticks};
use std::collections::BTreeMap;

/// Sums that are kept at a time; a program with more regions than that loses
/// executions, and is told so.
const SUMS_MAX: usize = 1 << 16;

/// Which executions are summed: those of a thread in the same role, begun with the same
/// values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    thread: ThreadId,
    site: SiteId,
    thread_num: u32,
    level: u32,
    decider: Decider,
    floats: u8,
    set: u64,
}

/// Sums not yet written.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    instances: BTreeMap<Key, Instance>,
    readings: BTreeMap<ThreadId, CounterReading>,
    /// Executions taken up.
    pub(crate) merged: u64,
    /// Executions that found no room.
    pub(crate) lost: u64,
}

impl Sums {
    /// Takes up an execution.
    pub(crate) fn add_instance(&mut self, thread: ThreadId, instance: &Instance) {
        let key = Key {
            thread,
            site: instance.site,
            thread_num: instance.thread_num,
            level: instance.level,
            decider: instance.decider,
            floats: instance.floats,
            set: instance.set,
        };
        let full = self.instances.len() >= SUMS_MAX;
        match self.instances.get_mut(&key) {
            Some(sum) => absorb(sum, instance),
            None if full => {
                self.lost += u64::from(instance.merged);
                return;
            }
            None => {
                self.instances.insert(key, instance.clone());
            }
        }
        self.merged += u64::from(instance.merged);
    }

    /// Joins a reading of counters with the ones kept back before it, and hands
    /// the whole over. Readings of a thread join seamlessly: each begins where
    /// the previous one ended.
    pub(crate) fn join_reading(
        &mut self,
        thread: ThreadId,
        reading: &CounterReading,
    ) -> CounterReading {
        match self.readings.remove(&thread) {
            Some(before) => CounterReading {
                since: before.since,
                counts: add_counters(&before.counts, &reading.counts),
                ..*reading
            },
            None => *reading,
        }
    }

    /// Keeps a reading back until the next one of its thread or the end.
    pub(crate) fn keep_reading(&mut self, thread: ThreadId, reading: CounterReading) {
        if self.readings.len() < SUMS_MAX {
            self.readings.insert(thread, reading);
        }
    }

    /// Gives the sums out, by thread, and starts anew.
    pub(crate) fn take(&mut self) -> BTreeMap<ThreadId, Vec<Record>> {
        let mut records = BTreeMap::<_, Vec<_>>::new();
        for (key, instance) in std::mem::take(&mut self.instances) {
            let of_thread = records.entry(key.thread).or_default();
            of_thread.push(Record::from(instance));
        }
        for (thread, reading) in std::mem::take(&mut self.readings) {
            let of_thread = records.entry(thread).or_default();
            of_thread.push(Record::from(reading));
        }
        records
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.instances.is_empty() && self.readings.is_empty()
    }
}

/// Adds `other` to `sum`.
fn absorb(sum: &mut Instance, other: &Instance) {
    sum.merged = sum.merged.saturating_add(other.merged);
    sum.team_size = sum.team_size.max(other.team_size);
    if other.begin < sum.begin {
        // Sums carried by the program come after executions that followed them.
        (sum.begin, sum.fork) = (other.begin, other.fork);
        (sum.instance, sum.parent) = (other.instance, other.parent);
    }
    sum.end = sum.end.max(other.end);
    sum.busy += other.busy;
    for state in State::ALL {
        sum.states[state] += other.states[state];
        sum.waits[state] = sum.waits[state].saturating_add(other.waits[state]);
    }
    sum.loops = sum.loops.saturating_add(other.loops);
    sum.chunks = sum.chunks.saturating_add(other.chunks);
    sum.iterations = sum.iterations.saturating_add(other.iterations);
    sum.tasks_created = sum.tasks_created.saturating_add(other.tasks_created);
    sum.tasks_run = sum.tasks_run.saturating_add(other.tasks_run);
    sum.tasks_undeferred = sum.tasks_undeferred.saturating_add(other.tasks_undeferred);
    sum.longest_task = Ticks(0);
    sum.single_wait += other.single_wait;
    sum.tasks_dependent = sum.tasks_dependent.saturating_add(other.tasks_dependent);
    sum.mutexes = sum.mutexes.saturating_add(other.mutexes);
    if let Some(more) = &other.dsm {
        *sum.dsm.get_or_insert_default().as_mut() += more;
    }
}

fn add_counters(a: &Counters, b: &Counters) -> Counters {
    let both = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        // A count that was missing once is not the count of the whole span.
        _ => None,
    };
    Counters {
        minor_faults: a.minor_faults.saturating_add(b.minor_faults),
        major_faults: a.major_faults.saturating_add(b.major_faults),
        voluntary_switches: a.voluntary_switches.saturating_add(b.voluntary_switches),
        involuntary_switches: a
            .involuntary_switches
            .saturating_add(b.involuntary_switches),
        cycles: both(a.cycles, b.cycles),
        instructions: both(a.instructions, b.instructions),
        processor_ns: both(a.processor_ns, b.processor_ns),
        run_delay_ns: both(a.run_delay_ns, b.run_delay_ns),
        asleep_ns: both(a.asleep_ns, b.asleep_ns),
        allowed: b.allowed.or(a.allowed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dsm::DsmCount;
    use fathomp_types::{InstanceId, Ticks};

    fn execution(number: u64) -> Instance {
        let mut instance = Instance {
            site: SiteId(1),
            instance: InstanceId(number),
            merged: 1,
            begin: Ticks(number * 100),
            end: Ticks(number * 100 + 40),
            busy: Ticks(40),
            iterations: 5,
            ..Instance::default()
        };
        instance.states[State::Lock] = Ticks(7);
        instance.waits[State::Lock] = 2;
        instance.dsm.get_or_insert_default()[DsmCount::FetchFaults] = 4;
        instance
    }

    #[test]
    fn sums_are_exact_in_any_order() {
        for order in [[1, 2, 3], [3, 1, 2]] {
            let mut sums = Sums::default();
            for number in order {
                sums.add_instance(ThreadId(0), &execution(number));
            }
            let records = sums.take();
            let [Record::Instance(sum)] = &records[&ThreadId(0)][..] else {
                panic!("{records:?}");
            };
            assert_eq!((sum.merged, sum.busy, sum.iterations), (3, Ticks(120), 15));
            assert_eq!((sum.begin, sum.end), (Ticks(100), Ticks(340)));
            assert_eq!(sum.instance, InstanceId(1));
            assert_eq!(sum.states[State::Lock], Ticks(21));
            assert_eq!(sum.waits[State::Lock], 6);
            assert_eq!(sum.dsm_counts()[DsmCount::FetchFaults], 12);
            assert!(sums.is_empty());
        }
    }

    #[test]
    fn too_many_regions_are_counted() {
        let mut sums = Sums::default();
        for site in 0..SUMS_MAX as u32 + 3 {
            let instance = Instance {
                site: SiteId(site),
                ..execution(1)
            };
            sums.add_instance(ThreadId(0), &instance);
        }
        assert_eq!((sums.merged, sums.lost), (SUMS_MAX as u64, 3));
    }

    #[test]
    fn readings_join() {
        let reading = |since, at, minor_faults| CounterReading {
            since: Ticks(since),
            at: Ticks(at),
            site: SiteId(1),
            counts: Counters {
                minor_faults,
                cycles: Some(10),
                ..Counters::default()
            },
        };
        let mut sums = Sums::default();
        for reading in [reading(0, 10, 1), reading(10, 30, 2)] {
            let joined = sums.join_reading(ThreadId(2), &reading);
            sums.keep_reading(ThreadId(2), joined);
        }
        let records = sums.take();
        let [Record::Counters(sum)] = &records[&ThreadId(2)][..] else {
            panic!("{records:?}");
        };
        assert_eq!((sum.since, sum.at), (Ticks(0), Ticks(30)));
        assert_eq!(sum.counts.minor_faults, 3);
        assert_eq!(sum.counts.cycles, Some(20));
        assert_eq!(sum.counts.instructions, None);
    }
}
