//! Predictions held against what was measured.

use fathomp_analysis::testing::demo;
use fathomp_analysis::{Analysis, Dsm, Options as AnalyseOptions, analyse};
use fathomp_launch::Protocol;
use fathomp_predict::Options;
use fathomp_predict::counts::RecordingsError;
use fathomp_predict::machine::{Machine, MachineError};
use fathomp_predict::prices::{
    Cluster, ClusterError, Measured, Network, Priced as Price, Synchronisation,
};
use fathomp_predict::validate::{Predictor, Priced, ValidateError, Validated, validate};
use fathomp_trace::model::Sharing;
use std::collections::BTreeMap;
use std::path::Path;

fn recording(program: &str, threads: u32, wall_ns: u64) -> Analysis {
    let mut analysis = analyse(&demo(threads), &AnalyseOptions::default());
    program.clone_into(&mut analysis.program.name);
    analysis.wall_ns = wall_ns;
    analysis
}

/// A recording on nodes: in the first region, thread i has 100 i fetch faults.
fn on_nodes(program: &str, threads: u32, wall_ns: u64) -> Analysis {
    let mut analysis = recording(program, threads, wall_ns);
    for (number, share) in analysis.regions[1].threads.iter_mut().enumerate() {
        share.dsm = Some(Dsm {
            fetch_faults: 100 * number as u64,
            ..Dsm::default()
        });
    }
    analysis
}

fn ask(recordings: &[Analysis], cluster: Option<&Cluster>) -> Result<Validated, ValidateError> {
    let analyses: Vec<&Analysis> = recordings.iter().collect();
    let priced = cluster.map(|cluster| Priced {
        cluster,
        protocol: None,
        diff_bytes: None,
        counted: None,
    });
    validate(&analyses, &Options::default(), priced)
}

fn said(validated: &Validated, row: usize, predictor: Predictor) -> f64 {
    let mut cells = validated.rows[row].predictions.iter();
    let cell = cells.find(|cell| cell.predictor == predictor).unwrap();
    let observed = validated.rows[row].speedup_observed;
    assert!((cell.relative_error - (cell.speedup / observed - 1.0)).abs() < 1e-12);
    cell.speedup
}

#[test]
fn every_number_of_threads_is_predicted_from_the_others() {
    // Amdahl's law with a serial part of a tenth, and one run that breaks it.
    let law = |p: f64| ((0.1 + 0.9 / p) * 1e9) as u64;
    let mut recordings: Vec<Analysis> = [1, 2, 4]
        .map(|p| recording("law", p, law(f64::from(p))))
        .into();
    recordings.push(recording("law", 8, 1_000_000_000));
    let validated = ask(&recordings, None).unwrap();
    let threads: Vec<u32> = validated.rows.iter().map(|row| row.threads).collect();
    assert_eq!(threads, [2, 4, 8]);
    assert_eq!(validated.rows[2].speedup_observed, 1.0);
    // What was observed with 8 threads has no part in its prediction.
    let amdahl = said(&validated, 2, Predictor::Amdahl);
    assert!((amdahl - 1.0 / (0.1 + 0.9 / 8.0)).abs() < 1e-3, "{amdahl}");
    assert_eq!(said(&validated, 2, Predictor::Ideal), 8.0);
    // It has in that with 4, which is far from the law then.
    let drawn = said(&validated, 1, Predictor::Amdahl);
    assert!(drawn < 0.8 * validated.rows[1].speedup_observed, "{drawn}");
    assert!(validated.rows.iter().all(|row| {
        let ours = row
            .predictions
            .iter()
            .find(|cell| cell.predictor == Predictor::Fathomp);
        ours.is_some_and(|cell| cell.speedup > 0.0 && cell.inside.is_some())
    }));
    assert!(validated.cluster.is_none());
}

