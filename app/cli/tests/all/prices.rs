//! An emulated network between nodes, and what things cost there.

use crate::common::{compile, fathomp, finish, in_peace, run};
use std::fs;

const USAGE: i32 = 2;

/// Prints how long a number of barriers took, in microseconds.
const BARRIERS: &str = r#"
#include <omp.h>
#include <stdio.h>
int main(void)
{
    double start = 0, end = 0;
#pragma omp parallel
    {
#pragma omp barrier
        if (omp_get_thread_num() == 0) start = omp_get_wtime();
        for (int i = 0; i < 10; i++) {
#pragma omp barrier
        }
        if (omp_get_thread_num() == 0) end = omp_get_wtime();
    }
    printf("%.0f\n", (end - start) * 1e6);
    return 0;
}
"#;

#[test]
fn a_network_that_makes_no_sense_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for (line, words) in [
        ("run --net 60,98 -- true", "there is one node"),
        ("record --net gige_amd -- true", "there is one node"),
        ("calibrate --net gige_amd", "there is one node"),
        ("workload run cg --net gige_amd", "there is one node"),
        ("run --nodes 1 --net 60,98 -- true", "there is one node"),
        (
            "run --nodes 2 --net gige_amt -- true",
            "did you mean \"gige_amd\"?",
        ),
        (
            "run --nodes 2 --net ethernet -- true",
            "there is no cluster",
        ),
        ("run --nodes 2 --net 60 -- true", "there is no cluster"),
        ("run --nodes 2 --net 60,0 -- true", "is no network"),
        ("run --nodes 2 --net=-1,98 -- true", "is no network"),
        ("run --nodes 2 --net 60,nan -- true", "is no network"),
        ("run --nodes 2 --net 60,98,1 -- true", "is no network"),
    ] {
        let ended = run(directory.path(), line);
        assert_eq!(ended.in_words().code, Some(USAGE), "{line}: {ended:?}");
        assert!(ended.stderr.contains(words), "{line}: {ended:?}");
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn the_environment_is_checked_like_the_option() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile(directory.path(), "barriers", BARRIERS, &["-fopenmp"]);
    let ended = finish(
        fathomp(directory.path())
            .args(["run", "--nodes", "2", "--threads", "1", "--"])
            .arg(&program)
            .env("FATHOMP_DSM_NET", "slow"),
    );
    assert_ne!(ended.code, Some(0));
    assert!(ended.stderr.contains("FATHOMP_DSM_NET"), "{ended:?}");
}

#[test]
fn nothing_is_earlier_than_the_network_allows() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile(directory.path(), "barriers", BARRIERS, &["-fopenmp"]);
    let ended = finish(
        fathomp(directory.path())
            .args([
                "run",
                "--nodes",
                "3",
                "--threads",
                "1",
                "--net",
                "5000,10",
                "--",
            ])
            .arg(&program),
    );
    ended.succeeded();
    // Whoever goes on first has heard from somebody who has heard from all.
    let took_us: f64 = ended.text().trim().parse().unwrap();
    assert!(took_us >= 10.0 * 5000.0, "{took_us}");
}

#[test]
fn calibration_of_nodes_prices_predictions() {
    let directory = tempfile::tempdir().unwrap();
    let ended = run(
        directory.path(),
        "calibrate --threads 1 --nodes 2 --net 200,100 -o machine.json --json",
    );
    let cluster = ended.succeeded().json()["cluster"].take();
    let number = |path: &str| cluster.pointer(path).unwrap().as_f64().unwrap();
    // There and back, and a page.
    assert!(number("/home/fetch_fault_us") >= 2.0 * 200.0 + 4096.0 / 100.0);
    assert!(number("/network/latency_us") >= 200.0);
    assert!(number("/network/bandwidth_mb_per_s") <= 100.5);
    assert_eq!(number("/measured/network_emulated/latency_us"), 200.0);
    let row = &cluster["measured"]["synchronisation"][0];
    assert_eq!(row["nodes"], 2);
    assert!(row["barrier_us"]["median"].as_f64().unwrap() >= 200.0);
    assert!(row["fetch_at_work_us"]["median"].as_f64().unwrap() >= 400.0);

    let counts = "threads,sequential_s,local_write_faults,remote_write_faults,fetch_faults,diffs_to_home\n2,1,0,0,1000,0\n";
    fs::write(directory.path().join("counts.csv"), counts).unwrap();
    let ended = run(
        directory.path(),
        "predict --model sdp-crit --counts counts.csv --cluster machine.json --json",
    );
    let predicted = ended.succeeded().json();
    let time_ns = predicted["programs"][0]["points"][0]["time_ns"].as_f64();
    let expected_ns = 0.5e9 + 1000.0 * number("/home/fetch_fault_us") * 1e3;
    assert!((time_ns.unwrap() / expected_ns - 1.0).abs() < 1e-9);
}

#[test]
fn a_machine_without_nodes_is_no_cluster() {
    let directory = tempfile::tempdir().unwrap();
    run(directory.path(), "calibrate --threads 1 -o machine.json").succeeded();
    let ended = run(
        directory.path(),
        "run --nodes 2 --net ./machine.json -- true",
    );
    assert_eq!(ended.in_words().code, Some(USAGE), "{ended:?}");
    assert!(ended.stderr.contains("calibrate --nodes 2"), "{ended:?}");
    run(
        directory.path(),
        "calibrate --nodes 2 --cc no-such-compiler",
    )
    .refused(1, "no-such-compiler");
}

