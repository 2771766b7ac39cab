use super::*;
use crate::settings::Settings;
use crate::testing::Synthetic;
use fathomp_paging::{Activity, Counter};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

const SITUATION: Situation = Situation {
    fault_ns: 10 * MS,
    switch_ns: 10_000,
    gang_switch_ns: 100_000,
    quorum: 0.5,
};

fn script(segments: &[(u64, u64, bool)]) -> Script {
    let segment = |&(compute_ns, faults, barrier): &(u64, u64, bool)| Segment {
        compute_ns,
        faults,
        barrier,
    };
    Script {
        segments: segments.iter().map(segment).collect(),
    }
}

#[test]
fn one_fault_each_at_once_is_hidden_by_both() {
    let one = script(&[(5 * MS, 1, false), (5 * MS, 0, false)]);
    let answer = ask(&[one.clone(), one.clone(), one], &SITUATION).unwrap();
    let [wait, each, gang] = answer.outcomes;
    assert_eq!((answer.tasks, answer.faults), (3, 3));
    assert_eq!(wait.makespan_ns, 20 * MS);
    assert_eq!(wait.hidden_share, 0.0);
    assert!((wait.utilisation - 0.5).abs() < 1e-9);
    assert!((answer.all_at_once_share - 1.0).abs() < 1e-9);
    // Each: away and back, 10 us each; the way back delays.
    assert_eq!(each.makespan_ns, 20 * MS + 10_000);
    assert_eq!(each.other_ns, 3 * (10 * MS - 10_000));
    assert_eq!(each.other_together_ns, 10 * MS - 10_000);
    assert!((each.hidden_share - 0.999).abs() < 1e-9);
    assert_eq!(each.held_ns, 0);
    // All processors away and back, 100 us each.
    assert_eq!(gang.makespan_ns, 20 * MS + 100_000);
    assert_eq!(gang.other_together_ns, 10 * MS - 100_000);
    assert!((gang.hidden_share - 0.99).abs() < 1e-9);
}

#[test]
fn gangs_hold_those_that_could_run() {
    // Faults of two tasks never meet.
    let early = script(&[(5 * MS, 1, false), (95 * MS, 0, false)]);
    let late = script(&[(60 * MS, 1, false), (40 * MS, 0, false)]);
    let situation = Situation {
        quorum: 0.0,
        ..SITUATION
    };
    let answer = ask(&[early.clone(), late.clone()], &situation).unwrap();
    let [wait, each, gang] = answer.outcomes;
    assert_eq!(answer.all_at_once_share, 0.0);
    assert!(answer.all_at_once_by_chance > 0.0);
    assert_eq!(wait.makespan_ns, 110 * MS);
    assert_eq!(each.other_together_ns, 0);
    // Both stand still for both faults.
    assert_eq!(gang.makespan_ns, 120 * MS + 2 * 100_000);
    assert_eq!(gang.other_together_ns, 2 * (10 * MS - 100_000));
    assert_eq!(gang.held_ns, 2 * (10 * MS + 100_000) + 2 * 100_000);
    // With a quorum of both, gangs never switch.
    let situation = Situation {
        quorum: 1.0,
        ..SITUATION
    };
    let answer = ask(&[early, late], &situation).unwrap();
    assert_eq!(answer.outcomes[2].other_ns, 0);
    assert_eq!(answer.outcomes[2].makespan_ns, 110 * MS);
}

#[test]
fn barriers_make_all_wait_for_the_last() {
    let slow = script(&[(10 * MS, 2, true), (10 * MS, 0, false)]);
    let quick = script(&[(10 * MS, 0, true), (10 * MS, 0, false)]);
    let answer = ask(&[slow, quick], &SITUATION).unwrap();
    assert_eq!(answer.outcomes[0].makespan_ns, 40 * MS);
}

#[test]
fn short_faults_are_not_worth_a_switch() {
    let one = script(&[(5 * MS, 9, false)]);
    let situation = Situation {
        fault_ns: 15_000,
        ..SITUATION
    };
    let answer = ask(&[one.clone(), one], &situation).unwrap();
    let [wait, each, gang] = answer.outcomes;
    assert!(answer.sentence.contains("not worth its cost"));
    assert_eq!((each.other_ns, gang.other_ns), (0, 0));
    assert_eq!(each.makespan_ns, wait.makespan_ns);
}

