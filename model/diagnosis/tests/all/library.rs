//! Causes in functions of libraries, which looks at threads tell.

use crate::known::{facts_of_growth, hits, machine};
use fathomp_analysis::Analysis;
use fathomp_analysis::samples::{RegionSamples, Samples, Spot};
use fathomp_diagnosis::{Cause, Input, Kind, diagnose};
use fathomp_shared_lines::{Findings, SharedLine};

fn spot(function: &str, within: &[&str], times: u64, asleep: u64) -> Spot {
    Spot {
        function: Some(function.to_owned()),
        within: within.iter().map(|name| (*name).to_owned()).collect(),
        library: "libc.so.6".to_owned(),
        called_at: "price.c:13".to_owned(),
        times,
        asleep,
        in_kernel: 0,
    }
}

/// The first cause of a region whose computing takes `longer` with two threads, and in which
/// threads were seen so.
fn cause(longer: f64, own: u64, outside: Vec<Spot>) -> Cause {
    of(&facts_of_growth(longer), own, outside, None)
}

fn of(runs: &[Analysis], own: u64, outside: Vec<Spot>, asks: Option<f64>) -> Cause {
    beside(runs, own, outside, asks, Vec::new())
}

/// The same where threads share these lines.
fn beside(
    runs: &[Analysis],
    own: u64,
    outside: Vec<Spot>,
    asks: Option<f64>,
    lines: Vec<SharedLine>,
) -> Cause {
    let main = runs.last().unwrap();
    let region = &main.regions[1];
    let samples = Samples {
        threads: 2,
        regions: vec![RegionSamples {
            region: region.key.clone(),
            own,
            runtime: 100,
            outside,
        }],
    };
    let findings = Findings {
        threads: 2,
        phases: 5,
        complete: true,
        lines,
        ..Findings::default()
    };
    let name = region.name.as_str();
    let asks: Vec<(&str, f64)> = asks.into_iter().map(|asks| (name, asks)).collect();
    let found = diagnose(&Input {
        analyses: runs,
        main,
        prediction: None,
        machine: Some(&machine()),
        sharing: Some(&findings),
        samples: Some(&samples),
        asks: &asks,
    });
    found.causes[0].clone()
}

#[test]
fn the_function_whose_lock_threads_wait_for_is_named() {
    let cause = cause(6.0, 10, vec![spot("rand", &["random"], 190, 60)]);
    assert_eq!(cause.kind, Kind::Library);
    assert_eq!(cause.title, "a lock or shared data in rand");
    assert!(
        cause.evidence.contains("called at price.c:13"),
        "{}",
        cause.evidence
    );
    assert!(
        cause.evidence.contains("190 of 200 looks"),
        "{}",
        cause.evidence
    );
    assert!(cause.action.contains("rand_r"), "{}", cause.action);
    // Five sixths of the region's time are growth.
    assert!(
        (cause.region_share - 5.0 / 6.0).abs() < 0.05,
        "{}",
        cause.region_share
    );
}

#[test]
fn a_lock_inside_of_a_library_function_is_found_by_what_that_calls() {
    let inside = spot("count_add(long)", &["pthread_mutex_lock"], 180, 100);
    let cause = cause(3.0, 20, vec![inside]);
    assert_eq!(cause.title, "a lock in count_add");
    assert!(
        cause.evidence.contains("pthread_mutex_lock"),
        "{}",
        cause.evidence
    );
    let own = spot("pthread_mutex_lock@plt", &[], 180, 100);
    assert_eq!(self::cause(3.0, 20, vec![own]).kind, Kind::Lock);
}

/// A function that takes most of the time of any number of threads need not be what grew.
#[test]
fn a_function_of_which_nothing_is_known_is_named_if_growth_must_be_in_it() {
    let busy = || vec![spot("solve", &[], 120, 0)];
    assert_eq!(cause(1.4, 80, busy()).kind, Kind::Bandwidth);
    assert_eq!(cause(6.0, 20, busy()).kind, Kind::Library);
    assert_eq!(
        cause(1.9, 5, vec![spot("memcpy", &[], 195, 0)]).title,
        "memory bandwidth in memcpy"
    );
}

#[test]
fn memory_is_not_named_for_loops_that_ask_for_none() {
    let runs = facts_of_growth(1.6);
    assert_eq!(of(&runs, 200, Vec::new(), None).kind, Kind::Bandwidth);
    assert_eq!(of(&runs, 200, Vec::new(), Some(8e9)).kind, Kind::Bandwidth);
    assert_eq!(
        of(&runs, 200, Vec::new(), Some(1e6)).kind,
        Kind::Unexplained
    );
    // Nor where it grows beyond what memory could do.
    let runs = facts_of_growth(6.0);
    assert_eq!(of(&runs, 200, Vec::new(), None).kind, Kind::Unexplained);
    let spread = (0..40).map(|n| spot(&format!("f{n}"), &[], 5, 0)).collect();
    let unsure = of(&runs, 10, spread, None);
    assert_eq!(unsure.kind, Kind::Library);
    assert!(
        unsure.evidence.contains("not looked at"),
        "{}",
        unsure.evidence
    );
}

/// In short phases a line is seen but a few times, although it is written all the time.
#[test]
fn a_line_that_is_seen_several_times_a_phase_explains_what_nothing_else_does() {
    let line = |accesses| SharedLine { accesses, ..hits() };
    let kind = |growth, own, accesses| {
        let runs = facts_of_growth(growth);
        beside(&runs, own, Vec::new(), None, vec![line(accesses)]).kind
    };
    assert_eq!(kind(6.0, 200, 24), Kind::FalseSharing);
    // Once a phase: a result that is stored at the end.
    assert_eq!(kind(6.0, 200, 10), Kind::Unexplained);
    // Memory may explain it.
    assert_eq!(kind(1.6, 200, 24), Kind::Bandwidth);
}
