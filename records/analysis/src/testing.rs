//! Recordings made up for tests: of this crate, of prediction, of the report.
//!
//! One tick is a nanosecond. [`Script`] plays a program on a fixed number of
//! threads; [`demo`] is a small program with regions of different character.

use fathomp_trace::model::{Machine, Meta, Process, Recording, Site, SiteKind, Thread};
use fathomp_trace::record::{
    CounterReading, Counters, Instance, Interval, LoopKind, LoopShare, Record,
};
use fathomp_trace::state::{PerState, State};
use fathomp_types::{Clock, Ending, InstanceId, NodeId, SiteId, ThreadId, Ticks};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// When the made-up process starts.
const START: u64 = 1_000_000;

/// What a thread does in a region before it arrives at its end.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// From the fork to its first instruction; for thread 0 too.
    pub lead_ns: u64,
    /// Time per state; waits are recorded as intervals if they are longer than
    /// a microsecond.
    pub states_ns: Vec<(State, u64)>,
    /// Iterations of one dynamic loop, 0 for none.
    pub iterations: u64,
    /// Chunks of it.
    pub chunks: u64,
    /// The longest of these, 0 if it is not known.
    pub longest_chunk_ns: u64,
    /// Tasks created, of these some that wait for others, and tasks run.
    pub tasks: [u64; 3],
    /// The longest task run, 0 if it is not known.
    pub longest_task_ns: u64,
    /// What it waits at barriers behind `single` constructs that it does not run.
    pub single_wait_ns: u64,
}

impl Work {
    /// Application code alone.
    #[must_use]
    pub fn compute(ns: u64) -> Self {
        Self {
            lead_ns: 1_000,
            states_ns: vec![(State::Compute, ns)],
            ..Self::default()
        }
    }

    /// And this much time in `state` afterwards.
    #[must_use]
    pub fn and(mut self, state: State, ns: u64) -> Self {
        self.states_ns.push((state, ns));
        self
    }

    /// Busy with a dynamic loop of so many iterations.
    #[must_use]
    pub fn dynamic(mut self, iterations: u64, chunks: u64) -> Self {
        self.iterations = iterations;
        self.chunks = chunks;
        self
    }

    /// Creates so many tasks, of which so many wait for others, and runs so many.
    #[must_use]
    pub fn tasks(mut self, created: u64, dependent: u64, run: u64) -> Self {
        self.tasks = [created, dependent, run];
        self
    }
}

/// Plays a program and records it.
#[derive(Clone, Debug)]
pub struct Script {
    now: u64,
    next_instance: u64,
    sites: Vec<Site>,
    threads: Vec<Vec<Record>>,
    read_until: Vec<u64>,
    counters: bool,
}

impl Script {
    /// A program with so many threads (at least 1).
    #[must_use]
    pub fn new(threads: u32) -> Self {
        let threads = threads.max(1) as usize;
        Self {
            now: START,
            next_instance: 1,
            sites: vec![Site {
                id: SiteId::SERIAL,
                kind: SiteKind::Serial,
                module: PathBuf::new(),
                call: 0,
                function: 0,
            }],
            threads: vec![Vec::new(); threads],
            read_until: vec![START; threads],
            counters: false,
        }
    }

    /// Also reads counters after every region: a cycle and two instructions a
    /// nanosecond of application code, and a page fault a microsecond.
    #[must_use]
    pub fn with_counters(mut self) -> Self {
        self.counters = true;
        self
    }

    /// Threads.
    #[must_use]
    pub fn threads(&self) -> u32 {
        self.threads.len() as u32
    }

    /// The site of that kind at that address of the made-up program.
    pub fn site(&mut self, kind: SiteKind, address: u64) -> SiteId {
        let known = self
            .sites
            .iter()
            .find(|site| site.kind == kind && site.call == address);
        if let Some(site) = known {
            return site.id;
        }
        let id = SiteId(self.sites.len() as u32);
        self.sites.push(Site {
            id,
            kind,
            module: PathBuf::from("/nonexistent/made-up"),
            call: address,
            function: address + 0x1000,
        });
        id
    }

    /// The first thread computes alone.
    pub fn serial(&mut self, ns: u64) -> &mut Self {
        self.now += ns;
        self
    }

