//! Recordings that are odd, and ones that cannot be.

use fathomp_analysis::testing::{Script, Work, demo, recording};
use fathomp_analysis::{Analysis, Options, SiteKind, State, TimelineBudget, analyse};
use fathomp_trace::dsm::{DsmCount, DsmCounts};
use fathomp_trace::model::{Recording, Site, Thread};
use fathomp_trace::record::{
    Allowed, CounterReading, Counters, Instance, Interval, LoopKind, LoopShare, Record,
};
use fathomp_trace::state::PerState;
use fathomp_types::{InstanceId, NodeId, SiteId, ThreadId, Ticks};
use proptest::prelude::*;
use std::path::PathBuf;

const START: u64 = 1_000_000;

fn facts(recording: &Recording) -> Analysis {
    analyse(recording, &Options::default())
}

fn site(id: u32, kind: SiteKind) -> Site {
    Site {
        id: SiteId(id),
        kind,
        module: PathBuf::from("/nonexistent/program"),
        call: u64::from(id) * 0x100,
        function: 0,
    }
}

fn sites() -> Vec<Site> {
    vec![
        site(0, SiteKind::Serial),
        site(1, SiteKind::Parallel),
        site(2, SiteKind::Parallel),
    ]
}

fn thread(id: u32, begin: u64, end: u64, records: Vec<Record>) -> Thread {
    Thread {
        id: ThreadId(id),
        node: NodeId(0),
        os_id: 100 + id,
        begin: Ticks(START + begin),
        end: Ticks(START + end),
        records,
        dropped: 0,
    }
}

/// (site, instance, parent, thread number, team, level, fork, begin, end)
type Fields = (u32, u64, u64, u32, u32, u32, u64, u64, u64);

fn part(fields: Fields) -> Record {
    let (site, instance, parent, thread_num, team_size, level, fork, begin, end) = fields;
    Record::from(Instance {
        site: SiteId(site),
        instance: InstanceId(instance),
        parent: InstanceId(parent),
        merged: 1,
        thread_num,
        team_size,
        level,
        fork: Ticks(START + fork),
        begin: Ticks(START + begin),
        end: Ticks(START + end),
        busy: Ticks(end - begin),
        ..Instance::default()
    })
}

#[test]
fn nested_regions_are_charged_once() {
    // Thread 0 spends 2,000 of its 10,000 in an inner region with thread 2;
    // thread 1 computes for 6,000.
    let threads = vec![
        thread(
            0,
            0,
            12_000,
            vec![
                part((2, 2, 1, 0, 2, 2, 3_000, 3_100, 5_000)),
                part((1, 1, 0, 0, 2, 1, 1_000, 1_000, 11_000)),
            ],
        ),
        thread(
            1,
            1_000,
            12_000,
            vec![part((1, 1, 0, 1, 2, 1, 1_000, 1_500, 7_000))],
        ),
        thread(
            2,
            3_000,
            12_000,
            vec![part((2, 2, 1, 1, 2, 2, 3_000, 3_200, 4_500))],
        ),
    ];
    let analysis = facts(&recording(threads, sites(), START + 12_000, false));
    let outer = analysis.regions.iter().find(|r| r.level == 1).unwrap();
    let inner = analysis.regions.iter().find(|r| r.level == 2).unwrap();
    assert_eq!(inner.parents, std::slice::from_ref(&outer.key));
    assert_eq!((outer.wall_ns, inner.wall_ns), (10_000, 2_000));
    assert_eq!((outer.outermost_ns, inner.outermost_ns), (10_000, 0));
    assert_eq!(outer.states.total_ns(), 2 * 10_000 - 2_000);
    assert_eq!(outer.states[State::Compute], 8_000 + 5_500);
    assert_eq!(outer.states[State::Overhead], 500);
    assert_eq!(outer.states[State::ImplicitBarrier], 4_000);
    assert_eq!(inner.states.total_ns(), 2 * 2_000);
    assert_eq!(inner.states[State::Overhead], 100 + 200);
    assert_eq!(outer.inclusive.total_ns(), 18_000 + 4_000);
    assert_eq!(inner.inclusive, inner.states);
    // 10,000 with and 5,500 without the inner region.
    assert_eq!(outer.imbalance_ns, 10_000 - 7_750);
    let rows: u64 = analysis.regions.iter().map(|r| r.states.total_ns()).sum();
    assert_eq!(rows, 12_000 + 11_000 + 9_000);
}