#[test]
fn repetitions_make_a_median() {
    let mut recordings = vec![recording("a", 1, 1_000_000_000)];
    recordings.extend([900, 500, 400].map(|ms| recording("a", 2, ms * 1_000_000)));
    let validated = ask(&recordings, None).unwrap();
    assert_eq!(validated.rows[0].runs, 3);
    assert_eq!(validated.rows[0].speedup_observed, 2.0);
    // Of those that others disturbed more, nothing is taken.
    for (recording, used) in recordings[1..].iter_mut().zip([0.1, 0.1, 0.5]) {
        recording.program.others_used = Some(used);
    }
    let validated = ask(&recordings, None).unwrap();
    assert_eq!(validated.rows[0].runs, 2);
    assert_eq!(validated.rows[0].speedup_observed, 1.0 / 0.7);
}

#[test]
fn published_models_predict_from_counts_and_means_are_over_programs() {
    let gige = Cluster::find(Path::new("gige_amd")).unwrap();
    // 295.3 us for each of 100 (p - 1) faults on the critical path.
    let critical_ns = |p: f64| 1e9 / p + 100.0 * (p - 1.0) * 295.3e3;
    let mut recordings = Vec::new();
    for (program, factor) in [("right", 1.0), ("slow", 1.25)] {
        recordings.push(recording(program, 1, 1_000_000_000));
        for p in [2, 4] {
            let wall_ns = critical_ns(f64::from(p)) * factor;
            recordings.push(on_nodes(program, p, wall_ns as u64));
        }
    }
    let validated = ask(&recordings, Some(&gige)).unwrap();
    assert_eq!(validated.rows.len(), 4);
    for row in 0..2 {
        let critical = said(&validated, row, Predictor::Critical);
        assert!((critical - validated.rows[row].speedup_observed).abs() < 1e-6);
        let bounds = [Predictor::AggregateF1, Predictor::AggregateF0];
        let [least, most] = bounds.map(|bound| said(&validated, row, bound));
        assert!(least <= critical && critical <= most);
        let fitted = said(&validated, row, Predictor::AggregateFit);
        assert!(fitted <= most);
    }
    let errors = validated.errors.iter();
    let critical: Vec<_> = errors
        .filter(|error| error.predictor == Predictor::Critical)
        .collect();
    assert_eq!(critical.len(), 2);
    for error in critical {
        // 0 and 0.25: the slow program's speedup is overrated by a quarter.
        assert_eq!(error.programs, 2);
        assert!((error.mean_relative_error - 0.125).abs() < 1e-6);
    }
}

#[test]
fn prices_of_another_network_are_noticed() {
    let warned = |net: Option<&str>, cluster: &Cluster| {
        let mut two = on_nodes("a", 2, 600_000);
        two.program.nodes = 2;
        two.program.sharing = Some(Sharing {
            protocol: Protocol::Home,
            plain: true,
            network: net.map(|net| net.parse().unwrap()),
            faults: None,
        });
        let validated = ask(&[recording("a", 1, 1_000_000), two], Some(cluster)).unwrap();
        let mut warnings = validated.warnings.iter();
        warnings.any(|warning| warning.contains("priced for"))
    };
    let gige = Cluster::find(Path::new("gige_amd")).unwrap();
    assert!(!warned(Some("62.5,103.4"), &gige));
    assert!(warned(Some("3,1221"), &gige));
    assert!(warned(None, &gige));
    assert!(!warned(Some("60,98"), &measured()));
    let mut memory = measured();
    memory.measured.as_mut().unwrap().network_emulated = None;
    assert!(!warned(None, &memory));
    assert!(warned(Some("60,98"), &memory));
}

#[test]
fn what_cannot_be_validated_is_refused() {
    let gige = Cluster::find(Path::new("gige_amd")).unwrap();
    let (alone, two) = (recording("a", 1, 1_000_000), recording("a", 2, 600_000));
    let refused = |recordings: &[Analysis], cluster: Option<&Cluster>| {
        let error = ask(recordings, cluster).unwrap_err();
        assert!(error.to_string().len() > 20);
        error
    };
    use ValidateError::{Alone, Counts, OnlyAlone, Predict, Prices};
    assert!(matches!(refused(&[], None), Predict(_)));
    assert!(matches!(
        refused(std::slice::from_ref(&two), None),
        Alone { .. }
    ));
    assert!(matches!(
        refused(std::slice::from_ref(&alone), None),
        OnlyAlone
    ));
    let none = refused(&[alone.clone(), two], Some(&gige));
    assert!(matches!(none, Counts(RecordingsError::NoCounts)));
    let unpriced = Cluster {
        home: None,
        fault_us: None,
        ..gige
    };
    let counted = [alone, on_nodes("a", 2, 600_000)];
    assert!(matches!(refused(&counted, Some(&unpriced)), Prices(_)));
}

