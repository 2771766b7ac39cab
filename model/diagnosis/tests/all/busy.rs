//! Causes that are named, and left out, for runs that other programs disturbed.

use crate::known::{first, of, regions};
use fathomp_analysis::State;
use fathomp_analysis::testing::Work;
use fathomp_diagnosis::{Basis, Cause, Kind};

#[test]
fn late_starts_on_a_busy_machine_are_not_the_runtimes_work() {
    let work = [10_000_000, 10_000_000].map(|ns| Work::compute(ns).and(State::Overhead, 4_000_000));
    let quiet = regions(&work, 5);
    assert_eq!(first(&of(std::slice::from_ref(&quiet))), Kind::Overhead);
    let mut busy = quiet;
    busy.program.others_used = Some(0.6);
    let diagnosis = of(&[busy]);
    assert_eq!(diagnosis.of_program().next(), None);
    let others = |one: &&fathomp_diagnosis::Cause| one.kind == Kind::OtherPrograms;
    assert!(diagnosis.causes.iter().find(others).is_some());
}

/// Where threads could seldom run at the same time, only counts say something of the program.
#[test]
fn causes_that_rest_on_times_are_not_named_where_threads_were_kept_apart() {
    let work = [4_000_000, 1_000_000].map(Work::compute);
    let mut run = regions(&work, 20);
    assert_eq!(first(&of(std::slice::from_ref(&run))), Kind::UnequalWork);
    run.program.others_used = Some(0.5);
    run.states[State::Ready] = run.states[State::Compute];
    let diagnosis = of(&[run]);
    let times = |one: &Cause| one.basis == Basis::Times && !one.kind.is_circumstance();
    assert!(!diagnosis.causes.iter().any(times), "{diagnosis:?}");
}

/// Two threads of which the one with two of three chunks computes longest, and the other
/// lost its processor so long that it came last.
#[test]
fn pieces_are_known_although_the_wrong_thread_came_last() {
    let chunk = Work::compute(5_000_000).dynamic(1, 1);
    let two = Work::compute(10_000_000).dynamic(2, 2);
    let mut analysis = regions(&[two, chunk], 3);
    let region = &mut analysis.regions[1];
    assert!(region.work.pieces.iter().any(|one| one.pieces == 3));
    let lost = 3 * 8_000_000;
    region.waited_for.0[State::Compute] = 0;
    region.waited_for.0[State::Ready] = 3 * 1_500_000;
    region.states.0[State::ImplicitBarrier] = 3 * 3_000_000;
    region.states.0[State::Ready] = lost;
    region.wall_ns += lost / 2;
    analysis.program.others_used = Some(0.6);
    assert_eq!(first(&of(&[analysis])), Kind::FewPieces);
}
