//! What causes may say at most: no cost above what was lost, no advice that cannot be
//! followed, and no name that is not certain.

use fathomp_analysis::testing::{Script, Work};
use fathomp_analysis::{Analysis, Lines, Options, State, analyse};
use fathomp_diagnosis::{Cause, Input, Kind, diagnose};
use fathomp_shared_lines::{Findings, SharedLine, Site};
use std::path::Path;

const REGION: u64 = 0x1200;

fn regions(work: &[Work], times: usize) -> Analysis {
    let mut script = Script::new(work.len() as u32);
    script.serial(10_000);
    for _ in 0..times {
        script.region(REGION, work);
    }
    analyse(&script.build(), &Options::default())
}

fn causes(analyses: &[Analysis], sharing: Option<&Findings>) -> Vec<Cause> {
    let main = analyses.last().expect("there is one");
    let input = Input {
        analyses,
        main,
        prediction: None,
        machine: None,
        sharing,
        asks: &[],
        samples: None,
    };
    diagnose(&input).causes
}

/// A line that two threads write all the time.
fn line() -> SharedLine {
    SharedLine {
        accesses_at: vec![Site {
            label: "a.c:14 (main)".to_owned(),
            line: Some(14),
            ..Site::default()
        }],
        accesses: 1_000_000_000,
        est_cost_ns: Some(1e12),
        ..crate::known::hits()
    }
}

#[test]
fn shared_lines_cost_no_more_than_the_region_lost() {
    let found = Findings {
        threads: 2,
        lines: vec![line()],
        ..Findings::default()
    };
    let one = regions(&[Work::compute(10_000_000)], 5);
    for (each_ns, lost) in [(5_500_000, 0.5 / 5.5), (8_000_000, 3.0 / 8.0)] {
        let two = regions(&[Work::compute(each_ns), Work::compute(each_ns)], 5);
        let causes = causes(&[one.clone(), two], Some(&found));
        let falsely = causes.iter().find(|one| one.kind == Kind::FalseSharing);
        let falsely = falsely.expect("it is there");
        let share = falsely.measured.share;
        assert!((share - lost).abs() < 0.02, "{share} of {lost}");
        let said = "(hits[0] and hits[1], at a.c:14 (main))";
        assert!(falsely.evidence.contains(said), "{}", falsely.evidence);
    }
    // A region that lost nothing has no such cause.
    let work = || Work::compute(4_900_000);
    let causes = causes(&[one, regions(&[work(), work()], 5)], Some(&found));
    assert!(causes.iter().all(|one| one.kind != Kind::FalseSharing));
}

#[test]
fn a_line_that_costs_next_to_nothing_is_not_named_before_the_dear_one() {
    let passed_once = SharedLine {
        name: "g".to_owned(),
        phases: 1,
        accesses: 4_000,
        est_cost_ns: None,
        ..line()
    };
    let all_the_time = SharedLine {
        kind: fathomp_shared_lines::Kind::True,
        name: "reference counts".to_owned(),
        phases: 88,
        ..line()
    };
    let found = Findings {
        threads: 2,
        lines: vec![passed_once, all_the_time],
        ..Findings::default()
    };
    let one = regions(&[Work::compute(10_000_000)], 5);
    let two = regions(&[Work::compute(20_000_000), Work::compute(20_000_000)], 5);
    let causes = causes(&[one, two], Some(&found));
    assert_eq!(causes[0].title, "threads share reference counts");
    assert!(causes.iter().all(|one| one.kind != Kind::FalseSharing));
}

/// Threads that wait for each other at the end of a region alone.
fn ending(work_ns: u64, barrier_ns: u64) -> Vec<Cause> {
    let work = || Work::compute(work_ns).and(State::ImplicitBarrier, barrier_ns);
    causes(&[regions(&[work(), work()], 500)], None)
}

#[test]
fn no_region_is_told_to_drop_the_barrier_at_its_own_end() {
    for (work_ns, barrier_ns) in [(5_000, 2_000), (9_000, 4_000), (100_000, 40_000)] {
        let causes = ending(work_ns, barrier_ns);
        assert!(!causes.is_empty());
        for cause in &causes {
            assert!(!cause.action.contains("nowait"), "{}", cause.action);
        }
    }
    let first = &ending(5_000, 2_000)[0];
    assert_eq!(first.kind, Kind::ShortRegions, "{first:?}");
    let [batches, threads] = ["larger batches", "fewer threads"];
    assert!(first.action.contains(batches) && first.action.contains(threads));
}

/// Four threads of which two have work, with so many iterations in each of three executions.
fn shares(iterations: [u64; 2]) -> Cause {
    let work = [iterations[0], iterations[1], 0, 0].map(|n| Work::compute(1_000 + n * 10_000));
    let mut analysis = regions(&work, 3);
    let region = &mut analysis.regions[1];
    (region.work.working, region.work.team) = (2, 4);
    for (thread, iterations) in region.threads.iter_mut().zip(iterations) {
        thread.iterations = 3 * iterations;
    }
    causes(&[analysis], None).remove(0)
}

#[test]
fn unequal_shares_are_not_called_equal() {
    let uneven = shares([1_000, 500]);
    assert_eq!(uneven.kind, Kind::FewPieces);
    let said = "2 shares of 1000 and 500 iterations for 4 threads";
    assert!(uneven.evidence.contains(said), "{}", uneven.evidence);
    let even = shares([750, 749]);
    let said = "2 equal shares for 4 threads";
    assert!(even.evidence.contains(said), "{}", even.evidence);
    // Nothing is known of its iterations.
    let unknown = shares([0, 0]);
    assert!(!unknown.evidence.contains("equal"), "{}", unknown.evidence);
}

#[test]
fn what_a_reduction_waits_for_is_no_critical_section() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/causes");
    let waits = |file: &str, [first, last]: [u32; 2], passages: u64| {
        let work = [3, 4].map(|ms| Work::compute(1_000_000).and(State::Critical, ms * 1_000_000));
        let mut analysis = regions(&work, 10);
        analysis.regions[1].mutexes_taken = passages;
        analysis.regions[1].lines = Some(Lines {
            file: source.join(file).to_string_lossy().into_owned(),
            first,
            last,
        });
        causes(&[analysis], None).remove(0)
    };
    let fortran = waits("reduction.f90", [12, 18], 20);
    assert_eq!(fortran.kind, Kind::Reduction);
    assert_eq!(fortran.title, "reduction of table");
    assert!(!fortran.action.contains("critical"), "{}", fortran.action);
    let section = waits("reduction.c", [13, 20], 20);
    assert_eq!(section.title, "reduction of counts");
    // More passages than the clause has.
    assert_eq!(waits("reduction.c", [13, 20], 2_000).kind, Kind::Critical);
    // Other lines, and no source.
    assert_eq!(waits("reduction.c", [1, 8], 20).kind, Kind::Critical);
    assert_eq!(waits("nowhere.c", [13, 20], 20).kind, Kind::Critical);
}