/// The program's faults are those that it is to measure.
#[test]
fn the_prices_are_those_of_the_faults_they_are_named_after() {
    const PAGES: u64 = 32;
    const ROUNDS: u64 = 6;
    let directory = tempfile::tempdir().unwrap();
    let suites = concat!(env!("CARGO_MANIFEST_DIR"), "/../../suites");
    let program = directory.path().join("prices");
    let sources = ["prices/prices.c", "common/clock.c", "common/json.c"];
    let built = std::process::Command::new("gcc")
        .args(["-O2", "-fopenmp", "-Icommon", "-o"])
        .arg(&program)
        .args(sources)
        .current_dir(suites)
        .status();
    assert!(built.unwrap().success());
    let ended = finish(
        fathomp(directory.path())
            .args([
                "record",
                "--nodes",
                "2",
                "--threads",
                "1",
                "--dsm-plain",
                "-o",
                "r",
                "--",
            ])
            .arg(&program)
            .args(["faults", &PAGES.to_string(), &ROUNDS.to_string(), "60000"]),
    );
    assert_eq!(ended.succeeded().json()["wrong"], 0);
    let facts = run(directory.path(), "regions r --json");
    let facts = facts.succeeded().json();
    let counts = facts["regions"].as_array().unwrap().iter();
    let all = |name: &str| -> u64 {
        let counts = counts
            .clone()
            .filter_map(|region| region["dsm"]["all"][name].as_u64());
        counts.sum()
    };
    // With the round for warming up; a few pages of variables come on top.
    let expected = PAGES * (ROUNDS + 1);
    for name in ["write_faults_local", "write_faults_remote", "diffs_sent"] {
        assert!(
            (expected..expected + 40).contains(&all(name)),
            "{name}: {}",
            all(name)
        );
    }
    // Before the first round too.
    let fetched = expected + PAGES;
    assert!(
        (fetched..fetched + 40).contains(&all("fetch_faults")),
        "{}",
        all("fetch_faults")
    );
}

#[test]
fn predictions_are_held_against_what_was_observed() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile(directory.path(), "barriers", BARRIERS, &["-fopenmp"]);
    let record = |name: &str, nodes: &str| {
        let ended = finish(
            fathomp(directory.path())
                .args([
                    "record",
                    "--nodes",
                    nodes,
                    "--threads",
                    "1",
                    "-o",
                    name,
                    "--",
                ])
                .arg(&program),
        );
        ended.succeeded();
        in_peace(&directory.path().join(name));
    };
    record("on-1", "1");
    record("on-2", "2");
    let ended = run(
        directory.path(),
        "predict --validate on-1 on-2 --cluster gige_amd",
    );
    let text = ended.succeeded().text();
    for words in ["gige_amd", "Observed", "Amdahl", "Critical"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let ended = run(directory.path(), "predict --validate on-1 on-2 --json");
    let validated = ended.succeeded().json();
    assert_eq!(validated["schema"], "fathomp.validation");
    assert_eq!(validated["rows"][0]["threads"], 2);
    let ended = run(directory.path(), "predict on-1 on-2 --cluster gige_amd");
    assert!(ended.succeeded().text().contains("Critical-path model"));
    assert!(ended.stderr.contains("--accesses"), "{ended:?}");
    run(
        directory.path(),
        "report on-1 on-2 --cluster gige_amd -o page.html",
    )
    .succeeded();
    let page = fs::read_to_string(directory.path().join("page.html")).unwrap();
    assert!(page.contains("id=\"nodes\"") && page.contains("id=\"nodes-table\""));
    let facts = run(directory.path(), "regions on-2 --json")
        .succeeded()
        .json();
    assert!(facts["program"]["processor_ns"].as_u64() > Some(0));
    for (line, code, words) in [
        ("predict --validate on-1", 1, "1 thread"),
        ("predict --validate on-2", 1, "1 thread"),
        (
            "predict --validate on-1 on-1 --cluster gige_amd",
            1,
            "1 thread",
        ),
        (
            "predict --validate on-1 on-2 --cluster no-such",
            1,
            "no cluster",
        ),
        ("predict --validate on-1 on-2 --at 4", USAGE, "--at"),
        ("predict --validate --counts x.csv", USAGE, "--counts"),
    ] {
        let ended = run(directory.path(), line);
        assert_eq!(ended.in_words().code, Some(code), "{line}: {ended:?}");
        assert!(ended.stderr.contains(words), "{line}: {ended:?}");
    }
}

#[test]
fn prices_without_homes_are_those_of_two_faults() {
    let directory = tempfile::tempdir().unwrap();
    let ended = run(
        directory.path(),
        "calibrate --threads 1 --nodes 2 --dsm homeless --net 200,100 --json",
    );
    let cluster = ended.succeeded().json()["cluster"].take();
    assert!(cluster.get("home").is_none(), "{cluster}");
    let price = |name: &str| cluster["homeless"][name].as_f64().unwrap();
    // There and back, and a diff of half a page.
    assert!(price("fetch_fault_us") >= 2.0 * 200.0 + 2048.0 / 100.0);
    assert!(price("write_fault_us") < price("fetch_fault_us"));
}
