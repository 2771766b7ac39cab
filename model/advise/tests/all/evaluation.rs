//! The evaluation over machines and programs that are made up: it is known which predictor
//! is right.

use fathomp_advise::evaluate::{Case, Evaluation, PredictorResult, Times, Utilisation, evaluate};
use fathomp_advise::{Choosing, Demand, Profile, Target, Timed};
use fathomp_predict::machine::{Bandwidth, Machine};

/// Two cores that get 10 and 12 GB/s.
fn machine() -> Target {
    let mut machine = Machine::unmeasured(2);
    machine.bandwidth = [(1, 10e9), (2, 12e9)]
        .map(|(threads, bytes_per_s)| Bandwidth {
            threads,
            bytes_per_s,
        })
        .to_vec();
    Target::measured(machine, 1)
}

/// A region that is `bound` by memory for this part of its time, with its true times.
fn case(benchmark: &str, bound: f64, score: f64) -> Case {
    let alone = 1e9;
    let memory = bound * alone;
    let both = ((alone - memory) / 2.0 + memory * 10.0 / 12.0).max(alone / 2.0);
    Case {
        benchmark: benchmark.to_owned(),
        size: "made up".to_owned(),
        region: format!("{benchmark}.c:1"),
        times: vec![
            Times {
                threads: 1,
                runs_ns: vec![alone * 1.001, alone, alone * 0.999],
                disturbed: 1,
            },
            Times {
                threads: 2,
                runs_ns: vec![both],
                disturbed: 0,
            },
        ],
        profile: Profile {
            timed: Some(Timed {
                threads: 1.0,
                wall_ns: alone,
                computing_ns: alone,
                executions: 10,
                error: 0.01,
                ..Timed::default()
            }),
            demand: Some(Demand {
                bytes: vec![(1, memory * 10.0)],
                uncertain: 0.1,
                footprint: memory * 10.0,
                latency: 0.0,
            }),
            facts: true,
            understood: 1.0,
            measured_counts: 1,
            ..Profile::default()
        },
        score: Some(score),
    }
}

fn cases() -> Vec<Case> {
    // The score is wrong for two of them.
    [
        ("a", 0.0, 0.9),
        ("b", 0.05, 0.8),
        ("c", 0.1, 0.2),
        ("d", 0.9, 0.1),
        ("e", 1.0, 0.0),
        ("f", 0.95, 0.7),
        ("g", 0.0, 0.9),
    ]
    .map(|(benchmark, bound, score)| case(benchmark, bound, score))
    .to_vec()
}

fn evaluated(cases: &[Case]) -> Evaluation {
    evaluate(
        cases,
        &machine(),
        1,
        2,
        Utilisation::Added,
        Choosing::default(),
    )
}

fn of<'a>(evaluation: &'a Evaluation, name: &str) -> &'a PredictorResult {
    let found = evaluation.predictors.iter().find(|one| one.name == name);
    found.unwrap()
}

#[test]
fn who_knows_the_machine_is_right() {
    let evaluation = evaluated(&cases());
    assert_eq!((evaluation.regions, evaluation.benchmarks), (7, 7));
    assert_eq!(evaluation.disturbed, 7);
    let ours = of(&evaluation, "ours");
    assert_eq!((ours.success.right, ours.success.all), (7, 7), "{ours:?}");
    assert!(ours.regret < 0.01 && ours.error_90 < 0.1, "{ours:?}");
    let inside = ours.inside.unwrap();
    assert!(inside.rate > 0.8, "{inside:?} {:#?}", evaluation.cases);
    let score = of(&evaluation, "published score");
    assert_eq!(score.success.right, 5);
    assert_eq!((score.too_many, score.too_few), (1, 1));
    // Following the score gives one core to c, which would use both.
    assert!(score.regret > 0.05, "{score:?}");
    // Four of seven gain from the second core; without one of those, three of six each.
    let majority = of(&evaluation, "majority class");
    assert!(majority.success.right <= 4);
    for simple in ["mean", "Amdahl", "USL"] {
        let simple = of(&evaluation, simple);
        assert!(
            simple.success.right < 7 && simple.error_median > 0.1,
            "{simple:?}"
        );
    }
    assert_eq!(evaluation.published.len(), 5);
}

#[test]
fn what_is_fitted_does_not_know_the_benchmark_it_is_for() {
    // Without "only", nothing says that cores slow each other down so much.
    let mut cases = cases();
    let mut only = case("only", 0.0, 0.5);
    only.times[1].runs_ns = vec![0.95e9];
    cases.push(only);
    let evaluation = evaluated(&cases);
    let judged = evaluation
        .cases
        .iter()
        .find(|one| one.benchmark == "only")
        .unwrap();
    let said = judged.said[0].unwrap();
    assert!(said.speedup > 1.8, "{said:?}");
    assert_eq!(evaluation.fitted.len(), 8);
}

#[test]
fn regions_without_sound_times_are_counted_and_left_out() {
    let mut cases = cases();
    cases[0].times[1].runs_ns.clear();
    cases[0].times[1].disturbed = 3;
    let evaluation = evaluated(&cases);
    assert_eq!((evaluation.regions, evaluation.left_out), (6, 1));
    assert_eq!(evaluation.disturbed, 10);
}

#[test]
fn nothing_measured_is_no_failure() {
    let evaluation = evaluated(&[]);
    assert_eq!(evaluation.regions, 0);
    assert!(evaluation.predictors.iter().all(|one| one.regret == 0.0));
    assert!(serde_json::to_string(&evaluation).is_ok());
}

#[test]
fn under_the_other_definition_any_gain_is_worthwhile() {
    let evaluation = evaluate(
        &cases(),
        &machine(),
        1,
        2,
        Utilisation::Share,
        Choosing::default(),
    );
    assert!(evaluation.cases.iter().all(|case| case.class == 1));
    assert_eq!(of(&evaluation, "majority class").success.right, 7);
}
