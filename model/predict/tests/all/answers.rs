//! What the user reads: sentences, errors, and answers to odd questions.

use fathomp_analysis::testing::{Script, Work, demo};
use fathomp_analysis::{Analysis, Options as AnalyseOptions, analyse};
use fathomp_predict::machine::{Machine, MachineError};
use fathomp_predict::{Options, PredictError, predict};
use fathomp_trace::model::{Pace, PieceTimes};

fn facts(recording: &fathomp_trace::model::Recording) -> Analysis {
    analyse(recording, &AnalyseOptions::default())
}

fn demos(threads: &[u32]) -> Vec<Analysis> {
    threads.iter().map(|&p| facts(&demo(p))).collect()
}

fn at(threads: &[u32]) -> Options {
    Options {
        at: threads.to_vec(),
        cores: Some(16),
        ..Options::default()
    }
}

fn told(analyses: &[Analysis], options: &Options) -> String {
    let inputs: Vec<&Analysis> = analyses.iter().collect();
    let prediction = predict(&inputs, options).unwrap();
    let mut lines = prediction.sentences;
    lines.push("--".to_owned());
    lines.extend(prediction.regions.iter().map(|r| r.sentence.clone()));
    lines.push(prediction.serial.sentence);
    lines.push("--".to_owned());
    lines.extend(prediction.warnings);
    lines.join("\n")
}

#[test]
fn the_demo_in_words() {
    insta::assert_snapshot!(told(&demos(&[1, 2, 4]), &at(&[1, 2, 4, 8, 16])));
}

#[test]
fn one_thread_in_words() {
    insta::assert_snapshot!(told(&demos(&[1]), &at(&[8])));
}

#[test]
fn four_threads_alone_in_words() {
    insta::assert_snapshot!(told(&demos(&[4]), &at(&[8])));
}

#[test]
fn a_program_without_regions_does_not_scale() {
    let mut script = Script::new(1);
    script.serial(5_000_000);
    let analyses = [facts(&script.build())];
    insta::assert_snapshot!(told(&analyses, &at(&[8])));
}

#[test]
fn a_single_instance_is_enough() {
    let analyses = [1_u32, 2].map(|p| {
        let mut script = Script::new(p);
        let work = Work::compute(u64::from(1_000_000 / p));
        script.region(0x100, &vec![work; p as usize]);
        facts(&script.build())
    });
    insta::assert_snapshot!(told(&analyses, &at(&[4])));
}

#[test]
fn repetitions_are_used() {
    let mut analyses = demos(&[1, 1, 1, 4, 4, 4]);
    for (index, analysis) in analyses.iter_mut().enumerate() {
        analysis.wall_ns += 3_000_000 * (index as u64 % 3);
    }
    let inputs: Vec<&Analysis> = analyses.iter().collect();
    let prediction = predict(&inputs, &at(&[8])).unwrap();
    assert_eq!(prediction.measured.len(), 2);
    assert_eq!(prediction.measured[0].runs_ns.len(), 3);
    assert!((prediction.measured[0].speedup - 1.0).abs() < 1e-9);
}

#[test]
fn what_cannot_be_predicted_is_refused_in_a_sentence() {
    let refused = |analyses: &[&Analysis], options: &Options| {
        predict(analyses, options).unwrap_err().to_string()
    };
    let one = facts(&demo(1));
    let mut renamed = facts(&demo(2));
    renamed.program.name = "other".to_owned();
    let mut rebuilt = facts(&demo(2));
    for region in &mut rebuilt.regions[1..] {
        region.key.push('9');
    }
    let said = [
        refused(&[], &Options::default()),
        refused(&[&Analysis::empty()], &Options::default()),
        refused(&[&one, &renamed], &Options::default()),
        refused(&[&one, &rebuilt], &Options::default()),
        refused(&[&one], &at(&[0])),
        refused(&[&one], &at(&[4_000_000])),
    ];
    insta::assert_snapshot!(said.join("\n"));
    let nothing = predict(&[], &Options::default());
    assert_eq!(nothing.unwrap_err(), PredictError::Nothing);
}

/// What [`fathomp_predict::Prediction::sentences`] says of assumed processors.
const ASSUMED: &str = "assumes a machine with as many processors";

