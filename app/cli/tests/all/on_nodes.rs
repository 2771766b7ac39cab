//! What commands of the main job do where the program runs on several nodes.

use crate::answers::{numbers, page, same};
use crate::common::{fathomp, fault_schemes, finish, in_peace, last_line, run, two_regions};
use crate::stacks::{build, limited};
use crate::trips::{WAYS_OF_NODES, totals};
use crate::workload::{answer, verify_instead};
use std::fs;

#[test]
fn a_report_predicts_for_nodes_what_predict_does() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    for nodes in ["1", "2", "3"] {
        let mut record = fathomp(here);
        record.args(["record", "--nodes", nodes, "--threads", "1"]);
        record.args(["-o", &format!("on-{nodes}"), "--"]);
        finish(record.arg(two_regions())).succeeded();
        in_peace(&here.join(format!("on-{nodes}")));
    }
    let line = "on-1 on-2 on-3 --cluster gige_amd";
    let told = run(here, &format!("predict --validate {line} --json"));
    let told = told.succeeded().json();
    let rows = told["rows"].as_array().unwrap();
    let shown = numbers(&page(here, line), "nodes-table");
    assert_eq!((rows.len(), shown.len()), (2, 2), "{told} {shown:?}");
    for (row, shown) in rows.iter().zip(shown) {
        let predictions = row["predictions"].as_array().unwrap();
        let of = |predictor: &str| {
            let mut all = predictions.iter();
            let one = all.find(|one| one["predictor"] == predictor).unwrap();
            one["speedup"].as_f64().unwrap()
        };
        let told = [
            row["threads"].as_f64().unwrap(),
            row["speedup_observed"].as_f64().unwrap(),
            of("critical"),
            of("aggregate_f1"),
            of("aggregate_f0"),
        ];
        let all = told.iter().zip(&shown);
        assert!(
            all.into_iter().all(|(a, b)| same(*a, *b)),
            "{told:?} {shown:?}"
        );
    }
}

#[test]
fn recordings_say_how_nodes_shared_memory() {
    let directory = tempfile::tempdir().unwrap();
    let line = format!("--threads 1 -- {}", two_regions().display());
    let record = |options: &str, network: Option<&str>| {
        let mut command = fathomp(directory.path());
        command.args(format!("record --force {options} {line}").split_whitespace());
        command.envs(network.map(|network| ("FATHOMP_DSM_NET", network)));
        command.env("FATHOMP_KEY", "secret");
        finish(&mut command).succeeded();
        let meta = fs::read(directory.path().join("recording/meta.json")).unwrap();
        serde_json::from_slice::<serde_json::Value>(&meta).unwrap()
    };
    let alone = record("", None);
    assert!(alone["sharing"].is_null());
    assert!(alone["environment"]["FATHOMP_KEY"].is_null(), "{alone}");
    let options = "--nodes 2 --dsm homeless --dsm-plain --fault-detection mprotect --net 20,1000";
    let expected = serde_json::json!({
        "protocol": "homeless", "plain": true, "network": "20,1000", "faults": "mprotect",
    });
    assert_eq!(record(options, None)["sharing"], expected);
    // What the user has set without an option counts as well.
    let sharing = record("--nodes 2", Some("20,1000"))["sharing"].take();
    assert_eq!(sharing["network"], "20,1000");
    assert_eq!(sharing["protocol"], "home");
    assert!(sharing["faults"].is_string());
}

#[test]
fn iterations_are_known_on_nodes() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path();
    let found = totals(directory, WAYS_OF_NODES, &["-O2"], "--nodes 2 --threads 1");
    assert!(found.contains(&Some(777)), "{found:?}");
    assert!(
        found.iter().flatten().all(|total| *total == 777),
        "{found:?}"
    );
}

#[test]
fn workloads_run_on_nodes() {
    let directory = tempfile::tempdir().unwrap();
    for more in ["", " --fault-detection mprotect"] {
        let line = format!("workload run is --nodes 2 --threads 2{more}");
        let ended = run(directory.path(), &line);
        let last = last_line(ended.succeeded());
        assert_eq!(last["verified"], true, "{more}");
        assert_eq!(last["threads"], 4, "{more}");
    }
}

#[test]
fn results_are_compared_on_nodes_as_on_threads() {
    let directory = tempfile::tempdir().unwrap();
    let line = "workload verify is mvt order2d --nodes 2 --threads 1,2";
    let ended = run(directory.path(), line);
    let text = ended.succeeded().text();
    assert!(text.contains("fathomp 2 × 2"), "{text}");
    assert!(!text.contains("system"), "{text}");
    assert!(
        text.ends_with("3 workloads are right, in 6 runs.\n"),
        "{text}"
    );
    let answer = run(directory.path(), &format!("{line} --json")).json();
    let last = &answer["workloads"][2]["runs"][1];
    assert_eq!((&last["nodes"], &last["threads"]), (&2.into(), &2.into()));
}

#[test]
fn fewer_threads_than_nodes_are_no_right_answer() {
    // It says that it had one thread.
    let words =
        "cg with 1 thread on each of 2 nodes on fathomp: it ran with 1 instead of 2 threads";
    let ended = verify_instead(&answer("true"), "--nodes 2");
    assert!(ended.text().contains(words), "{ended:?}");
}

#[test]
fn stacks_of_nodes_are_told_from_other_memory() {
    let directory = build(&[]);
    for scheme in fault_schemes() {
        let on_nodes = |arguments: &str| {
            let line = format!(
                "run --nodes 2 --threads 1 --fault-detection {scheme} -- ./crash {arguments}"
            );
            limited(directory.path(), &line)
        };
        for (place, words) in [
            (
                "initial",
                "the initial thread, ran out of stack: recursion without end",
            ),
            (
                "worker",
                "OpenMP thread 1 ran out of stack: recursion without end",
            ),
        ] {
            let ended = on_nodes(&format!("recursion {place}"));
            assert_ne!(ended.in_words().code, Some(0), "{scheme} {ended:?}");
            assert_eq!(ended.stderr.matches(words).count(), 1, "{scheme} {ended:?}");
        }
        for place in ["initial", "worker"] {
            let ended = on_nodes(&format!("null {place}"));
            assert_ne!(ended.in_words().code, Some(0), "{scheme} {ended:?}");
            assert!(
                !ended.stderr.contains("ran out of stack"),
                "{scheme} {ended:?}"
            );
        }
    }
}