/// As `fathomp calibrate --nodes` describes one.
fn measured() -> Cluster {
    let price = |median: f64| Price {
        median,
        interval: [0.9 * median, 1.1 * median],
    };
    Cluster {
        measured: Some(Measured {
            unix_ns: 1,
            network_emulated: Some(Network {
                latency_us: 60.0,
                bandwidth_mb_per_s: 98.0,
            }),
            latency_us: [61.0, 62.0],
            bandwidth_mb_per_s: [96.0, 97.0],
            prices_us: BTreeMap::from([("fetch_fault_us".to_owned(), [290.0, 300.0])]),
            synchronisation: vec![Synchronisation {
                nodes: 2,
                barrier_us: price(150.0),
                fetch_at_work_us: None,
                crowd: None,
            }],
        }),
        ..Cluster::find(Path::new("gige_amd")).unwrap()
    }
}

#[test]
fn a_network_may_take_no_time() {
    let mut cluster = measured();
    cluster.network.latency_us = 0.0;
    cluster.network.bandwidth_mb_per_s = f64::INFINITY;
    let mut machine = Machine::unmeasured(2);
    machine.cluster = Some(cluster.clone());
    let text = machine.to_json().unwrap();
    assert!(text.contains("\"bandwidth_mb_per_s\": \"inf\""), "{text}");
    assert_eq!(Machine::from_json(&text).unwrap(), machine);
    for wrong in ["null", "\"fast\"", "-1"] {
        let wrong = text.replace("\"inf\"", wrong);
        let error = Cluster::from_json(&wrong).unwrap_err().to_string();
        assert!(error.contains("bandwidth_mb_per_s is "), "{error}");
    }
}

#[test]
fn a_machine_holds_the_prices_of_its_nodes() {
    let mut machine = Machine::unmeasured(2);
    let text = machine.to_json().unwrap();
    assert!(matches!(
        Cluster::from_json(&text),
        Err(ClusterError::Machine)
    ));
    machine.cluster = Some(measured());
    let text = machine.to_json().unwrap();
    assert_eq!(Machine::from_json(&text).unwrap(), machine);
    assert_eq!(Cluster::from_json(&text).unwrap(), measured());
}

#[test]
fn prices_that_cannot_be_are_refused_inside_a_machine_too() {
    let mut machine = Machine::unmeasured(2);
    machine.cluster = Some(measured());
    let text = machine.to_json().unwrap();
    for (from, to) in [
        ("\"fetch_fault_us\": 295.3", "\"fetch_fault_us\": 0.0"),
        ("\"median\": 150.0", "\"median\": -150.0"),
        (
            "\"bandwidth_mb_per_s\": 103.4",
            "\"bandwidth_mb_per_s\": 0.0",
        ),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        let refused = Machine::from_json(&changed).unwrap_err();
        assert!(matches!(
            refused,
            MachineError::Cluster(ClusterError::Value { .. })
        ));
        assert!(matches!(
            Cluster::from_json(&changed),
            Err(ClusterError::Value { .. })
        ));
    }
    let mut other = serde_json::from_str::<serde_json::Value>(&text).unwrap();
    other["cluster"]["version"] = 2.into();
    let other = other.to_string();
    assert!(matches!(
        Cluster::from_json(&other),
        Err(ClusterError::Version(2))
    ));
    assert!(matches!(
        Machine::from_json(&other),
        Err(MachineError::Cluster(ClusterError::Version(2)))
    ));
}
