//! What is selected, merged at the limit, or held up by a disk is told exactly all the same.

use crate::common::{Place, Stay, exit, intervals, open, tell, thread};
use fathomp_interposer::{Identity, Mark};
use fathomp_paging::setup::{Setup, TaskNumber, TaskRule, Writer};
use fathomp_paging::{Activity, Counter, Counts, Ending, MarkKind, State, TaskId};
use fathomp_sys::clock;
use fathomp_types::{Clock, Ticks};

/// Stays of 1,000 ticks in turn in each state, each with a fault and two calls.
fn stays(number: usize) -> Vec<Stay> {
    let mut counts = Counts::ZERO;
    counts[Counter::MinorFaults] = 1;
    counts[Counter::IoCalls] = 2;
    let stay = |place: usize| Stay {
        ticks: 1_000,
        state: State::ALL[place % State::COUNT],
        cause: 0,
        counts,
    };
    (0..number).map(stay).collect()
}

fn rule(by: TaskNumber, first: u32, last: u32) -> Option<TaskRule> {
    Some(TaskRule {
        by,
        ranges: vec![(first, last)],
    })
}

/// Records one process with a thread for each part, told by turns if `ranks` come in the
/// middle.
fn record(place: &Place, setup: Setup, threads: usize, rank: Option<u32>) -> Ticks {
    let collecting = place.start(setup);
    let process = open(&place.live);
    let begin = clock::now();
    let mut end = begin;
    for _ in 0..threads {
        let mut sink = thread(process, begin);
        end = tell(&mut sink, begin, &stays(600));
        if let Some(rank) = rank {
            sink.identity(&Identity {
                rank: Some(rank),
                ..Identity::default()
            });
        }
        end = tell(&mut sink, end, &stays(600));
        sink.end(end, Ending::Exit);
    }
    exit(process, end);
    assert_eq!(collecting.finish().problems, Vec::<String>::new());
    begin
}

fn check_totals(place: &Place, tasks: usize) {
    let recording = place.read();
    assert_eq!(recording.tasks().len(), tasks);
    for task in recording.tasks() {
        let totals = recording.totals(task.id).unwrap();
        assert_eq!(totals.stays, 1200);
        assert_eq!(totals.ticks.iter().sum::<u64>(), 1_200_000);
        assert_eq!(totals.counts[Counter::MinorFaults], 1200);
        assert_eq!(totals.counts[Counter::IoCalls], 2400);
    }
}

#[test]
fn only_chosen_threads_are_recorded_and_of_others_the_totals() {
    for writer in ["shared", "message", "task"] {
        let place = Place::new();
        let setup = Setup {
            tasks: rule(TaskNumber::Thread, 1, 2),
            ..place.setup(writer.parse().unwrap())
        };
        record(&place, setup, 4, None);
        check_totals(&place, 4);
        let recording = place.read();
        let selected: Vec<_> = recording
            .tasks()
            .iter()
            .map(|task| recording.is_selected(task.id))
            .collect();
        assert_eq!(selected, [false, true, true, false], "{writer}");
        for (task, selected) in recording.tasks().iter().zip(selected) {
            let expected = if selected { 1200 } else { 0 };
            assert_eq!(intervals(&recording, task.id).len(), expected, "{writer}");
        }
        assert_eq!(
            recording.part().unwrap().to_string(),
            "4_2".replace("4_2", "2_4")
        );
    }
}

#[test]
fn a_rank_that_comes_late_selects_from_then_on() {
    for (rank, recorded) in [(3, 600), (4, 0)] {
        let place = Place::new();
        let setup = Setup {
            tasks: rule(TaskNumber::Rank, 0, 3),
            ..place.setup(Writer::Shared)
        };
        record(&place, setup, 1, Some(rank));
        check_totals(&place, 1);
        let recording = place.read();
        assert_eq!(recording.tasks()[0].rank, Some(rank));
        assert_eq!(recording.is_selected(TaskId(0)), recorded > 0);
        assert_eq!(intervals(&recording, TaskId(0)).len(), recorded);
    }
}

#[test]
fn a_window_counts_from_the_beginning_of_the_recording() {
    let place = Place::new();
    // A tick is a nanosecond here, as far as the settings go.
    let setup = Setup {
        clock: Some(Clock {
            zero: clock::now(),
            nanos_per_tick: 1.0,
            ..Clock::NANOS
        }),
        from_ns: 60_000_000_000,
        to_ns: Some(60_000_200_000),
        ..place.setup(Writer::Shared)
    };
    let zero = setup.clock.unwrap().zero;
    let collecting = place.start(setup);
    let process = open(&place.live);
    let begin = zero + Ticks(60_000_000_000 - 600_000);
    let mut sink = thread(process, begin);
    let end = tell(&mut sink, begin, &stays(1200));
    sink.end(end, Ending::Exit);
    exit(process, end);
    assert_eq!(collecting.finish().problems, Vec::<String>::new());
    check_totals(&place, 1);
    let recording = place.read();
    assert_eq!(intervals(&recording, TaskId(0)).len(), 200);
}