#[test]
fn by_default_twice_the_processors_are_assumed_and_said_so() {
    let analyses = demos(&[1, 2, 4]);
    let inputs: Vec<&Analysis> = analyses.iter().collect();
    let counts = |options: &Options| {
        let prediction = predict(&inputs, options).unwrap();
        let said = prediction.sentences.iter().any(|s| s.contains(ASSUMED));
        let at: Vec<u32> = prediction.points.iter().map(|p| p.threads).collect();
        assert!(prediction.points.iter().all(|p| !p.oversubscribed));
        assert_eq!(prediction.cores_present, 8);
        (at, said)
    };
    let own = Options {
        cores: Some(8),
        ..Options::default()
    };
    assert_eq!(
        counts(&Options::default()),
        (vec![1, 2, 4, 8, 16], true),
        "the recordings have 8 processors"
    );
    assert_eq!(counts(&own), (vec![1, 2, 4, 8], false));
}

#[test]
fn assumed_processors_do_not_mend_runs_that_lacked_them() {
    let mut analyses = demos(&[1, 2, 4]);
    for analysis in &mut analyses {
        analysis.program.machine.cpus_allowed = vec![0, 1];
    }
    let inputs: Vec<&Analysis> = analyses.iter().collect();
    let prediction = predict(&inputs, &Options::default()).unwrap();
    let at: Vec<u32> = prediction.points.iter().map(|p| p.threads).collect();
    assert_eq!(at, [1, 2, 4, 8]);
    assert_eq!(
        prediction.points[1].measured_ns,
        Some(analyses[1].wall_ns as f64)
    );
    assert_eq!(prediction.points[2].measured_ns, None);
    assert!(
        prediction
            .warnings
            .iter()
            .any(|w| w.contains("than the 2 processors"))
    );
    let first = &prediction.sentences[0];
    assert!(
        first.starts_with("Measured:") && first.contains("with 2,"),
        "{first}"
    );
}

#[test]
fn json_names_its_schema_and_every_region() {
    let analyses = demos(&[1, 2]);
    let inputs: Vec<&Analysis> = analyses.iter().collect();
    let json = serde_json::to_value(predict(&inputs, &at(&[4])).unwrap()).unwrap();
    assert_eq!(json["schema"], "fathomp.prediction");
    assert_eq!(json["version"], 1);
    assert_eq!(json["regions"].as_array().unwrap().len(), 4);
    let names: Vec<&str> = json["baselines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|baseline| baseline["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["linear", "mean_speedup", "amdahl", "usl"]);
}

#[test]
fn a_machine_survives_its_file() {
    let machine = Machine::unmeasured(4);
    let text = machine.to_json().unwrap();
    assert_eq!(Machine::from_json(&text).unwrap(), machine);
}

#[test]
fn machines_that_cannot_be_are_refused() {
    let text = Machine::unmeasured(4).to_json().unwrap();
    let other = text.replace("\"version\": 1", "\"version\": 2");
    let foreign = text.replace("fathomp.machine", "fathomp.analysis");
    let no_cores = text.replace("\"cores\": 4", "\"cores\": 0");
    let negative = text.replace(
        "\"bandwidth\": []",
        "\"bandwidth\": [{\"threads\": 1, \"bytes_per_s\": -1.0}]",
    );
    let refused = |text: &str| Machine::from_json(text).unwrap_err();
    assert!(matches!(refused(&other), MachineError::Version(2)));
    assert!(matches!(refused(&foreign), MachineError::Schema(_)));
    assert!(matches!(refused(&no_cores), MachineError::Value { .. }));
    assert!(matches!(refused(&negative), MachineError::Value { .. }));
    assert!(matches!(refused("{"), MachineError::Parse(_)));
    assert!(matches!(refused("[]"), MachineError::Parse(_)));
}

/// The serial part with 8 threads, its interval, and the program's speed-ups there, after
/// runs with one and two threads.
fn with_8_threads(serials: [u64; 2], work_ns: u64, others: Option<f64>) -> [f64; 4] {
    let runs = [(1, serials[0]), (2, serials[1])].map(|(p, serial): (u32, u64)| {
        let mut script = Script::new(p);
        script.serial(serial);
        let work = Work::compute(work_ns / u64::from(p));
        script.region(0x100, &vec![work; p as usize]);
        let mut analysis = facts(&script.build());
        analysis.program.others_used = others;
        analysis
    });
    let inputs: Vec<&Analysis> = runs.iter().collect();
    let prediction = predict(&inputs, &at(&[8])).unwrap();
    let serial = prediction.serial.points.last().unwrap();
    let whole = prediction.points.last().unwrap();
    [
        serial.time_ns,
        serial.low_ns,
        whole.speedup_low,
        whole.speedup_high,
    ]
}