#[test]
fn nothing_is_asked_of_one_task_or_no_faults() {
    let one = script(&[(5 * MS, 9, false)]);
    let idle = script(&[(5 * MS, 0, false)]);
    assert_eq!(ask(std::slice::from_ref(&one), &SITUATION), None);
    assert_eq!(ask(&[idle.clone(), idle], &SITUATION), None);
    assert_eq!(ask(&[], &SITUATION), None);
    let many = script(&[(MS, FAULTS_MAX / 2, false), (MS, FAULTS_MAX, true)]);
    let cut = ask(
        &[many.clone(), many],
        &Situation {
            fault_ns: 1,
            ..SITUATION
        },
    )
    .unwrap();
    assert!((cut.simulated_share - 0.5).abs() < 1e-9 && cut.faults == FAULTS_MAX);
}

#[test]
fn scripts_are_those_of_the_record() {
    let mut made = Synthetic::new(2, 4_096 * MS);
    for task in 0..2 {
        let at = (1..40).map(|round| (round * 100 * MS + task as u64 * 50 * MS, 2));
        made.counts(task, Activity::Io, Counter::PageIns, at);
        made.barriers(task, [1_000 * MS, 2_000 * MS]);
    }
    let bins = Bins::read(&made.memory, &Settings::default()).unwrap();
    let scripts = scripts(&bins, Selection::all(Counter::PageIns), 100_000);
    assert_eq!(scripts.len(), 2);
    for script in &scripts {
        let faults: u64 = script.segments.iter().map(|segment| segment.faults).sum();
        let compute: u64 = script
            .segments
            .iter()
            .map(|segment| segment.compute_ns)
            .sum();
        assert_eq!(faults, 78);
        // Run again with the same waits, it takes as long as it took.
        assert_eq!(compute + faults * 100_000, 4_096 * MS);
        assert_eq!(
            script
                .segments
                .iter()
                .filter(|segment| segment.barrier)
                .count(),
            2
        );
    }
    let situation = Situation {
        fault_ns: 100_000,
        switch_ns: 2_000,
        gang_switch_ns: 5_000,
        quorum: 0.0,
    };
    let answer = ask(&scripts, &situation).unwrap();
    assert!((answer.outcomes[0].makespan_ns as f64 / (4_096.0 * MS as f64) - 1.0).abs() < 0.01);
    assert!(answer.outcomes[1].hidden_share > 0.97);
    assert!(answer.sentence.contains("A second program"));
}

proptest! {
    #[test]
    fn any_scripts_end_and_time_is_kept(
        tasks in prop::collection::vec(
            prop::collection::vec((0..2_000_000_u64, 0..5_u64, any::<bool>()), 0..12), 2..6),
        fault_ns in 0..1_000_000_u64, switch_ns in 0..50_000_u64, quorum in 0.0..1.2,
    ) {
        let scripts: Vec<Script> = tasks.iter().map(|segments| script(segments)).collect();
        let situation = Situation { fault_ns, switch_ns, gang_switch_ns: 2 * switch_ns, quorum };
        let Some(answer) = ask(&scripts, &situation) else {
            return Ok(());
        };
        let [wait, each, gang] = answer.outcomes;
        for outcome in answer.outcomes {
            prop_assert_eq!(outcome.waits_ns, answer.faults * fault_ns);
            prop_assert!((0.0..=1.0).contains(&outcome.hidden_share));
            prop_assert!((0.0..=1.0).contains(&outcome.utilisation));
            prop_assert!(outcome.other_together_ns <= outcome.makespan_ns + 2 * switch_ns);
        }
        prop_assert!(each.makespan_ns >= wait.makespan_ns);
        prop_assert!(gang.makespan_ns + 1 >= wait.makespan_ns);
        prop_assert_eq!(wait.other_ns + wait.held_ns + wait.switching_ns, 0);
    }
}
