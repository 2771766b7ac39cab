//! A program that never ran: facts and predictions for tests and the demo,
//! made from a simple model so that the numbers fit together.
//!
//! A serial part, a balanced loop, an imbalanced loop, a loop with a critical
//! section and a region so short that it costs more than it computes.
#![allow(dead_code, unused_imports, reason = "each user needs some of it")]

use fathomp_analysis::{
    Analysis, Confidence, Counts, Efficiency, Intrusion, LoopKind, LoopRow, LoopShareRow, Machine,
    Place, Problem, ProcessRow, ProgramFacts, Region, Segment, Severity, SiteKind, Spread, State,
    ThreadRow, ThreadShare, Timeline, TimelineThread, Times, Unevenness, WaitRow, Work,
};
use std::collections::BTreeMap;

mod odd;
mod predicted;
mod sources;
pub(crate) use odd::{HOSTILE, extreme, hostile};
pub(crate) use predicted::prediction;
pub(crate) use sources::{machine, sources, with_lines};

const MS: u64 = 1_000_000;

struct Model {
    name: &'static str,
    function: &'static str,
    instances: u64,
    /// Work of one thread alone.
    work_ms: f64,
    /// Longest over mean, less one, for many threads.
    imbalance: f64,
    /// Processor time in critical sections that exclude each other.
    critical_ms: f64,
    overhead_us: f64,
    /// Growth of the work with each thread.
    inflation: f64,
}

const SERIAL_MS: f64 = 310.0;
const MODELS: [Model; 4] = [
    Model {
        name: "solver.c:120",
        function: "relax",
        instances: 400,
        work_ms: 5200.0,
        imbalance: 0.02,
        critical_ms: 0.0,
        overhead_us: 4.0,
        inflation: 0.03,
    },
    Model {
        name: "solver.c:188",
        function: "assemble",
        instances: 40,
        work_ms: 2400.0,
        imbalance: 0.45,
        critical_ms: 0.0,
        overhead_us: 5.0,
        inflation: 0.0,
    },
    Model {
        name: "residual.c:42",
        function: "residual",
        instances: 400,
        work_ms: 900.0,
        imbalance: 0.03,
        critical_ms: 180.0,
        overhead_us: 4.0,
        inflation: 0.01,
    },
    Model {
        name: "vector.c:17",
        function: "axpy",
        instances: 12_000,
        work_ms: 160.0,
        imbalance: 0.05,
        critical_ms: 0.0,
        overhead_us: 6.0,
        inflation: 0.0,
    },
];

/// How thread `thread` of `threads` deviates from the mean, from -1 to 1; the
/// largest deviation is 1.
fn deviation(thread: u32, threads: u32) -> f64 {
    if threads < 2 {
        return 0.0;
    }
    let ramp = f64::from(thread) / f64::from(threads - 1) * 2.0 - 1.0;
    // Deterministic unevenness on top of the ramp.
    let noise = f64::from((thread * 7919 + 13) % 31) / 31.0 - 0.5;
    if thread + 1 == threads {
        1.0
    } else {
        (ramp * 0.7 + noise * 0.3).min(1.0)
    }
}

struct Costs {
    compute_ns: Vec<f64>,
    critical_ns: f64,
    overhead_ns: f64,
    length_ns: f64,
}

impl Model {
    fn costs(&self, threads: u32) -> Costs {
        let p = f64::from(threads);
        let mean_ms = self.work_ms * (1.0 + self.inflation * (p - 1.0)) / p;
        let compute_ns: Vec<f64> = (0..threads)
            .map(|thread| mean_ms * 1e6 * (1.0 + self.imbalance * deviation(thread, threads)))
            .collect();
        let longest = compute_ns.iter().copied().fold(0.0, f64::max);
        let critical_ns = if threads > 1 {
            self.critical_ms * 1e6 * (1.0 - 1.0 / p)
        } else {
            0.0
        };
        let overhead_ns = self.overhead_us * 1e3 * self.instances as f64 * (1.0 + p.log2());
        Costs {
            length_ns: longest + critical_ns + overhead_ns,
            compute_ns,
            critical_ns,
            overhead_ns,
        }
    }

    fn place(&self) -> Place {
        let (file, line) = self.name.split_once(':').unwrap_or((self.name, "1"));
        Place {
            label: format!("{} ({})", self.name, self.function),
            short: self.name.to_owned(),
            file: Some(format!("/home/user/heat/{file}")),
            line: line.parse().ok(),
            column: None,
            function: Some(self.function.to_owned()),
            offset: None,
            module: "/home/user/heat/heat".to_owned(),
            address: 0x1234,
        }
    }

