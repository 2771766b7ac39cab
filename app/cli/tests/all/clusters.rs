//! `fathomp predict --counts`: speedups on clusters from counts of faults.

use crate::common::{self, run, two_regions};
use std::fs;
use std::path::Path;

const ASK: &str = "predict --model sdp-crit --counts c.csv --cluster gige_amd";

fn in_directory(csv: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("c.csv"), csv).unwrap();
    directory
}

fn two_threads() -> tempfile::TempDir {
    in_directory(
        "threads,sequential_s,thread,region,write_faults,fetch_faults,speedup_observed\n\
         2,3.4,0,sort,2560,5000,1.03\n2,3.4,1,sort,2400,5100,1.03\n",
    )
}

fn ask(here: &Path, options: &str) -> common::Ended {
    run(here, &format!("{ASK} {options}"))
}

#[test]
fn the_critical_path_model_answers() {
    let directory = two_threads();
    let ended = ask(directory.path(), "");
    let text = ended.succeeded().text();
    for words in ["gige_amd", "fetch faults", "1.03", "Mean relative error"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let json = ask(directory.path(), "--json").succeeded().json();
    assert_eq!(json["schema"], "fathomp.sdp_prediction");
    assert_eq!(json["version"], 1);
    let point = &json["programs"][0]["points"][0];
    // 3.4 / (1.7 + 2400 x 21.6e-6 + 5100 x 320.1e-6)
    let speedup = point["speedup"].as_f64().unwrap();
    assert!((speedup - 1.004_6).abs() < 1e-4, "{speedup}");
    assert_eq!(point["dominating"]["term"], "fetch");
    assert_eq!(point["regions"][0]["thread"], 1);
}

#[test]
fn the_aggregate_model_answers_for_given_and_fitted_fractions() {
    let directory = two_threads();
    let here = directory.path();
    let ask = |f: &str| {
        let line = "--json predict --model sdp-agg --counts c.csv --cluster gige_amd";
        let json = run(here, &format!("{line} {f}")).succeeded().json();
        let points = json["programs"][0]["points"].as_array().unwrap().clone();
        points
            .iter()
            .map(|point| {
                (
                    point["f"].as_f64().unwrap(),
                    point["speedup"].as_f64().unwrap(),
                )
            })
            .collect::<Vec<_>>()
    };
    let sweep = ask("");
    let fractions: Vec<f64> = sweep.iter().map(|(f, _)| *f).collect();
    assert_eq!(fractions, [0.0, 0.25, 0.5, 0.75, 1.0]);
    assert!(sweep.windows(2).all(|pair| pair[0].1 > pair[1].1));
    assert_eq!(ask("--serial-fraction 0.25"), [sweep[1]]);
    // Faster than any fraction can explain: nothing but overlap.
    assert_eq!(ask("--serial-fraction fit"), [sweep[0]]);
    let text = run(
        here,
        "predict --model sdp-agg --counts c.csv --cluster infiniband_ddr4x",
    );
    assert!(text.succeeded().text().contains("derived"), "{text:?}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let directory = two_threads();
    let here = directory.path();
    for options in [
        "--serial-fraction 0.5",
        "--at 0",
        "--dsm none",
        "--diff-bytes 0",
        "recording",
    ] {
        let ended = ask(here, options);
        assert_eq!(ended.in_words().code, Some(2), "{options}: {ended:?}");
    }
    for line in [
        "predict --model sdp-crit",
        "predict --counts c.csv",
        "predict --counts c.csv --model sdp-crit",
        "predict r --model sdp-crit",
        "predict r --model sdp-crit --cluster gige_amd --machine m.json",
        "predict r --model sdp-crit --cluster gige_amd --sequential 0",
        "predict r --sequential 1",
        "predict r --cluster gige_amd --cores 4",
        "predict r --model nodes --cluster gige_amd",
        "predict --counts c.csv --model sdp --cluster gige_amd",
        "predict --counts c.csv --model sdp-agg --cluster gige_amd --serial-fraction 2",
        "predict --counts c.csv --model sdp-agg --cluster gige_amd --serial-fraction NaN",
    ] {
        let ended = run(here, line);
        assert_eq!(ended.in_words().code, Some(2), "{line}: {ended:?}");
    }
    ask(here, "--at 16").refused(1, "only with 2");
    ask(here, "--dsm home").refused(1, "--dsm homeless");
    let line = "predict --model sdp-crit --counts c.csv --cluster";
    run(here, &format!("{line} gige_adm")).refused(1, "did you mean \"gige_amd\"");
    run(here, &format!("{line} myrinet")).refused(1, "infiniband_ddr4x");
    run(here, &format!("{line} no/file.json")).refused(1, "no/file.json");
    run(here, &format!("{line} .")).refused(1, "cannot read");
    run(
        here,
        "predict --model sdp-crit --counts none.csv --cluster gige_amd",
    )
    .refused(1, "none.csv");
}

#[test]
fn files_that_hold_something_else_are_refused() {
    for (csv, words) in [
        ("", "no counts"),
        ("threads,sequential_s,fetch_faults\n2,1,1\n", "write_faults"),
        (
            "threads,sequential_s,write_faults,fetch_faults\n2,1,-1,1\n",
            "line 2",
        ),
        (
            "threads,sequential_s,write_faults,fetch_faults\n2,1,1,NaN\n",
            "line 2",
        ),
        (
            "threads,sequential_s,write_faults,fetch_faults\n0,1,1,1\n",
            "whole number from 1",
        ),
    ] {
        let directory = in_directory(csv);
        ask(directory.path(), "").refused(1, words);
    }
    let directory = two_threads();
    let here = directory.path();
    fs::write(here.join("c.csv"), b"\xff\xfe\x00").unwrap();
    ask(here, "").refused(1, "c.csv");
}

#[test]
fn a_cluster_can_be_described_by_hand() {
    let directory = two_threads();
    let here = directory.path();
    let ask = |text: &str| {
        fs::write(here.join("ours.json"), text).unwrap();
        run(
            here,
            "--json predict --model sdp-crit --counts c.csv --cluster ours.json",
        )
    };
    let ours = r#"{ "schema": "fathomp.cluster", "version": 1, "name": "ours", "nodes": 2,
        "network": { "latency_us": 10, "bandwidth_mb_per_s": 1000 },
        "page_bytes": 4096, "fault_us": 5 }"#;
    let json = ask(ours).succeeded().json();
    assert_eq!(json["cluster"], "ours");
    assert_eq!(json["prices"]["derived"], true);
    ask(&ours.replace("\"version\": 1", "\"version\": 2")).refused(1, "version 2");
    ask(&ours.replace("\"fault_us\": 5", "\"fault_us\": 0")).refused(1, "fault_us is 0");
    ask(&ours.replace(", \"fault_us\": 5", "")).refused(1, "fault_us to derive");
    ask("{").refused(1, "no description of a cluster");
}

#[test]
fn recordings_of_one_node_have_no_faults_to_count() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    run(here, &format!("record -o r -- {}", two_regions().display())).succeeded();
    let line = "predict r --model sdp-crit --cluster gige_amd";
    run(here, line).refused(1, "--nodes");
    run(here, &format!("{line} --sequential 1")).refused(1, "--nodes");
    run(here, "predict r --cluster gige_amd").refused(1, "--nodes");
}