/// What other programs do to the serial part is not extrapolated.
#[test]
fn a_serial_part_that_varies_on_a_busy_machine_does_not_grow_with_threads() {
    let serials = [5_000_000, 10_000_000];
    let [quiet, ..] = with_8_threads(serials, 400_000_000, None);
    assert!(quiet > 25_000_000.0, "{quiet}");
    let [busy, ..] = with_8_threads(serials, 400_000_000, Some(0.7));
    assert!(busy < 15_000_000.0, "{busy}");
}

/// Half a millisecond more or less in a run of some milliseconds is no growth with the
/// threads: the start of a program takes longer now and then.
#[test]
fn a_short_serial_part_does_not_grow_by_what_runs_differ_by() {
    let [serial, low, slowest, fastest] = with_8_threads([930_000, 1_390_000], 20_000_000, None);
    assert!(serial < 1_800_000.0, "{serial}");
    assert!(low < 1_160_000.0, "{low}");
    let truth = (0.93 + 20.0) / (0.93 + 20.0 / 8.0);
    assert!(
        slowest < truth && truth < fastest * 1.05,
        "{slowest} {fastest}"
    );
}

/// A fifth more, with two threads than with one, is what caches and clocks do to serial code:
/// it does not come again with each further thread.
#[test]
fn a_serial_part_that_is_somewhat_longer_with_two_threads_stays_so() {
    let [serial, low, ..] = with_8_threads([287_000_000, 347_000_000], 400_000_000, None);
    assert!(serial < 420_000_000.0, "{serial}");
    assert!(low < 347_000_000.0, "{low}");
    let [serial, ..] = with_8_threads([100_000_000, 200_000_000], 400_000_000, None);
    assert!(serial > 450_000_000.0, "{serial}");
}

/// Two application threads with teams of two share a processor: with teams of one they
/// would, too, so that a team of one is not predicted to be slower or faster.
#[test]
fn application_threads_that_fill_the_processors_do_so_with_smaller_teams() {
    let mut script = Script::new(2);
    script.region(0x100, &[5_000_000, 5_000_000].map(Work::compute));
    let mut analysis = facts(&script.build());
    analysis.program.machine.cpus_allowed = vec![0, 1];
    analysis.crowds.push(fathomp_analysis::Oversubscription {
        processors: 1,
        first: Some(0),
        threads: 4,
        members: 2,
        ready_ns: 10_000_000,
        processor_ns: 10_000_000,
    });
    let prediction = predict(&[&analysis], &at(&[1, 2])).unwrap();
    for point in prediction.points {
        assert!((point.speedup - 1.0).abs() < 0.01, "{point:?}");
    }
}

/// Processors that computed a fixed piece a quarter slower after a run than before it make a
/// prediction from such runs less certain, and hardly change what it says.
#[test]
fn unsteady_processors_widen_the_interval() {
    let predicted = |after: f64| {
        let mut analyses = demos(&[1, 2]);
        for analysis in &mut analyses {
            let piece = |usual_ns: f64| PieceTimes {
                usual_ns,
                dense_ns: 20_000.0,
                uneven: 1.0,
            };
            analysis.program.pace = Some(Pace {
                processors: 2,
                before: piece(30_000.0),
                after: piece(30_000.0 * after),
            });
        }
        let inputs: Vec<&Analysis> = analyses.iter().collect();
        let prediction = predict(&inputs, &at(&[8])).unwrap();
        let point = prediction.points.last().unwrap();
        (point.time_ns, point.speedup_high / point.speedup_low)
    };
    let (steady, unsteady) = (predicted(1.0), predicted(1.25));
    assert!((unsteady.0 / steady.0 - 1.0).abs() < 0.05);
    assert!(unsteady.1 > 1.1 * steady.1, "{steady:?} {unsteady:?}");
}