    fn region(&self, threads: u32, wall_ns: f64) -> Region {
        let costs = self.costs(threads);
        let length = costs.length_ns as u64;
        let shares: Vec<ThreadShare> = (0..threads)
            .map(|thread| {
                let mut states = Times::default();
                states[State::Compute] = costs.compute_ns[thread as usize] as u64;
                states[State::Critical] = costs.critical_ns as u64;
                states[State::Overhead] = costs.overhead_ns as u64;
                states[State::ImplicitBarrier] = length.saturating_sub(states.total_ns());
                ThreadShare {
                    process: 0,
                    thread,
                    thread_num: Some(thread),
                    instances: self.instances,
                    states,
                    loops: self.instances,
                    chunks: self.instances * 8,
                    iterations: self.instances * 1000 / u64::from(threads),
                    tasks_created: 0,
                    tasks_run: 0,
                    counts: counts(self.work_ms / f64::from(threads) * 0.4),
                    floats: 0,
                    node: 0,
                    dsm: None,
                }
            })
            .collect();
        let mut states = Times::default();
        for share in &shares {
            states += &share.states;
        }
        let mean = states[State::Compute] as f64 / f64::from(threads);
        let most = costs.compute_ns.iter().copied().fold(0.0, f64::max);
        let each = length / self.instances;
        Region {
            key: format!("{}+{}", self.function, self.name),
            name: self.name.to_owned(),
            place: self.place(),
            kind: SiteKind::Parallel,
            level: 1,
            parents: Vec::new(),
            instances: self.instances,
            team_size_min: threads,
            team_size_max: threads,
            deciders: BTreeMap::new(),
            encountering_threads: 1,
            concurrent: false,
            wall_ns: length,
            outermost_ns: length,
            share: costs.length_ns / wall_ns,
            length: Spread {
                count: self.instances,
                sum_ns: length,
                min_ns: each * 9 / 10,
                median_ns: each,
                max_ns: each * 13 / 10,
                sd_ns: each as f64 * 0.1,
            },
            states,
            inclusive: states,
            imbalance_ns: (most - mean) as u64,
            waited_for: {
                let mut waited = Times::default();
                waited[State::Compute] = (most - mean) as u64;
                waited
            },
            waited_together_ns: 0,
            work: Work::default(),
            lines: None,
            mutexes_taken: 0,
            unevenness: Unevenness::default(),
            efficiency: efficiency(mean, most, costs.length_ns, costs.overhead_ns),
            loops: self.instances * u64::from(threads),
            chunks: self.instances * 8 * u64::from(threads),
            iterations: self.instances * 1000,
            trips: None,
            unknown_iterations: None,
            tasks_created: 0,
            tasks_run: 0,
            tasks_undeferred: 0,
            tasks_dependent: 0,
            single_wait_ns: 0,
            wait_counts: BTreeMap::from([(
                State::ImplicitBarrier,
                self.instances * u64::from(threads),
            )]),
            counts: counts(self.work_ms * 0.4),
            dsm: None,
            barrier_wait_causes: None,
            confidence: if self.instances > 1000 {
                Confidence::Merged
            } else {
                Confidence::Complete
            },
            threads: shares,
        }
    }
}

fn efficiency(mean: f64, most: f64, length: f64, overhead: f64) -> Efficiency {
    let communication = most / length;
    let transfer = 1.0 - overhead / length;
    Efficiency {
        parallel: mean / length,
        load_balance: mean / most,
        communication,
        serialisation: communication / transfer,
        transfer,
        serial_region: 1.0,
        parallel_region: mean / length,
    }
}

fn counts(faults: f64) -> Counts {
    Counts {
        minor_faults: faults.round(),
        major_faults: 0.0,
        voluntary_switches: (faults / 9.0).round(),
        involuntary_switches: (faults / 40.0).round(),
        cycles: Some(faults * 6.1e6),
        instructions: Some(faults * 9.3e6),
        processor_ns: None,
    }
}

fn wall_ns(threads: u32) -> f64 {
    SERIAL_MS * 1e6
        + MODELS
            .iter()
            .map(|model| model.costs(threads).length_ns)
            .sum::<f64>()
}

