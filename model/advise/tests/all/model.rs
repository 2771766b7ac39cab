//! The model over regions made by hand: what must come out is known.

use fathomp_advise::{
    Advised, Choice, Choosing, Confidence, Demand, Modelled, Profile, Target, Term, Timed, choose,
    doubts, reason, work,
};
use fathomp_predict::machine::{Bandwidth, Cache, ConstructCosts, Machine};
use fathomp_regions::{
    Body, Expr, Known, Loop, LoopId, LoopRole, Sample, Schedule, ScheduleKind, Word,
};
use proptest::prelude::*;

/// Eight cores that get 10, 18 and at most 20 GB/s.
fn machine() -> Target {
    let mut machine = Machine::unmeasured(8);
    machine.cpu_model = "made by hand".to_owned();
    machine.bandwidth = [(1, 10e9), (2, 18e9), (4, 20e9), (8, 20e9)]
        .map(|(threads, bytes_per_s)| Bandwidth {
            threads,
            bytes_per_s,
        })
        .to_vec();
    machine.constructs = [(1, 200.0), (2, 1_000.0), (8, 4_000.0)]
        .map(|(threads, fork_join_ns)| ConstructCosts {
            threads,
            fork_join_ns,
            barrier_ns: fork_join_ns / 2.0,
            dynamic_chunk_ns: 50.0,
            lock_ns: 100.0,
        })
        .to_vec();
    machine.caches = vec![Cache {
        level: 3,
        bytes: 32 << 20,
        line_bytes: 64,
        shared_by: 8,
    }];
    Target::measured(machine, 1)
}

fn expr(text: &str) -> Expr {
    text.parse().unwrap()
}

fn a_loop(parent: Option<u32>, innermost: bool, trips: &str, shared: bool) -> Loop {
    Loop {
        parent: parent.map(LoopId),
        depth: u32::from(parent.is_some()),
        innermost,
        header: 0,
        place: None,
        trips: Known::Known(expr(trips)),
        worksharing: shared.then_some(Schedule {
            kind: ScheduleKind::Static,
            chunk: None,
            total: None,
        }),
        role: LoopRole::Whole,
        entered_if: None,
    }
}

/// What gcc computes for a static share of n iterations: n / threads, one more for the
/// first n % threads.
const SHARE: &str = "(+ (/ (load8 data) threads) (if (< thread (% (load8 data) threads)) 1 0))";
/// The first iteration of that share.
const FIRST: &str = "(+ (* thread (/ (load8 data) threads)) (min thread (% (load8 data) threads)))";

fn body(inner: &str) -> Body {
    Body {
        address: 0x1000,
        loops: vec![
            a_loop(None, false, SHARE, true),
            a_loop(Some(0), true, inner, false),
        ],
        instructions: vec![(None, 10), (Some(LoopId(0)), 5), (Some(LoopId(1)), 20)],
        ..Body::default()
    }
}

fn sample(n: i64) -> Sample {
    Sample {
        body: 0x1000,
        times: 10,
        threads: 1,
        words: vec![Word {
            load: expr("(load8 data)"),
            value: n,
        }],
        ..Sample::default()
    }
}