#[test]
fn regions_of_two_threads_at_once() {
    let alone = |id, instance, from| {
        thread(
            id,
            0,
            10_000,
            vec![part((1, instance, 0, 0, 1, 1, from, from, from + 6_000))],
        )
    };
    let threads = vec![alone(0, 1, 1_000), alone(1, 2, 3_000)];
    let analysis = facts(&recording(threads, sites(), START + 10_000, false));
    let region = &analysis.regions[1];
    assert!(region.concurrent);
    assert_eq!((region.instances, region.encountering_threads), (2, 2));
    assert_eq!(region.wall_ns, 12_000);
    assert!((region.share - 0.8).abs() < 1e-9);
    assert!((analysis.parallel_time_fraction - 0.8).abs() < 1e-9);
    assert!(analysis.threads_seen[1].encountering);
    assert!(
        analysis
            .problems
            .iter()
            .any(|p| p.sentence.contains("at the same time"))
    );
}

#[test]
fn a_worker_of_overlapping_teams_is_not_charged_twice() {
    // The second team begins before the first one's barrier is known to end.
    let threads = vec![
        thread(0, 0, 20_000, vec![part((1, 1, 0, 0, 2, 1, 0, 0, 10_000))]),
        thread(
            1,
            0,
            20_000,
            vec![
                part((1, 1, 0, 1, 2, 1, 0, 100, 2_000)),
                part((2, 2, 0, 1, 2, 1, 4_000, 5_000, 6_000)),
            ],
        ),
        thread(
            2,
            0,
            20_000,
            vec![part((2, 2, 0, 0, 2, 1, 4_000, 4_000, 8_000))],
        ),
    ];
    let analysis = facts(&recording(threads, sites(), START + 20_000, false));
    for seen in &analysis.threads_seen {
        assert_eq!(seen.states.total_ns(), 20_000);
    }
}

#[test]
fn long_recordings_have_short_timelines() {
    let mut script = Script::new(4);
    for step in 0..20_000_u64 {
        let work: Vec<Work> = (0..4)
            .map(|t| Work::compute(500 + 100 * ((step + t) % 7)))
            .collect();
        script
            .serial(step % 50)
            .region(0x100 * (1 + step % 3), &work);
    }
    let recording = script.build();
    let budget = TimelineBudget {
        segments: 400,
        threads: 3,
    };
    let options = Options {
        timeline: budget,
        ..Options::default()
    };
    let analysis = analyse(&recording, &options);
    let timeline = &analysis.timeline;
    assert_eq!(timeline.threads.len(), 3);
    assert_eq!(timeline.threads_omitted, 1);
    let segments: usize = timeline.threads.iter().map(|t| t.segments.len()).sum();
    assert!(segments <= 403, "{segments}");
    for thread in &timeline.threads {
        let drawn: u64 = thread.segments.iter().map(|s| s.end_ns - s.begin_ns).sum();
        assert_eq!(drawn, analysis.wall_ns);
        for segment in &thread.segments {
            let sum: f32 = segment.mix.iter().map(|(_, f)| f).sum();
            assert!((sum - 1.0).abs() < 0.02, "{segment:?}");
        }
    }
}

#[test]
fn waits_are_drawn_where_they_happened() {
    let mut script = Script::new(1);
    script.region(
        0x100,
        &[Work::compute(10_000)
            .and(State::Critical, 5_000)
            .and(State::Compute, 10_000)],
    );
    let analysis = facts(&script.build());
    let states: Vec<(State, u64)> = analysis.timeline.threads[0]
        .segments
        .iter()
        .map(|s| (s.state, s.end_ns - s.begin_ns))
        .collect();
    assert_eq!(
        states,
        [
            (State::Overhead, 1_000),
            (State::Compute, 10_000),
            (State::Critical, 5_000),
            (State::Compute, 10_000),
        ]
    );
    assert_eq!(analysis.waits[0].time_ns, 5_000);
}

#[test]
fn loops_are_joined_by_place() {
    let analysis = facts(&demo(4));
    assert_eq!(analysis.loops.len(), 1);
    let row = &analysis.loops[0];
    assert_eq!(row.kind, LoopKind::Dynamic);
    assert_eq!((row.iterations, row.chunks), (10_000, 1_000));
    assert_eq!(row.threads.len(), 4);
    assert_eq!(row.regions.len(), 1);
    let region = analysis.region(&row.regions[0]).unwrap();
    assert_eq!(region.iterations, 10_000);
}