/// The program with a team of `threads`.
pub(crate) fn analysis(threads: u32) -> Analysis {
    let wall = wall_ns(threads);
    let mut regions: Vec<Region> = MODELS
        .iter()
        .map(|model| model.region(threads, wall))
        .collect();
    regions.sort_by_key(|region| std::cmp::Reverse(region.wall_ns));
    regions.insert(0, serial(threads, wall));
    let mut states = Times::default();
    for region in &regions {
        states += &region.states;
    }
    let useful = states[State::Compute] as f64;
    let p = f64::from(threads);
    let loops = MODELS
        .iter()
        .take(2)
        .map(|model| a_loop(model, threads))
        .collect();
    Analysis {
        mpi: None,
        schema: fathomp_analysis::SCHEMA,
        version: fathomp_analysis::VERSION,
        program: program(threads),
        wall_ns: wall as u64,
        threads,
        team_size: threads,
        states,
        efficiency: Efficiency {
            parallel: useful / (wall * p),
            load_balance: 0.83,
            communication: useful / (wall * p) / 0.83,
            serialisation: useful / (wall * p) / 0.83 / 0.995,
            transfer: 0.995,
            serial_region: 1.0 - SERIAL_MS * 1e6 * (p - 1.0) / (wall * p),
            parallel_region: useful / (wall * p) + SERIAL_MS * 1e6 * (p - 1.0) / (wall * p),
        },
        parallel_time_fraction: 1.0 - SERIAL_MS * 1e6 / wall,
        parallel_work_fraction: 1.0 - SERIAL_MS * 1e6 / useful,
        counts: counts(3600.0),
        dsm: None,
        processes: vec![ProcessRow {
            node: 0,
            pid: 4711,
            executable: "/home/user/heat/heat".to_owned(),
            runtime: "fathomp 0.1.0".to_owned(),
            begin_ns: 0,
            end_ns: wall as u64,
            ended: true,
            threads,
            hardware_counters: true,
        }],
        threads_seen: (0..threads)
            .map(|thread| ThreadRow {
                process: 0,
                thread,
                os_id: 4711 + thread,
                encountering: thread == 0,
                begin_ns: 0,
                end_ns: wall as u64,
                states: Times::default(),
                counts: Counts::default(),
                node: 0,
                dsm: None,
                dropped: 0,
            })
            .collect(),
        crowds: Vec::new(),
        loops,
        waits: vec![WaitRow {
            key: "critical".to_owned(),
            name: "residual.c:51".to_owned(),
            place: Place { label: "residual.c:51 (residual)".to_owned(), ..Place::default() },
            state: State::Critical,
            count: 1312,
            time_ns: 140 * MS * u64::from(threads - 1),
            max_ns: MS,
        }],
        timeline: timeline(&regions, threads, wall),
        regions,
        intrusion: Intrusion {
            events: 61_300,
            event_cost_ns: 31.0,
            cost_ns: 1_900_300,
            fraction: 0.000_7,
            worst_region_fraction: 0.011,
        },
        problems: vec![Problem {
            severity: Severity::Note,
            sentence: "Some of the 12000 executions of region vector.c:17 were recorded as sums to keep the recording small.".to_owned(),
        }],
    }
}

fn serial(threads: u32, wall: f64) -> Region {
    let ns = (SERIAL_MS * 1e6) as u64;
    let shares: Vec<ThreadShare> = (0..threads)
        .map(|thread| {
            let mut states = Times::default();
            states[if thread == 0 {
                State::Compute
            } else {
                State::Idle
            }] = ns;
            ThreadShare {
                process: 0,
                thread,
                thread_num: None,
                instances: 1,
                states,
                loops: 0,
                chunks: 0,
                iterations: 0,
                tasks_created: 0,
                tasks_run: 0,
                counts: counts(if thread == 0 { 210.0 } else { 0.0 }),
                floats: 0,
                node: 0,
                dsm: None,
            }
        })
        .collect();
    let mut states = Times::default();
    for share in &shares {
        states += &share.states;
    }
    Region {
        key: "serial".to_owned(),
        name: "serial part".to_owned(),
        place: Place {
            label: "serial part".to_owned(),
            short: "serial part".to_owned(),
            ..Place::default()
        },
        kind: SiteKind::Serial,
        level: 0,
        wall_ns: ns,
        outermost_ns: 0,
        share: ns as f64 / wall,
        instances: 841,
        length: Spread::default(),
        states,
        inclusive: states,
        trips: None,
        imbalance_ns: 0,
        loops: 0,
        chunks: 0,
        iterations: 0,
        wait_counts: BTreeMap::new(),
        barrier_wait_causes: None,
        confidence: Confidence::Complete,
        threads: shares,
        counts: counts(210.0),
        dsm: None,
        ..MODELS[0].region(threads, wall)
    }
}

