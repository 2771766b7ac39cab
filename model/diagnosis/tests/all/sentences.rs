//! Whatever the facts, sentences are consistent with them.

use fathomp_analysis::testing::demo;
use fathomp_analysis::{
    Analysis, Options, Oversubscription, PieceKind, Pieces, State, Times, analyse,
};
use fathomp_diagnosis::{Cause, Input, Kind, diagnose};
use fathomp_predict::Prediction;
use fathomp_trace::model::{Pace, PieceTimes};
use proptest::prelude::*;

/// A fraction, or something that is none.
fn odd() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => 0.0..1.0_f64,
        1 => Just(0.0),
        1 => Just(1.0),
        1 => 1.0..100.0_f64,
    ]
}

prop_compose! {
    /// A recording of the demonstration program, with facts put into each of its regions.
    fn analysis()(
        threads in 1..9_u32,
        asked in 1..9_u32,
        others in prop::option::of(0.0..=1.0_f64),
        pace in prop::option::of((1..9_u32, prop::array::uniform4(1.0..1e6_f64), 1.0..2.0_f64)),
        seeds in prop::collection::vec((any::<u64>(), any::<u64>(), odd()), 8),
        crowd in prop::option::of((1..4_u32, 1..40_u32, any::<u32>(), any::<bool>())),
    ) -> Analysis {
        let mut analysis = analyse(&demo(threads), &Options::default());
        analysis.program.threads_asked = Some(asked);
        analysis.program.others_used = others;
        analysis.program.pace = pace.map(|(processors, [a, b, c, d], uneven)| Pace {
            processors,
            before: PieceTimes { usual_ns: a, dense_ns: b, uneven },
            after: PieceTimes { usual_ns: c, dense_ns: d, uneven },
        });
        analysis.crowds = crowd
            .map(|(processors, more, ready, bound)| Oversubscription {
                processors,
                first: bound.then_some(0),
                threads: processors + more,
                members: processors + more,
                ready_ns: ready.into(),
                processor_ns: 1_000_000,
            })
            .into_iter()
            .collect();
        for (region, (a, b, part)) in analysis.regions.iter_mut().zip(seeds) {
            let wall = region.wall_ns.max(1);
            let some = |seed: u64| seed % (2 * wall);
            let mut waited = Times::default();
            for (state, seed) in [
                (State::Compute, a),
                (State::Blocked, a.rotate_left(7)),
                (State::Ready, b),
                (State::Critical, b.rotate_left(9)),
            ] {
                waited[state] = some(seed) / 4;
            }
            region.waited_for = waited;
            region.waited_together_ns = some(a ^ b) / 4;
            region.states[State::Blocked] = some(a.rotate_left(13));
            region.states[State::Ready] = some(b.rotate_left(13));
            region.states[State::Critical] = some(b.rotate_left(23));
            region.mutexes_taken = a % 1_000_000;
            region.tasks_run = b % 100_000;
            region.instances = a % 20_000 + 1;
            region.counts.minor_faults = (b % 10_000) as f64;
            if a % 3 == 0 {
                region.work.pieces = vec![Pieces {
                    kind: PieceKind::Chunks,
                    pieces: b % 20 + 1,
                    times: 1,
                    share: part.min(1.0),
                    longest: None,
                }];
            }
        }
        analysis
    }
}

/// Every number before a percent sign.
fn percentages(text: &str) -> Vec<f64> {
    text.split('%')
        .filter_map(|before| before.trim_end().rsplit(' ').next()?.parse().ok())
        .collect()
}

fn check_words(text: &str) -> Result<(), TestCaseError> {
    for wrong in [
        "NaN",
        "inf",
        "0.00 times",
        " 0 times",
        "  ",
        "..",
        "{",
        "-0 ",
    ] {
        prop_assert!(!text.contains(wrong), "{wrong:?} in {text}");
    }
    for percent in percentages(text) {
        prop_assert!((0.0..=100.0).contains(&percent), "{percent} % in {text}");
    }
    Ok(())
}