fn any_record() -> impl Strategy<Value = Record> {
    let tick = || prop_oneof![START..START + 100_000, any::<u64>()].prop_map(Ticks);
    let instance = (
        (0..6_u32, 0..8_u64, 0..8_u64, 0..4_u32, any::<u32>()),
        (0..4_u32, any::<u32>(), tick(), tick(), tick(), tick()),
        (any::<[u64; 11]>(), any::<u64>(), any::<u64>()),
    )
        .prop_map(|(ids, times, sums)| {
            let (site, instance, parent, thread_num, team_size) = ids;
            let (level, merged, fork, begin, end, busy) = times;
            let (states, chunks, iterations) = sums;
            Record::from(Instance {
                site: SiteId(site),
                instance: InstanceId(instance),
                parent: InstanceId(parent),
                merged: if merged % 3 == 0 { merged } else { 1 },
                thread_num,
                team_size,
                level,
                fork,
                begin,
                end,
                busy,
                states: PerState(std::array::from_fn(|state| {
                    let ticks: u64 = states.get(state).copied().unwrap_or(0);
                    Ticks(ticks >> (ticks % 64))
                })),
                loops: merged,
                chunks,
                iterations,
                tasks_created: chunks,
                tasks_run: iterations,
                tasks_undeferred: 0,
                tasks_dependent: 0,
                single_wait: Ticks(0),
                longest_task: Ticks(0),
                waits: PerState([merged; State::COUNT]),
                mutexes: chunks,
                dsm: Some(Box::new(DsmCounts([chunks; DsmCount::COUNT]))),
                decider: fathomp_trace::record::Decider::default(),
                floats: 0,
                set: instance % 3,
            })
        });
    let interval = (tick(), tick(), 0..6_u32, 0..13_u8).prop_map(|(begin, end, site, state)| {
        Record::Interval(Interval {
            state: State::from_number(state).unwrap_or(State::Lock),
            begin,
            end,
            site: SiteId(site),
        })
    });
    let share = (tick(), tick(), 0..6_u32, any::<u64>()).prop_map(|(begin, end, site, n)| {
        Record::Loop(LoopShare {
            site: SiteId(site),
            instance: InstanceId(n % 8),
            kind: [LoopKind::Guided, LoopKind::Dynamic, LoopKind::Sections][n as usize % 3],
            ordered: n % 2 == 0,
            chunk: n,
            iterations: n,
            chunks: n,
            begin,
            end,
            longest: Ticks(0),
        })
    });
    let counters = (tick(), tick(), 0..6_u32, any::<u64>()).prop_map(|(since, at, site, n)| {
        Record::from(CounterReading {
            since,
            at,
            site: SiteId(site),
            counts: Counters {
                minor_faults: n,
                cycles: Some(n),
                voluntary_switches: n % 3,
                processor_ns: Some(n >> (n % 64)),
                run_delay_ns: (n % 3 > 0).then_some(n >> (n % 61)),
                asleep_ns: Some(n >> (n % 59)),
                allowed: (n % 2 > 0).then(|| Allowed::with(None, n as u32)),
                ..Counters::default()
            },
        })
    });
    prop_oneof![4 => instance, 1 => interval, 1 => share, 1 => counters]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn impossible_recordings_never_panic(
        streams in proptest::collection::vec(
            (any::<u64>(), any::<u64>(), proptest::collection::vec(any_record(), 0..12)),
            0..4,
        ),
        rate in prop_oneof![Just(1.0), Just(0.0), Just(f64::NAN), Just(1e300), Just(-1.0)],
        ended: bool,
    ) {
        let threads = streams
            .into_iter()
            .enumerate()
            .map(|(id, (begin, end, records))| Thread {
                id: ThreadId(id as u32 / 2),
                node: NodeId(0),
                os_id: 1,
                begin: Ticks(begin),
                end: Ticks(end),
                records,
                dropped: begin,
            })
            .collect();
        let mut recording = recording(threads, sites(), START + 100_000, true);
        recording.processes[0].clock.nanos_per_tick = rate;
        if !ended {
            recording.processes[0].end = None;
        }
        let twin = recording.processes[0].clone();
        recording.processes.push(twin);
        let analysis = facts(&recording);
        let json = serde_json::to_string(&analysis).unwrap();
        prop_assert!(json.len() > 100);
        for region in &analysis.regions {
            prop_assert!(region.efficiency.parallel.is_finite());
        }
        for row in &analysis.timeline.threads {
            for pair in row.segments.windows(2) {
                prop_assert!(pair[0].end_ns <= pair[1].begin_ns);
            }
        }
    }
}

#[test]
fn doubts_in_words() {
    let mut recording = demo(4);
    recording
        .problems
        .push("Something the reader saw.".to_owned());
    recording.meta.outcome = Some(fathomp_types::Ending::Signalled(11));
    recording.meta.machine.cpus_allowed = vec![0, 1];
    recording.meta.machine.governor = Some("powersave".to_owned());
    recording.processes[0].hardware_counters = false;
    recording.processes[0].threads[2].records.clear();
    let options = Options {
        event_costs: fathomp_analysis::EventCosts {
            wait_ns: 5_000.0,
            execution_ns: 100_000.0,
            ..Default::default()
        },
        ..Options::default()
    };
    let said: Vec<String> = analyse(&recording, &options)
        .problems
        .into_iter()
        .map(|problem| format!("{:?}: {}", problem.severity, problem.sentence))
        .collect();
    insta::assert_snapshot!(said.join("\n"));
}