fn program(threads: u32) -> ProgramFacts {
    ProgramFacts {
        command: vec!["./heat".to_owned(), "--grid".to_owned(), "2048".to_owned()],
        name: "heat".to_owned(),
        directory: "/home/user/heat".to_owned(),
        environment: BTreeMap::from([
            ("OMP_NUM_THREADS".to_owned(), threads.to_string()),
            ("OMP_PROC_BIND".to_owned(), "close".to_owned()),
        ]),
        machine: Machine {
            host: "workbench".to_owned(),
            kernel: "6.1.0".to_owned(),
            cpu_model: "Example 9000 at 3.1 GHz".to_owned(),
            cpus_online: 16,
            cpus_allowed: (0..16).collect(),
            memory_bytes: 64 << 30,
            governor: Some("performance".to_owned()),
        },
        runtimes: vec!["fathomp 0.1.0".to_owned()],
        sets_threads_at: Vec::new(),
        still_ns: None,
        foreign_recorders: Vec::new(),
        recorded_by: "0.1.0".to_owned(),
        started_unix_ns: 1_795_000_000_000_000_000,
        threads_asked: Some(threads),
        nodes: 1,
        hosts: Vec::new(),
        sharing: None,
        rehearsal: false,
        quota_processors: None,
        throttled_ns: None,
        outcome: Some(fathomp_types::Ending::Exited(0)),
        output: None,
        stack_overflow: None,
        others_used: Some(0.02),
        processor_ns: None,
        pace: None,
    }
}

fn a_loop(model: &Model, threads: u32) -> LoopRow {
    LoopRow {
        key: format!("loop {}", model.name),
        name: model.name.to_owned(),
        place: model.place(),
        regions: Vec::new(),
        kind: LoopKind::Dynamic,
        ordered: false,
        chunk_min: 16,
        chunk_max: 16,
        shares: model.instances * u64::from(threads),
        time_ns: (model.work_ms * 1e6) as u64,
        iterations: 819_200,
        chunks: 51_200,
        load_balance: 1.0 / (1.0 + model.imbalance),
        threads: (0..threads)
            .map(|thread| LoopShareRow {
                process: 0,
                thread,
                shares: model.instances,
                time_ns: (model.work_ms * 1e6) as u64 / u64::from(threads),
                iterations: 819_200 / u64::from(threads) + u64::from(thread) * 16,
                chunks: 51_200 / u64::from(threads) + u64::from(thread),
            })
            .collect(),
    }
}

/// Time steps, each a sequence of all regions.
fn timeline(regions: &[Region], threads: u32, wall: f64) -> Timeline {
    const STEPS: u64 = 24;
    let rows = (0..threads)
        .map(|thread| {
            let mut segments = Vec::new();
            let mut at = 0;
            for step in 0..STEPS {
                for (index, region) in regions.iter().enumerate() {
                    let share = &region.threads[thread as usize];
                    let parts: Vec<(State, u64)> = share
                        .states
                        .iter()
                        .map(|(state, ns)| (state, ns / STEPS))
                        .collect();
                    if index == 4 || step % 5 == 4 {
                        let total: u64 = parts.iter().map(|(_, ns)| ns).sum();
                        let mut mix: Vec<(State, f32)> = parts
                            .iter()
                            .filter(|(_, ns)| *ns > 0)
                            .map(|(state, ns)| (*state, *ns as f32 / total.max(1) as f32))
                            .collect();
                        mix.sort_by(|a, b| b.1.total_cmp(&a.1));
                        segments.push(segment(at, at + total, index, mix));
                        at += total;
                    } else {
                        // Overhead first, waiting last.
                        let order = [
                            State::Overhead,
                            State::Compute,
                            State::Critical,
                            State::Idle,
                            State::ImplicitBarrier,
                        ];
                        for state in order {
                            let ns = parts[state as usize].1;
                            if ns > 0 {
                                segments.push(segment(at, at + ns, index, vec![(state, 1.0)]));
                                at += ns;
                            }
                        }
                    }
                }
            }
            TimelineThread {
                process: 0,
                thread,
                segments,
            }
        })
        .collect();
    Timeline {
        begin_ns: 0,
        end_ns: wall as u64,
        cell_ns: wall as u64 / 2000,
        threads: rows,
        threads_omitted: 0,
    }
}

fn segment(begin_ns: u64, end_ns: u64, region: usize, mix: Vec<(State, f32)>) -> Segment {
    Segment {
        begin_ns,
        end_ns,
        region,
        state: mix.first().map_or(State::Compute, |one| one.0),
        mix,
    }
}

/// What may be concluded from `input`.
pub(crate) fn conclude(input: &fathomp_report::Input<'_>) -> fathomp_diagnosis::Verdict {
    input.conclude(fathomp_diagnosis::Soundness::of(input.analyses))
}