    /// A region at `address`; thread `i` of the team does `work[i]`. A team
    /// larger than the program's threads is cut.
    pub fn region(&mut self, address: u64, work: &[Work]) -> &mut Self {
        let team = &work[..work.len().min(self.threads.len())];
        let site = self.site(SiteKind::Parallel, address);
        let loop_site = self.site(SiteKind::Loop, address + 4);
        let fork = self.now;
        let arrival = |work: &Work| {
            let busy: u64 = work.states_ns.iter().map(|(_, ns)| ns).sum();
            fork + work.lead_ns + busy
        };
        let end = team.iter().map(arrival).max().unwrap_or(fork);
        let instance = InstanceId(self.next_instance);
        self.next_instance += 1;
        for (index, work) in team.iter().enumerate() {
            let arrived = arrival(work);
            let begin = fork + work.lead_ns;
            let mut states = PerState::<Ticks>::default();
            let mut waits = PerState::<u32>::default();
            let mut at = begin;
            for &(state, ns) in &work.states_ns {
                states[state] += Ticks(ns);
                if state != State::Compute && ns > 0 {
                    waits[state] += 1;
                    if ns > 1_000 {
                        self.threads[index].push(Record::Interval(Interval {
                            state,
                            begin: Ticks(at),
                            end: Ticks(at + ns),
                            site: SiteId::SERIAL,
                        }));
                    }
                }
                at += ns;
            }
            let last = if index == 0 { end } else { arrived };
            states[State::ImplicitBarrier] += Ticks(last - arrived);
            if work.chunks > 0 {
                self.threads[index].push(Record::Loop(LoopShare {
                    site: loop_site,
                    instance,
                    kind: LoopKind::Dynamic,
                    ordered: false,
                    chunk: 1,
                    iterations: work.iterations,
                    chunks: work.chunks,
                    begin: Ticks(begin),
                    end: Ticks(arrived),
                    longest: Ticks(work.longest_chunk_ns),
                }));
            }
            self.threads[index].push(Record::from(Instance {
                site,
                instance,
                parent: InstanceId(0),
                merged: 1,
                thread_num: index as u32,
                team_size: team.len() as u32,
                level: 1,
                fork: Ticks(fork),
                begin: Ticks(begin),
                end: Ticks(last),
                busy: Ticks(last - begin),
                states,
                loops: u32::from(work.chunks > 0),
                chunks: work.chunks,
                iterations: work.iterations,
                tasks_created: work.tasks[0],
                tasks_dependent: work.tasks[1],
                tasks_run: work.tasks[2],
                longest_task: Ticks(work.longest_task_ns),
                single_wait: Ticks(work.single_wait_ns),
                waits,
                ..Instance::default()
            }));
            if self.counters {
                let compute = states[State::Compute].0;
                self.threads[index].push(Record::from(CounterReading {
                    since: Ticks(self.read_until[index]),
                    at: Ticks(last),
                    site,
                    counts: Counters {
                        minor_faults: compute / 1_000,
                        voluntary_switches: 1,
                        cycles: Some(compute),
                        instructions: Some(2 * compute),
                        ..Counters::default()
                    },
                }));
                self.read_until[index] = last;
            }
        }
        self.now = end;
        self
    }

    /// The recording.
    #[must_use]
    pub fn build(self) -> Recording {
        let end = self.now;
        let threads = self
            .threads
            .into_iter()
            .enumerate()
            .map(|(index, records)| Thread {
                id: ThreadId(index as u32),
                node: NodeId(0),
                os_id: 4_000 + index as u32,
                begin: Ticks(START),
                end: Ticks(end),
                records,
                dropped: 0,
            })
            .collect();
        recording(threads, self.sites, end, self.counters)
    }
}

