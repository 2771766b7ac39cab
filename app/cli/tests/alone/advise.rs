//! `fathomp advise` and `fathomp predict --evaluate`, as users call them.

use crate::common::{compile, run};
use libtest_mimic::Trial;
use std::fs;
use std::path::Path;

pub(crate) fn trials() -> Vec<Trial> {
    Vec::from(trials![
        "advise",
        one_recording_says_what_each_region_deserves,
        what_cannot_be_advised_on_is_refused,
        an_evaluation_can_be_repeated_without_running
    ])
}

/// A loop that computes, one that streams, one that is small and called often, a triangle.
const PROGRAM: &str = r#"
#include <stdlib.h>
static double *a, *b;
__attribute__((noinline)) void computes(long n)
{
#pragma omp parallel for
    for (long i = 0; i < n; i++) {
        double x = i;
        for (int k = 0; k < 400; k++)
            x = x * 0.999 + 0.5;
        a[i] = x;
    }
}
__attribute__((noinline)) void streams(long n)
{
#pragma omp parallel for
    for (long i = 0; i < n; i++)
        b[i] = a[i] + b[i];
}
__attribute__((noinline)) void little(long n)
{
#pragma omp parallel for
    for (long i = 0; i < n; i++)
        a[i] += 1.0;
}
__attribute__((noinline)) void triangle(long n)
{
#pragma omp parallel for
    for (long i = 0; i < n; i++)
        for (long j = 0; j < i; j++)
            a[i] += b[j];
}
int main(void)
{
    long n = 8000000;
    a = calloc(n, 8), b = calloc(n, 8);
    computes(300000);
    for (int k = 0; k < 5; k++)
        streams(n);
    for (int k = 0; k < 2000; k++)
        little(50);
    triangle(8000);
    return a[17] < 0;
}
"#;

/// A machine of eight cores, so that the answer is the same wherever this runs.
const MACHINE: &str = r#"{
  "schema": "fathomp.machine", "version": 1, "cores": 8, "cpu_model": "made up",
  "constructs": [
    {"threads": 1, "fork_join_ns": 200, "barrier_ns": 50, "dynamic_chunk_ns": 50, "lock_ns": 50},
    {"threads": 8, "fork_join_ns": 5000, "barrier_ns": 2000, "dynamic_chunk_ns": 90, "lock_ns": 200}],
  "bandwidth": [
    {"threads": 1, "bytes_per_s": 4e9}, {"threads": 2, "bytes_per_s": 5e9},
    {"threads": 8, "bytes_per_s": 5e9}],
  "caches": [{"level": 3, "bytes": 33554432, "line_bytes": 64, "shared_by": 8}]
}"#;

fn recorded(directory: &Path) {
    compile(directory, "prog", PROGRAM, &["-fopenmp", "-O2", "-g"]);
    fs::write(directory.join("machine.json"), MACHINE).unwrap();
    run(directory, "record --threads 1 -o recording -- ./prog").succeeded();
}

fn region<'a>(advice: &'a serde_json::Value, function: &str) -> &'a serde_json::Value {
    let regions = advice["regions"].as_array().unwrap();
    let found = regions.iter().find(|one| {
        one["symbol"]
            .as_str()
            .is_some_and(|symbol| symbol.starts_with(function))
    });
    found.unwrap_or_else(|| panic!("no {function} in {advice}"))
}

