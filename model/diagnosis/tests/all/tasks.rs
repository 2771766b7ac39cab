//! Tasks that depend on each other, and constructs that one thread runs.

use crate::known::{self, regions};
use fathomp_analysis::testing::Work;
use fathomp_analysis::{Analysis, State};
use fathomp_diagnosis::{Cause, Kind};

fn causes(analyses: &[Analysis]) -> Vec<Cause> {
    known::of(analyses).causes
}

/// Two threads of which one creates 40 tasks, so many of which wait for others; all of them take
/// 40 ms, and never does more than one run.
fn chained(dependent: u64) -> Vec<Work> {
    vec![
        Work::compute(20_000_000)
            .and(State::ImplicitBarrier, 20_000_000)
            .tasks(40, dependent, 20),
        Work::compute(20_000_000)
            .and(State::ImplicitBarrier, 20_000_000)
            .tasks(0, 0, 20),
    ]
}

#[test]
fn tasks_that_wait_for_each_other_are_named() {
    let alone = regions(&[Work::compute(40_000_000).tasks(40, 0, 40)], 1);
    let found = causes(&[alone, regions(&chained(39), 1)]);
    assert_eq!(found[0].kind, Kind::DependentTasks, "{found:#?}");
    assert!((found[0].measured.share - 0.5).abs() < 0.02);
    assert!(
        found[0].evidence.contains("39 of 40 tasks"),
        "{}",
        found[0].evidence
    );
}

#[test]
fn tasks_are_not_ordered_by_a_few_that_wait() {
    let alone = regions(&[Work::compute(40_000_000).tasks(40, 0, 40)], 1);
    let found = causes(&[alone, regions(&chained(3), 1)]);
    assert!(found.iter().all(|one| one.kind != Kind::DependentTasks));
}

/// A region in which either thread works 4 ms, and the one that does not run a `single` construct
/// waits 2 ms for it.
fn with_single(tasks: u64) -> Vec<Work> {
    let waits = |single_wait_ns| Work {
        single_wait_ns,
        ..Work::compute(4_000_000).and(State::ExplicitBarrier, single_wait_ns)
    };
    vec![waits(0).tasks(tasks, 0, tasks), waits(2_000_000)]
}

#[test]
fn waits_for_a_single_construct_are_serial_work() {
    let alone = regions(&[Work::compute(8_000_000)], 20);
    let found = causes(&[alone.clone(), regions(&with_single(0), 20)]);
    assert_eq!(found[0].kind, Kind::SerialInRegion, "{found:#?}");
    let told = "20.0 ms each at the end of its single constructs";
    assert!(found[0].evidence.contains(told), "{}", found[0].evidence);
    // Where the block makes tasks, the others wait for these.
    let found = causes(&[alone, regions(&with_single(1), 20)]);
    let single = |one: &Cause| one.evidence.contains("single constructs");
    assert!(!found.iter().any(single), "{found:#?}");
}