/// A recording of one process with these threads and sites, which starts at
/// tick 1,000,000 and ends at `end`.
#[must_use]
pub fn recording(
    threads: Vec<Thread>,
    sites: Vec<Site>,
    end: u64,
    hardware_counters: bool,
) -> Recording {
    let count = threads.len() as u32;
    Recording {
        regions: None,
        meta: Meta {
            format: 1,
            fathomp: "0.1.0".to_owned(),
            command: vec!["./made-up".to_owned(), "100".to_owned()],
            directory: PathBuf::from("/home/user"),
            environment: BTreeMap::from([("OMP_NUM_THREADS".to_owned(), count.to_string())]),
            machine: Machine {
                host: "workstation".to_owned(),
                kernel: "6.1.0".to_owned(),
                cpu_model: "Made-up CPU".to_owned(),
                cpus_online: 8,
                cpus_allowed: (0..8).collect(),
                memory_bytes: 16 << 30,
                governor: Some("performance".to_owned()),
            },
            threads: Some(count),
            nodes: 1,
            started_unix_ns: 1_700_000_000_000_000_000,
            wall_ns: Some(end - START),
            outcome: Some(Ending::Exited(0)),
            ..Meta::default()
        },
        processes: vec![Process {
            details_missing: 0,
            node: NodeId(0),
            cluster: 0,
            pid: 4_000,
            executable: PathBuf::from("/nonexistent/made-up"),
            clock: Clock {
                zero: Ticks(START),
                zero_unix_ns: 1_700_000_000_000_000_000,
                nanos_per_tick: 1.0,
            },
            begin: Ticks(START),
            end: Some(Ticks(end)),
            runtime: "fathomp 0.1.0".to_owned(),
            foreign_recorder: None,
            sites,
            threads,
            hardware_counters,
            stack_overflow: None,
            nodes: Vec::new(),
            sets: Vec::new(),
        }],
        problems: Vec::new(),
    }
}

/// Joins all records of the same thread and region, as the drainer does when
/// a recording grows too large.
pub fn merge(recording: &mut Recording) {
    for thread in recording
        .processes
        .iter_mut()
        .flat_map(|process| &mut process.threads)
    {
        let mut sums: BTreeMap<SiteId, Box<Instance>> = BTreeMap::new();
        for record in thread.records.drain(..) {
            let Record::Instance(instance) = record else {
                continue;
            };
            match sums.get_mut(&instance.site) {
                None => {
                    sums.insert(instance.site, instance);
                }
                Some(sum) => {
                    sum.merged += instance.merged;
                    sum.team_size = sum.team_size.max(instance.team_size);
                    sum.end = sum.end.max(instance.end);
                    sum.busy += instance.busy;
                    for state in State::ALL {
                        sum.states[state] += instance.states[state];
                        sum.waits[state] += instance.waits[state];
                    }
                    sum.loops += instance.loops;
                    sum.chunks += instance.chunks;
                    sum.iterations += instance.iterations;
                }
            }
        }
        thread.records = sums.into_values().map(Record::Instance).collect();
    }
}

/// A program of 80 ms on one thread, on `threads` threads: serial start-up and
/// output, a balanced loop, a triangular loop, a loop with a critical section
/// and one that saturates the memory.
#[must_use]
pub fn demo(threads: u32) -> Recording {
    let p = u64::from(threads.max(1));
    let mut script = Script::new(threads).with_counters();
    script.serial(3_000_000);
    let lead = |thread: u64| 800 + 250 * thread;
    for step in 0..10_u64 {
        let even: Vec<Work> = (0..p)
            .map(|thread| Work {
                lead_ns: lead(thread),
                ..Work::compute(3_000_000 / p + 2_000 * ((thread + step) % 3))
            })
            .collect();
        script.region(0x1200, &even);
        script.serial(20_000);
        // Rows of a triangle dealt in blocks: the last block is the longest.
        let triangle: Vec<Work> = (0..p)
            .map(|thread| Work {
                lead_ns: lead(thread),
                ..Work::compute(2_000_000 * (2 * thread + 1) / (p * p))
            })
            .collect();
        script.region(0x1300, &triangle);
        let critical: Vec<Work> = (0..p)
            .map(|thread| {
                let wait = 40_000 * (p - 1) * (p - 1) / p;
                Work {
                    lead_ns: lead(thread),
                    ..Work::compute(1_200_000 / p)
                }
                .and(State::Critical, wait)
                .and(State::Compute, 100_000 / p)
                .dynamic(1_000 / p, 100 / p)
            })
            .collect();
        script.region(0x1400, &critical);
        let saturation = 1.0 + 0.35 * (p - 1) as f64;
        let stream: Vec<Work> = (0..p)
            .map(|thread| Work {
                lead_ns: lead(thread),
                ..Work::compute((1_000_000.0 * saturation / p as f64) as u64 + 1_000 * thread)
            })
            .collect();
        script.region(0x1500, &stream);
    }
    script.serial(2_000_000);
    script.build()
}