fn one_recording_says_what_each_region_deserves() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    recorded(directory);
    let advised = run(
        directory,
        "--json advise recording --machine machine.json -o advice.json",
    );
    let advice = advised.succeeded().json();
    assert_eq!(advice["schema"], "fathomp.advice");
    let threads = |function: &str| region(&advice, function)["advised"]["threads"].as_u64();
    assert_eq!(threads("computes"), Some(8), "{advice:#}");
    assert_eq!(threads("little"), Some(1), "{advice:#}");
    let streams = region(&advice, "streams");
    assert_eq!(
        streams["points"].as_array().unwrap().last().unwrap()["dominating"],
        "bandwidth"
    );
    assert!(threads("streams").unwrap() <= 4, "{streams:#}");
    let triangle = region(&advice, "triangle");
    assert_eq!(
        triangle["points"].as_array().unwrap().last().unwrap()["dominating"],
        "imbalance"
    );
    // What the runtime needs to find it.
    assert!(triangle["address"].as_u64().unwrap() > 0);
    let module = &advice["modules"][triangle["module"].as_u64().unwrap() as usize];
    assert!(module["path"].as_str().unwrap().ends_with("/prog"));
    let steps = region(&advice, "little")["steps"].as_array().unwrap();
    assert!(steps.len() > 1 && steps[0]["threads"] == 1, "{steps:?}");
    assert_eq!(
        fs::read_to_string(directory.join("advice.json")).unwrap(),
        advised.text()
    );
    let patch = run(directory, "advise recording --machine machine.json --patch");
    let diff = patch.succeeded().text();
    assert!(
        diff.contains("+#pragma omp parallel for num_threads(1)\n"),
        "{diff}"
    );
    let words = run(directory, "advise recording --machine machine.json")
        .succeeded()
        .text();
    assert!(words.contains("bandwidth of memory"), "{words}");
    // A program alone is enough, for relative advice.
    let alone = run(
        directory,
        "--json advise prog --machine dunnington --packages 2",
    );
    let advice = alone.succeeded().json();
    assert_eq!(advice["machine"]["packages"], 2);
    assert_eq!(advice["machine"]["cores"], 12);
    assert!(
        advice["regions"]
            .as_array()
            .unwrap()
            .iter()
            .all(|one| one["confidence"] == "low")
    );
}

fn what_cannot_be_advised_on_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    fs::write(directory.join("machine.json"), MACHINE).unwrap();
    fs::write(directory.join("text"), "no program").unwrap();
    fs::write(directory.join("bytes"), [0xff, 0xfe, 0, 1]).unwrap();
    fs::write(directory.join("elf"), b"\x7fELF and nothing").unwrap();
    fs::write(
        directory.join("empty.json"),
        "{\"schema\": \"fathomp.regions\", \"version\": 1}",
    )
    .unwrap();
    for (input, words) in [
        ("gone", "cannot read gone"),
        ("text", "no list of regions"),
        ("bytes", "neither a program nor regions.json"),
        ("elf", "elf"),
        ("empty.json", "no parallel region"),
    ] {
        run(directory, &format!("advise {input} --machine machine.json")).refused(1, words);
    }
    run(directory, "advise text --machine cray-1").refused(2, "clovertown, dunnington");
    run(directory, "advise text --machine clovertown --packages 3").refused(2, "2 packages, not 3");
    run(directory, "predict --load nowhere").refused(1, "cannot read nowhere");
}

fn an_evaluation_can_be_repeated_without_running() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let measured = run(
        directory,
        "--json predict --evaluate --programs gemm,mvt,jacobi-2d --size large --repeat 2 --budget 20s --include-noisy --save kept -o page.html --csv lines.csv",
    );
    let first = measured.succeeded().json();
    assert_eq!(first["schema"], "fathomp.evaluation");
    assert!(first["benchmarks"].as_u64().unwrap() >= 2, "{first:#}");
    let predictors = first["predictors"].as_array().unwrap();
    assert_eq!(predictors[0]["name"], "ours");
    assert!(predictors.len() >= 6);
    let page = fs::read_to_string(directory.join("page.html")).unwrap();
    assert!(page.contains("Scatter plot of predicted and measured utilisation"));
    assert!(
        fs::read_to_string(directory.join("lines.csv"))
            .unwrap()
            .lines()
            .count()
            > 6
    );
    let again = run(directory, "--json predict --load kept --include-noisy")
        .succeeded()
        .json();
    assert_eq!(first, again);
}
