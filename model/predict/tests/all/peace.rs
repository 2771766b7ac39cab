//! What is said of programs beside which other programs ran.

use fathomp_analysis::testing::{Script, Work};
use fathomp_analysis::{Analysis, Options as AnalyseOptions, State, analyse};
use fathomp_predict::{Options, PredictError, Prediction, in_peace, measured, predict};

/// A run of one evenly divided region. It lacked processors for the part `lacked` of the time in
/// which it could have run.
fn run(threads: u32, region_ns: u64, lacked: f64) -> Analysis {
    let mut script = Script::new(threads);
    script.serial(1_000_000);
    script.region(0x100, &vec![Work::compute(region_ns); threads as usize]);
    let mut analysis = analyse(&script.build(), &AnalyseOptions::default());
    let computed = analysis.states[State::Compute] as f64;
    analysis.states[State::Ready] = (computed * lacked / (1.0 - lacked)) as u64;
    analysis.program.others_used = Some(lacked);
    analysis
}

fn predicted(runs: &[Analysis]) -> Result<Prediction, PredictError> {
    let inputs: Vec<&Analysis> = runs.iter().collect();
    let options = Options {
        at: vec![1, 2, 4, 8],
        cores: Some(8),
        ..Options::default()
    };
    assert_eq!(
        in_peace(&inputs).is_ok(),
        predict(&inputs, &options).is_ok()
    );
    predict(&inputs, &options)
}

#[test]
fn runs_whose_threads_were_kept_apart_say_nothing_about_more_threads() {
    let runs = [run(1, 100_000_000, 0.0), run(2, 50_000_000, 0.33)];
    let error = predicted(&runs).unwrap_err();
    assert!(matches!(error, PredictError::Disturbed { threads: 2, .. }));
    let sentence = error.to_string();
    assert!(sentence.contains("had none for 33 %"), "{sentence}");
    assert!(sentence.contains("`nice`") && sentence.contains("--repeat"));
    // What was measured is no ratio of times that others changed.
    let sentence = measured(&runs).unwrap();
    assert!(sentence.ends_with("with 2 threads, beside other programs."));
}

#[test]
fn a_run_with_as_many_threads_that_was_left_in_peace_counts_instead() {
    let runs = [
        run(1, 100_000_000, 0.02),
        run(2, 10_000_000, 0.5),
        run(2, 50_000_000, 0.02),
    ];
    let speedup = predicted(&runs).unwrap().points[1].speedup;
    assert!((1.9..=2.0).contains(&speedup), "{speedup}");
}

#[test]
fn numbers_of_threads_that_others_kept_apart_are_left_out() {
    let runs = [
        run(1, 100_000_000, 0.0),
        run(2, 90_000_000, 0.0),
        run(4, 5_000_000, 0.4),
    ];
    let prediction = predicted(&runs).unwrap();
    assert!(prediction.points[2].speedup < 1.5);
    let said = prediction.warnings.join(" ");
    assert!(said.contains("Runs with 4 threads were left out"), "{said}");
}

#[test]
fn the_programs_own_threads_are_no_others() {
    let mut alone = run(2, 50_000_000, 0.33);
    alone.program.others_used = Some(0.01);
    assert!(predicted(&[run(1, 100_000_000, 0.0), alone]).is_ok());
}

#[test]
fn nothing_is_faster_than_its_threads_unless_that_was_measured() {
    let runs = [run(1, 130_000_000, 0.0), run(2, 50_000_000, 0.0)];
    for point in predicted(&runs).unwrap().points {
        let p = f64::from(point.threads);
        assert!(point.speedup <= 1.32 * p && point.speedup_high <= 1.32 * p);
    }
    let runs = [run(1, 100_000_000, 0.0), run(2, 50_500_000, 0.0)];
    for point in predicted(&runs).unwrap().points {
        let p = f64::from(point.threads);
        assert!(point.speedup <= p && point.speedup_high <= p, "{point:?}");
    }
}