const AT: [u32; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

fn profile(ms: f64, bytes: Option<f64>, inner: &str, n: i64) -> Profile {
    Profile {
        timed: Some(Timed {
            threads: 1.0,
            wall_ns: ms * 1e6,
            computing_ns: ms * 1e6,
            executions: 10,
            error: 0.01,
            ..Timed::default()
        }),
        work: work(&body(inner), &sample(n), &AT),
        demand: bytes.map(|bytes| Demand {
            bytes: vec![(1, bytes)],
            latency: 0.0,
            footprint: bytes,
            uncertain: 0.1,
        }),
        measured_counts: 1,
        facts: true,
        understood: 1.0,
        ..Profile::default()
    }
}

fn chosen(profile: &Profile) -> Choice {
    choose(profile, &machine(), &Choosing::default(), &[])
}

fn speedup(choice: &Choice, threads: u32) -> f64 {
    let point = choice.points.iter().find(|point| point.threads == threads);
    point.unwrap().speedup
}

#[test]
fn computing_alone_takes_all_cores() {
    let profile = profile(100.0, Some(0.0), "1000", 10_000);
    let choice = chosen(&profile);
    assert_eq!(choice.advised.threads, 8);
    assert!(speedup(&choice, 8) > 7.5, "{choice:?}");
    assert_eq!(choice.confidence, Confidence::High);
    assert_eq!(choice.saturates_at, None);
    let reason = reason(&choice, &profile, &machine());
    assert!(reason.starts_with("All 8 threads are worth it"), "{reason}");
}

#[test]
fn memory_alone_saturates_where_the_machine_does() {
    // One thread takes all the bandwidth that it gets.
    let profile = profile(100.0, Some(1e9), "1000", 10_000);
    let choice = chosen(&profile);
    assert!((3..=4).contains(&choice.advised.threads), "{choice:?}");
    assert!((1.8..2.05).contains(&speedup(&choice, 8)), "{choice:?}");
    assert_eq!(choice.limit.0, Term::Bandwidth);
    assert!(choice.saturates_at.is_some());
    assert!(choice.loss.all < 0.05 && choice.loss.one > 0.8);
    let reason = reason(&choice, &profile, &machine());
    assert!(reason.contains("bandwidth of memory"), "{reason}");
    assert!(reason.contains("10.0 GB/s"), "{reason}");
}

#[test]
fn triangular_loops_are_known_before_they_run() {
    // The inner loop runs i times in iteration i of the whole loop.
    let inner = format!("(+ {FIRST} i0)");
    let work = work(&body(&inner), &sample(1_000), &AT).unwrap();
    for threads in [2, 4, 8] {
        let division = work.division(threads).unwrap();
        // The last share of a triangle is (2p - 1) / p^2 of it.
        let p = f64::from(threads);
        let expected = (2.0 * p - 1.0) / (p * p);
        assert!(
            (division.largest - expected).abs() < 0.02 * expected,
            "{threads}: {division:?}, not {expected}"
        );
        assert!((division.all - 1.0).abs() < 0.02, "{division:?}");
    }
    let choice = chosen(&profile(100.0, Some(0.0), &inner, 1_000));
    let expected = 64.0 / 15.0;
    assert!((speedup(&choice, 8) / expected - 1.0).abs() < 0.05);
    assert_eq!(choice.limit.0, Term::Imbalance);
}

#[test]
fn few_pieces_stop_where_they_run_out() {
    let profile = profile(100.0, Some(0.0), "100000", 3);
    let choice = chosen(&profile);
    assert_eq!(choice.advised.threads, 3);
    assert_eq!(choice.limit.0, Term::Pieces);
    assert!((speedup(&choice, 8) - 3.0).abs() < 0.1);
    let reason = reason(&choice, &profile, &machine());
    assert!(reason.contains("3 pieces"), "{reason}");
}

#[test]
fn what_every_thread_executes_does_not_divide() {
    let mut body = body("1000");
    // As many iterations again, outside the divided loop.
    body.loops
        .push(a_loop(None, true, "(* 1000 (load8 data))", false));
    body.instructions.push((Some(LoopId(2)), 20));
    let work = work(&body, &sample(10_000), &AT);
    let profile = Profile {
        work,
        ..profile(100.0, Some(0.0), "1000", 10_000)
    };
    let choice = chosen(&profile);
    assert_eq!(choice.limit.0, Term::Serial);
    assert!((speedup(&choice, 8) - 1.0 / (0.5 + 0.5 / 8.0)).abs() < 0.1);
}

#[test]
fn small_executions_stay_with_one_thread_and_large_ones_do_not() {
    // 2 us in 80 iterations of 25.
    let profile = profile(0.002, Some(0.0), "25", 80);
    let choice = chosen(&profile);
    assert_eq!(choice.limit.0, Term::Overhead);
    assert!(choice.steps.len() >= 2, "{:?}", choice.steps);
    assert_eq!(choice.steps[0].from_trips, 0);
    assert_eq!(choice.steps[0].threads, 1);
    assert_eq!(choice.steps.last().unwrap().threads, 8);
    assert!(
        choice
            .steps
            .is_sorted_by(|a, b| a.from_trips < b.from_trips)
    );
    // One thread is given up where two save more than their fork costs: 1 us of 1 ns trips.
    let second = choice.steps[1].from_trips;
    assert!((1_200..4_000).contains(&second), "{:?}", choice.steps);
}

#[test]
fn without_a_scan_much_is_open() {
    let profile = Profile {
        work: None,
        demand: None,
        facts: false,
        understood: 0.0,
        ..profile(100.0, None, "1", 1)
    };
    let choice = chosen(&profile);
    let last = choice.points.last().unwrap();
    assert!(last.high / last.low > 1.5, "{last:?}");
    assert_ne!(choice.confidence, Confidence::High);
    assert!(
        doubts(&choice, &profile, &machine())
            .iter()
            .any(|one| one.contains("not scanned"))
    );
    assert_eq!(choice.steps.len(), 1);
}

#[test]
fn without_a_recording_advice_is_relative_and_says_so() {
    let profile = Profile {
        timed: None,
        ..profile(1.0, Some(1e9), "1000", 10_000)
    };
    let choice = chosen(&profile);
    assert_eq!(choice.confidence, Confidence::Low);
    assert!((choice.points[0].time - 1.0).abs() < 1e-9);
    assert!(doubts(&choice, &profile, &machine())[0].contains("not recorded"));
}

#[test]
fn a_recording_with_several_threads_is_reduced_to_one() {
    // Eight threads of a loop that memory limits: 20 GB/s for 1 GB.
    let alone = chosen(&profile(100.0, Some(1e9), "1000", 10_000));
    let mut crowd = profile(100.0, Some(1e9), "1000", 10_000);
    crowd.timed = Some(Timed {
        threads: 8.0,
        wall_ns: 50e6,
        computing_ns: 8.0 * 50e6,
        ..crowd.timed.unwrap()
    });
    let crowd = chosen(&crowd);
    for threads in [1, 2, 4, 8] {
        let time = |choice: &Choice| {
            let point = choice.points.iter().find(|one| one.threads == threads);
            point.unwrap().time
        };
        assert!(
            (time(&crowd) / time(&alone) - 1.0).abs() < 0.15,
            "{threads}"
        );
    }
}

#[test]
fn more_threads_than_one_are_only_advised_where_they_gain() {
    // The price of a fork about eats the gain, and hardly anything is certain.
    for us in 1..60 {
        let profile = Profile {
            timed: None,
            ..profile(1.0, Some(0.0), "5", 100 * us)
        };
        let choice = chosen(&profile);
        let Advised { threads, gain, .. } = choice.advised;
        assert!(threads == 1 || gain >= 1.02, "{us}: {choice:?}");
        assert!(
            choice.loss.one >= 0.0 && choice.loss.all >= -0.05,
            "{choice:?}"
        );
        assert!(choice.saturates_at.is_none_or(|at| at >= threads));
    }
}

/// Times as recorded with one thread and with two.
fn measured(alone_ms: f64, two_ms: f64) -> Profile {
    let at = |threads, ms: f64| Modelled {
        threads,
        time_ns: ms * 1e6,
        low_ns: ms * 0.99e6,
        high_ns: ms * 1.01e6,
        beyond: false,
        dominating: Term::Work,
        share: 1.0,
    };
    Profile {
        curve: vec![at(1, alone_ms), at(2, two_ms)],
        measured_counts: 2,
        ..profile(alone_ms, Some(20e6), "1000", 10_000)
    }
}

#[test]
fn more_than_a_time_for_each_thread_needs_a_reason() {
    let two = |sharing| {
        let mut machine = machine();
        machine.machine.cores = 2;
        machine.machine.caches[0].bytes = 16 << 20;
        machine.machine.caches[0].shared_by = sharing;
        machine
    };
    let profile = measured(236.0, 100.0);
    let choice = choose(&profile, &two(2), &Choosing::default(), &[]);
    assert_eq!((choice.advised.threads, choice.advised.gain), (2, 2.0));
    assert!(choice.advised.gain_high <= 2.0 && speedup(&choice, 2) <= 2.0);
    assert!(choice.confidence < Confidence::High);
    let said = doubts(&choice, &profile, &two(2));
    assert!(said[0].contains("2.36 times as long as 2"), "{said:?}");
    // 20 MB are more than one cache of 16 MiB, and less than two.
    let choice = choose(&profile, &two(1), &Choosing::default(), &[]);
    assert!((choice.advised.gain - 2.36).abs() < 0.01, "{choice:?}");
    let reason = reason(&choice, &profile, &two(1));
    assert!(reason.contains("whose caches are too small"), "{reason}");
    assert!(doubts(&choice, &profile, &two(1)).is_empty());
}

#[test]
fn disturbed_times_are_never_certain() {
    let quiet = measured(190.0, 100.0);
    assert_eq!(chosen(&quiet).confidence, Confidence::High);
    let disturbed = Profile {
        disturbed: true,
        ..quiet
    };
    let choice = chosen(&disturbed);
    assert_eq!(choice.confidence, Confidence::Medium);
    assert!(doubts(&choice, &disturbed, &machine())[0].contains("Other programs"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_profile_gives_finite_advice(
        ns in 0.0..1e12_f64,
        bytes in 0.0..1e15_f64,
        pieces in 0..1_000_i64,
        threads in 1.0..300.0_f64,
        error in 0.0..2.0_f64,
    ) {
        let mut profile = profile(1.0, Some(bytes), "i0", pieces);
        profile.timed = Some(Timed { threads, computing_ns: ns, wall_ns: ns, error, ..Timed::default() });
        let choice = chosen(&profile);
        prop_assert!((1..=8).contains(&choice.advised.threads));
        for point in &choice.points {
            prop_assert!(point.time.is_finite() && point.low <= point.time && point.time <= point.high);
        }
        prop_assert!(choice.steps[0].from_trips == 0);
        prop_assert!(choice.steps.is_sorted_by(|a, b| a.from_trips < b.from_trips));
        let _ = reason(&choice, &profile, &machine());
    }
}
