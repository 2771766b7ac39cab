//! Sums are exact in any order, and no input makes the analysis panic or say NaN.

use fathomp_paging::{Cause, Counter, Interval, Mark, MarkKind, State, StateSet, TaskKind};
use fathomp_skyline::testing::{Synthetic, interval};
use fathomp_skyline::{Bins, Memory, ProblemKind, Selection, Settings, Shape, analyse};
use proptest::prelude::*;
use serde_json::Value;

const COUNTERS: [Counter; 3] = [
    Counter::MinorFaults,
    Counter::PageIns,
    Counter::DsmFetchFaults,
];

fn any_interval(end: u64) -> impl Strategy<Value = Interval> {
    let counts = prop_oneof![4 => 0..50_u64, 1 => any::<u64>()];
    (
        0..end,
        0..end / 4,
        0..State::COUNT,
        0..COUNTERS.len(),
        counts,
    )
        .prop_map(|(begin, length, state, counter, count)| {
            let state = State::ALL[state];
            interval(begin, begin + length, state, COUNTERS[counter], count)
        })
}

/// Any intervals, in any order, of up to five tasks.
fn any_recording(counts_max: Option<u64>) -> impl Strategy<Value = Memory> {
    let intervals = prop::collection::vec(any_interval(100_000), 0..40);
    prop::collection::vec(intervals, 1..6).prop_map(move |tasks| {
        let mut memory = Synthetic::new(tasks.len() as u32, 100_000).memory;
        memory.intervals = tasks;
        if let Some(most) = counts_max {
            for interval in memory.intervals.iter_mut().flatten() {
                for counter in COUNTERS {
                    interval.counts[counter] = interval.counts[counter].min(most);
                }
            }
        }
        memory
    })
}

fn settings(bins: usize) -> Settings {
    Settings {
        bins,
        shifts: 5,
        ..Settings::default()
    }
}