fn check(
    cause: &Cause,
    main: &Analysis,
    runs: &[Analysis],
    predicted: Option<&Prediction>,
) -> Result<(), TestCaseError> {
    check_words(&cause.sentence())?;
    check_words(&cause.action)?;
    for cost in [Some(cause.measured), cause.predicted]
        .into_iter()
        .flatten()
    {
        prop_assert!((0.0..=1.0).contains(&cost.share), "{cause:?}");
    }
    prop_assert!(cause.measured.ns <= main.wall_ns as f64);
    prop_assert_eq!(cause.measured.threads, main.threads);
    prop_assert_eq!(cause.predicted.is_some(), predicted.is_some());
    let region = cause.region.as_deref().map(|key| main.region(key));
    match cause.kind {
        Kind::Oversubscription => prop_assert!(!main.crowds.is_empty()),
        Kind::OtherPrograms => {
            prop_assert!(main.crowds.is_empty());
            prop_assert!(main.program.others_used.is_some_and(|used| used >= 0.1));
        }
        Kind::FixedTeam => {
            let size = region.flatten().map(|one| one.team_size_max);
            let others = runs.iter().any(|one| one.program.threads_asked != size);
            prop_assert!(others);
            prop_assert_eq!(
                &cause.title,
                &format!("team is always {}", size.unwrap_or(0))
            );
        }
        Kind::FewPieces => {
            let pieces = region.flatten().and_then(|one| one.work.pieces.first());
            let pieces = pieces.map_or(0, |one| one.pieces);
            let said = cause.evidence.contains(&format!("{pieces} chunk"));
            prop_assert!(said, "{pieces}: {}", cause.evidence);
            let idle = cause.evidence.contains("had none");
            let team = region.flatten().map_or(0, |one| one.team_size_max);
            prop_assert!(!idle || u64::from(team) > pieces);
        }
        Kind::Critical | Kind::Lock
            if region.flatten().is_some_and(|one| one.mutexes_taken > 0) =>
        {
            prop_assert!(cause.evidence.contains("passages"));
        }
        _ => {}
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 120,
        max_shrink_iters: 60,
        ..ProptestConfig::default()
    })]

    #[test]
    fn sentences_say_what_the_facts_are(
        runs in prop::collection::vec(analysis(), 1..4),
        predicted: bool,
    ) {
        let all: Vec<&Analysis> = runs.iter().collect();
        let prediction = predicted
            .then(|| {
                let options = fathomp_predict::Options {
                    replicates: 10,
                    ..fathomp_predict::Options::default()
                };
                fathomp_predict::predict(&all, &options).ok()
            })
            .flatten();
        let main = runs.iter().max_by_key(|one| one.team_size).expect("one at least");
        let diagnosis = diagnose(&Input {
            analyses: &runs,
            main,
            prediction: prediction.as_ref(),
            machine: None,
            sharing: None,
            samples: None,
            asks: &[],
        });
        for cause in &diagnosis.causes {
            check(cause, main, &runs, prediction.as_ref())?;
        }
        let circumstances = diagnosis.causes.iter().skip_while(|one| !one.kind.is_circumstance());
        let all_last = circumstances.clone().all(|one| one.kind.is_circumstance());
        prop_assert!(all_last, "circumstances come last");
        if let Some(prediction) = &prediction {
            for sentence in &prediction.sentences {
                check_words(sentence)?;
            }
            for region in &prediction.regions {
                check_words(&diagnosis.of_prediction(region))?;
                // What limits a region is what its causes say.
                if let Some(cause) = diagnosis.of_region(&region.key) {
                    prop_assert!(diagnosis.causes.contains(cause));
                }
            }
            let mut fair = prediction.points.iter().filter(|point| !point.oversubscribed);
            if let Some(last) = fair.next_back()
                && last.speedup < 0.9
            {
                let gains = prediction.sentences.iter().any(|one| one.contains("gains up to"));
                prop_assert!(!gains, "slower, and said to gain: {:?}", prediction.sentences);
            }
        }
    }
}