#[test]
fn only_chosen_activities_and_counters_are_recorded() {
    let place = Place::new();
    let setup = Setup {
        activities: vec![Activity::Io],
        counters: vec![Counter::MinorFaults],
        ..place.setup(Writer::Shared)
    };
    record(&place, setup, 1, None);
    let recording = place.read();
    let all = intervals(&recording, TaskId(0));
    assert_eq!(all.len(), 400);
    for stay in all {
        assert_eq!(stay.state.activity, Activity::Io);
        assert_eq!(stay.counts[Counter::MinorFaults], 1);
        assert_eq!(stay.counts[Counter::IoCalls], 0);
        // A thousand ticks, and nothing of the stays that are left out.
        assert!(stay.end - stay.begin <= 2_000);
    }
    let totals = recording.totals(TaskId(0)).unwrap();
    assert_eq!(totals.ticks.iter().sum::<u64>(), 1_200_000);
    assert_eq!(totals.counts[Counter::MinorFaults], 1200);
    // What is not recorded is not in the totals either, rather than in part.
    assert_eq!(totals.counts[Counter::IoCalls], 0);
}

#[test]
fn at_the_limit_intervals_are_merged_and_totals_stay_exact() {
    for writer in ["shared", "message", "task"] {
        let place = Place::new();
        let setup = Setup {
            limit_bytes: 50_000,
            ring_bytes: 8 << 20,
            ..place.setup(writer.parse().unwrap())
        };
        let collecting = place.start(setup);
        let process = open(&place.live);
        let begin = clock::now();
        let mut sink = thread(process, begin);
        let mut at = begin;
        for part in 0..100 {
            at = tell(&mut sink, at, &stays(1000));
            let mark = Mark {
                at,
                kind: MarkKind::Barrier,
                name: part,
            };
            sink.mark(&mark, &mut Counts::default());
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        sink.end(at, Ending::Exit);
        exit(process, at);
        let summary = collecting.finish();
        assert_eq!(summary.problems, Vec::<String>::new());
        let recording = place.read();
        let totals = recording.totals(TaskId(0)).unwrap();
        assert_eq!(totals.stays, 100_000, "{writer}");
        let all = intervals(&recording, TaskId(0));
        assert!(all.len() < 99_000, "{writer}: {} intervals", all.len());
        let sum = |counter| all.iter().map(|stay| stay.counts[counter]).sum::<u64>();
        assert_eq!(all.iter().map(|stay| stay.merged).sum::<u64>(), 100_000);
        assert_eq!(sum(Counter::MinorFaults), 100_000, "{writer}");
        assert_eq!(sum(Counter::IoCalls), 200_000, "{writer}");
        let end = recording.end_note(TaskId(0)).unwrap();
        assert_eq!(end.intervals + end.binned, 100_000, "{writer} {end:?}");
        assert_eq!(end.marks + end.marks_left_out, 100, "{writer} {end:?}");
    }
}

#[test]
fn a_disk_that_takes_nothing_for_a_while_costs_detail_not_totals() {
    let place = Place::new();
    let setup = Setup {
        ring_bytes: 4 << 20,
        ..place.setup(Writer::Shared)
    };
    let collecting = place.start(setup);
    let process = open(&place.live);
    let begin = clock::now();
    let mut sink = thread(process, begin);
    let mut at = tell(&mut sink, begin, &stays(50_000));
    let away = place.root.path().join("away");
    // Long enough for the collector to write, fail, and go on.
    std::thread::sleep(std::time::Duration::from_millis(300));
    std::fs::rename(&place.streams, &away).unwrap();
    for _ in 0..5 {
        at = tell(&mut sink, at, &stays(50_000));
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    std::fs::rename(&away, &place.streams).unwrap();
    sink.end(at, Ending::Exit);
    exit(process, at);
    let summary = collecting.finish();
    let [problem] = &summary.problems[..] else {
        panic!("{:?}", summary.problems);
    };
    assert!(problem.contains("totals are complete"), "{problem}");
    let recording = place.read();
    let all = intervals(&recording, TaskId(0));
    assert_eq!(all.iter().map(|stay| stay.merged).sum::<u64>(), 300_000);
    let faults = all.iter().map(|stay| stay.counts[Counter::MinorFaults]);
    assert_eq!(faults.sum::<u64>(), 300_000);
    assert!(all.len() < 250_000, "{} intervals", all.len());
}

#[test]
fn processes_that_are_not_chosen_only_leave_totals() {
    let place = Place::new();
    let setup = Setup {
        tasks: rule(TaskNumber::Process, 1, 1),
        ..place.setup(Writer::Shared)
    };
    let collecting = place.start(setup);
    for _ in 0..3 {
        let process = open(&place.live);
        let begin = clock::now();
        let mut sink = thread(process, begin);
        let end = tell(&mut sink, begin, &stays(1200));
        sink.end(end, Ending::Exit);
        exit(process, end);
    }
    assert_eq!(collecting.finish().problems, Vec::<String>::new());
    check_totals(&place, 3);
    let recording = place.read();
    let lengths: Vec<_> = recording
        .tasks()
        .iter()
        .map(|task| intervals(&recording, task.id).len())
        .collect();
    assert_eq!(lengths, [0, 1200, 0]);
}