/// Whether a document holds a number that is none: serde_json writes null for those, and
/// these fields are optional in the types.
fn has_null_outside_options(value: &Value) -> bool {
    const OPTIONAL: [&str; 12] = [
        "rank",
        "node",
        "openmp_thread",
        "phases",
        "period",
        "correlation",
        "correlation_in_phases",
        "synchronisation",
        "bins",
        "unlike",
        "barrier",
        "wall",
    ];
    match value {
        Value::Null => true,
        Value::Array(values) => values.iter().any(has_null_outside_options),
        Value::Object(fields) => fields.iter().any(|(name, value)| match value {
            Value::Null => !OPTIONAL.contains(&name.as_str()),
            value => has_null_outside_options(value),
        }),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The cumulative profile is the same whatever the order of tasks, and equals what one
    /// task after the other gives, in any split.
    #[test]
    fn sums_do_not_depend_on_order_or_split(
        memory in any_recording(None), bins in 1..200_usize, cut in 0..6_usize, turn in 0..6_usize,
    ) {
        let settings = settings(bins);
        let read = Bins::read(&memory, &settings).unwrap();
        let mut turned = memory.clone();
        let tasks = memory.tasks.len();
        turned.tasks.rotate_left(turn % tasks);
        turned.intervals.rotate_left(turn % tasks);
        let turned = Bins::read(&turned, &settings).unwrap();
        for counter in COUNTERS {
            let selection = Selection::all(counter);
            let sum = read.of_all(selection);
            prop_assert_eq!(&sum, &turned.of_all(selection));
            let (left, right): (Vec<usize>, Vec<usize>) = (0..tasks).partition(|task| *task < cut);
            let parts = read.of_tasks(&left, selection);
            let others = read.of_tasks(&right, selection);
            let joined: Vec<u64> = parts.iter().zip(others).map(|(one, other)| one.saturating_add(other)).collect();
            prop_assert_eq!(&sum, &joined);
            // By states, the same.
            let mut by_state = vec![0_u64; sum.len()];
            for state in State::ALL {
                let states = StateSet::NONE.with(state);
                for (sum, more) in by_state.iter_mut().zip(read.of_all(Selection { counter, states })) {
                    *sum = sum.saturating_add(more);
                }
            }
            prop_assert_eq!(&sum, &by_state);
        }
    }

    /// No count is lost or made up by binning, and finer bins add up to coarser ones.
    #[test]
    fn totals_are_those_of_the_record(memory in any_recording(Some(1_000)), bins in 1..500_usize) {
        let read = Bins::read(&memory, &settings(bins)).unwrap();
        let whole = Bins::read(&memory, &settings(1)).unwrap();
        for counter in COUNTERS {
            let truth: u64 = memory.intervals.iter().flatten().map(|one| one.counts[counter]).sum();
            let selection = Selection::all(counter);
            prop_assert_eq!(read.of_all(selection).iter().sum::<u64>(), truth);
            prop_assert_eq!(whole.of_all(selection), [truth]);
        }
    }

    /// A part of the recording holds what the whole has there.
    #[test]
    fn parts_are_those_of_the_whole(memory in any_recording(Some(1_000)), from in 1..99_u64) {
        let whole = Bins::read(&memory, &settings(100)).unwrap();
        let part = Settings { from_ns: from * 1_000, bins: 100 - from as usize, ..settings(1) };
        let part = Bins::read(&memory, &part).unwrap();
        prop_assert_eq!(part.window().bin_ns, 1_000);
        for counter in COUNTERS {
            let selection = Selection::all(counter);
            prop_assert_eq!(&part.of_all(selection)[..], &whole.of_all(selection)[from as usize..]);
        }
    }

    /// Whatever is recorded, the analysis ends, and every number in it is one.
    #[test]
    fn any_recording_is_analysed(
        memory in any_recording(None),
        marks in prop::collection::vec((0..6_usize, any::<u64>(), 0..4_usize), 0..60),
        lives in prop::collection::vec((any::<u64>(), any::<u64>()), 6),
        strange: bool, bins in 0..5_000_usize,
    ) {
        let mut memory = memory;
        for (task, at, kind) in marks {
            if let Some(marks) = memory.marks.get_mut(task) {
                let at = if strange { at } else { at % 100_000 };
                marks.push(Mark { at, kind: MarkKind::ALL[kind], name: kind as u32 });
            }
        }
        if strange {
            for (task, (begin, end)) in memory.tasks.iter_mut().zip(lives) {
                (task.begin, task.end) = (begin, end);
            }
            if let Some(interval) = memory.intervals[0].first_mut() {
                (interval.begin, interval.end, interval.merged) = (u64::MAX, 0, u64::MAX);
            }
        }
        let settings = Settings { keep_published: true, ..settings(bins) };
        let read = Bins::read(&memory, &settings).unwrap();
        let analysis = analyse(&read, &settings);
        let document = serde_json::to_value(&analysis).unwrap();
        prop_assert!(!has_null_outside_options(&document));
    }
}

#[test]
fn tasks_of_several_hosts_are_named_with_them() {
    let labels = |hosts: [&str; 3]| -> Vec<String> {
        let mut memory = Synthetic::new(3, 1_000).memory;
        for (task, host) in memory.tasks.iter_mut().zip(hosts) {
            task.host = host.to_owned();
        }
        let bins = Bins::read(&memory, &Settings::default()).unwrap();
        bins.tasks().iter().map(|task| task.label.clone()).collect()
    };
    assert_eq!(
        labels(["a", "b", ""]),
        ["rank 0 on a", "rank 1 on b", "rank 2"]
    );
    assert_eq!(labels(["a", "", "a"]), ["rank 0", "rank 1", "rank 2"]);
}

#[test]
fn nothing_is_said_of_nothing() {
    let settings = Settings::default();
    let empty = Memory::default();
    let analysis = analyse(&Bins::read(&empty, &settings).unwrap(), &settings);
    assert!(analysis.findings.is_empty() && analysis.counters.is_empty());
    assert_eq!(analysis.problems[0].kind, ProblemKind::Nothing);

    let idle = Synthetic::new(3, 1_000_000).memory;
    let analysis = analyse(&Bins::read(&idle, &settings).unwrap(), &settings);
    assert!(analysis.findings.is_empty());
    assert_eq!(analysis.problems.len(), 1, "{:?}", analysis.problems);

    let mut instant = Synthetic::new(1, 0).memory;
    let compute = State::ALL[0];
    instant.intervals[0].push(interval(0, 0, compute, Counter::MinorFaults, 7));
    let read = Bins::read(&instant, &settings).unwrap();
    assert_eq!(read.of_all(Selection::all(Counter::MinorFaults)), [7]);
    assert_eq!(read.tasks()[0].bins, 1);
    assert!(analyse(&read, &settings).findings.len() <= 1);
}

#[test]
fn jumps_and_overflows_are_said() {
    let settings = Settings::default();
    let compute = State::ALL[0];
    let mut memory = Synthetic::new(2, 1_000_000).memory;
    memory.intervals[0] = vec![
        interval(500_000, 600_000, compute, Counter::MinorFaults, u64::MAX),
        interval(100_000, 200_000, compute, Counter::MinorFaults, 10),
        interval(700_000, 650_000, compute, Counter::MinorFaults, 10),
    ];
    memory.tasks[1].begin = 800_000;
    memory.intervals[1] = vec![interval(100_000, 200_000, compute, Counter::PageIns, 5)];
    let read = Bins::read(&memory, &settings).unwrap();
    let analysis = analyse(&read, &settings);
    let kinds: Vec<_> = analysis
        .problems
        .iter()
        .map(|problem| problem.kind)
        .collect();
    for kind in [
        ProblemKind::ClockJumps,
        ProblemKind::Saturated,
        ProblemKind::OutsideLife,
    ] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    assert_eq!(analysis.counters[0].total, u64::MAX);
    assert!(analysis.counters[0].saturated);
    assert!(
        analysis.problems[0].sentence.contains("up to 500"),
        "{:?}",
        analysis.problems
    );
}

#[test]
fn a_window_outside_shows_the_whole_and_says_so() {
    let mut made = Synthetic::new(1, 1_000_000);
    made.counts(
        0,
        fathomp_paging::Activity::Compute,
        Counter::MinorFaults,
        [(500_000, 9)],
    );
    let settings = Settings {
        from_ns: 2_000_000,
        ..Settings::default()
    };
    let analysis = analyse(&Bins::read(&made.memory, &settings).unwrap(), &settings);
    assert!(analysis.window.is_whole);
    assert!(
        analysis
            .problems
            .iter()
            .any(|one| one.kind == ProblemKind::WindowOutside)
    );
}

#[test]
fn what_was_only_sampled_takes_no_time_in_any_state() {
    let mut made = Synthetic::new(2, 1_000_000_000);
    let samples = || (1..400).map(|at| (at * 2_000_000, 3));
    for task in 0..2 {
        let computing = fathomp_paging::Activity::Compute;
        made.counts(task, computing, Counter::MinorFaults, samples());
    }
    for interval in &mut made.memory.intervals[1] {
        interval.cause = Cause::UNSEEN;
    }
    let settings = Settings::default();
    let analysis = analyse(&Bins::read(&made.memory, &settings).unwrap(), &settings);
    let [told, untold] = &analysis.tasks[..] else {
        panic!("two tasks");
    };
    assert!(told.recorded_ns() > 0 && untold.recorded_ns() == 0);
    assert_eq!(told.totals, untold.totals);
}

#[test]
fn few_short_intervals_say_well_when() {
    let mut made = Synthetic::new(1, 1_000_000_000);
    let bursts = (1..5).map(|at| (at * 200_000_000, 1_000));
    made.counts(
        0,
        fathomp_paging::Activity::Compute,
        Counter::MinorFaults,
        bursts,
    );
    // A hundredth of the run each.
    let all = std::mem::take(&mut made.memory.intervals[0]);
    made.memory.intervals[0] = all
        .into_iter()
        .filter(|one| !one.counts.is_zero())
        .map(|one| Interval {
            begin: one.end - 10_000_000,
            ..one
        })
        .collect();
    let settings = Settings::default();
    let analysis = analyse(&Bins::read(&made.memory, &settings).unwrap(), &settings);
    let profile = &analysis.counters[0].profiles[0];
    assert_eq!((profile.total, profile.intervals), (4_000, 4));
    assert_eq!(profile.skyline.peaks.len(), 4);
    assert_ne!(profile.shape, Shape::Unknown);
}

#[test]
fn what_is_sampled_of_the_machine_is_no_task_to_compare() {
    let mut made = Synthetic::new(3, 1_000_000_000);
    made.memory.tasks[2].kind = TaskKind::Sampled;
    for task in 0..3 {
        let counter = Counter::SystemSwapIns;
        made.counts(
            task,
            fathomp_paging::Activity::Compute,
            counter,
            (1..400).map(|at| (at * 2_000_000, 3)),
        );
    }
    let settings = Settings::default();
    let analysis = analyse(&Bins::read(&made.memory, &settings).unwrap(), &settings);
    let profile = &analysis.counters[0].profiles[0];
    assert_eq!(profile.tasks.len(), 3);
    assert_eq!(profile.correlation.as_ref().unwrap().tasks.len(), 2);
    assert_eq!(analysis.servers.len(), 1);
}
