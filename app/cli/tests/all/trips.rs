//! Iterations of loops that threads divide by the code: recorded for whatever way a program
//! begins its regions, and only where they are known.

use crate::common::{self, Ended, cache, fathomp, finish, run};
use std::path::Path;

/// Executions of a recording: threads, iterations if known, and the region's line.
fn executions(directory: &Path, recording: &str) -> Vec<(u64, Option<u64>, String)> {
    let ended = run(
        directory,
        &format!("regions --instances --json {recording}"),
    );
    let json = ended.succeeded().json();
    let all = json["executions"].as_array().unwrap();
    all.iter()
        .map(|one| {
            (
                one["threads"].as_u64().unwrap(),
                one["iterations"].as_u64(),
                one["region"].as_str().unwrap().to_owned(),
            )
        })
        .collect()
}

fn compile(directory: &Path, name: &str, source: &str, options: &[&str]) {
    let options: Vec<&str> = options.iter().copied().chain(["-fopenmp"]).collect();
    common::compile(directory, name, source, &options);
}

fn record(directory: &Path, options: &str, program: &str) -> Ended {
    let line = format!("record -o recording --force {options} -- {program}");
    run(directory, &line)
}

pub(crate) fn totals(
    directory: &Path,
    source: &str,
    options: &[&str],
    recorder: &str,
) -> Vec<Option<u64>> {
    compile(directory, "program", source, options);
    record(directory, recorder, "./program").succeeded();
    let all = executions(directory, "recording");
    all.into_iter()
        .map(|(_, iterations, _)| iterations)
        .collect()
}

/// Callers that alternate sizes, one of them behind a pointer and one in a variable.
const ALTERNATING: &str = r#"
struct box { long unused; int n; };
double a[5000];
long rows = 10;
__attribute__((noinline)) static void grid(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) a[i] += i;
}
__attribute__((noinline)) static void boxed(struct box *box) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < box->n; i++) a[i] *= 2;
}
__attribute__((noinline)) static void variable(void) {
#pragma omp parallel for
    for (long i = 0; i < rows; i++) a[i] -= 1;
}
int main(void) {
    struct box box = { 0, 0 };
    for (int round = 0; round < 3; round++) {
        for (int n = 4096; n >= 512; n /= 2) grid(n);
        box.n = 100 + round;
        boxed(&box);
        rows += 7;
        variable();
    }
    return a[3] == 0.5;
}
"#;

#[test]
fn callers_may_alternate_sizes() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path();
    for options in [&["-O2", "-g"][..], &["-O3"], &["-O0", "-g"]] {
        let found = totals(directory, ALTERNATING, options, "--threads 3");
        let expected: Vec<Option<u64>> = (0..3)
            .flat_map(|round| [4096, 2048, 1024, 512, 100 + round, 17 + 7 * round])
            .map(Some)
            .collect();
        let known = found.iter().filter(|one| one.is_some()).count();
        for (found, expected) in found.iter().zip(&expected) {
            assert!(
                found.is_none() || found == expected,
                "{options:?}: {found:?}"
            );
        }
        assert_eq!(found.len(), expected.len());
        // At -O0 the shares go by way of the stack.
        assert!(
            known == found.len() || options[0] == "-O0",
            "{options:?}: {found:?}"
        );
    }
}

/// The thread's shares add up, and tables show them.
#[test]
fn shares_are_shown_and_add_up() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path();
    compile(directory, "program", ALTERNATING, &["-O2", "-g"]);
    record(directory, "--threads 3", "./program").succeeded();
    let json = run(directory, "regions --json recording")
        .succeeded()
        .json();
    let regions = json["regions"].as_array().unwrap();
    let grid = regions
        .iter()
        .find(|region| region["trips"]["most"] == 4096)
        .unwrap();
    assert_eq!(grid["trips"]["iterations"], 3 * (4096 + 2048 + 1024 + 512));
    assert_eq!(
        (&grid["trips"]["fewest"], &grid["trips"]["sets"]),
        (&512.into(), &4.into())
    );
    let threads = grid["trips"]["threads"].as_array().unwrap();
    let shares = threads
        .iter()
        .map(|one| one["iterations"].as_u64().unwrap());
    assert_eq!((threads.len(), shares.sum()), (3, 3 * 7680));
    let text = run(directory, "regions --threads recording")
        .succeeded()
        .text();
    assert!(text.contains("Iter") && text.contains("23040"), "{text}");
    run(directory, "regions --csv table.csv recording").succeeded();
    let csv = std::fs::read_to_string(directory.join("table.csv")).unwrap();
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let column = names.iter().position(|name| *name == "static_iterations");
    let column = column.unwrap_or_else(|| panic!("{csv}"));
    assert!(lines.any(|line| line[column] == "7680"), "{csv}");
    let text = run(directory, "regions --instances recording")
        .succeeded()
        .text();
    assert!(
        text.lines().any(|line| line.starts_with("3 4096 ")),
        "{text}"
    );
}

/// A region entered by a jump, regions inside each other, and a child of a fork.
const WAYS: &str = r#"
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>
double a[1000];
__attribute__((noinline)) void tail(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) a[i] += 1;
}
__attribute__((noinline)) void inner(int n) {
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < n; i++) a[i] += 2;
}
int main(void) {
    omp_set_max_active_levels(2);
    tail(111);
#pragma omp parallel num_threads(2)
    inner(200 + omp_get_thread_num());
    tail(333);
    if (fork() == 0) {
        tail(444);
        _exit(0);
    }
    wait(0);
    return a[2] == 0.5;
}
"#;

#[test]
fn regions_are_known_by_whatever_way_they_begin() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path();
    let mut found = totals(directory, WAYS, &["-O2"], "--threads 2");
    found.retain(Option::is_some);
    let mut found: Vec<u64> = found.into_iter().flatten().collect();
    found.sort_unstable();
    assert_eq!(found, [111, 200, 201, 333, 444]);
}

/// A loop that is executed by one function, whose trips are its argument.
pub(crate) const WAYS_OF_NODES: &str = r#"
double a[1000];
__attribute__((noinline)) void run(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) a[i] += 1;
}
int main(void) {
    for (int round = 0; round < 3; round++) run(777);
    return a[2] != 3;
}
"#;

/// Regions of a library that is loaded while the program runs are not known, and do no harm.
#[test]
fn regions_of_loaded_libraries_stay_unknown() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path();
    let library = r#"
double b[100];
void work(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) b[i] += 1;
}
"#;
    compile(
        directory,
        "libwork.so",
        library,
        &["-O2", "-shared", "-fPIC"],
    );
    let program = r#"
#include <dlfcn.h>
double a[100];
int main(void) {
    int n = 50;
    for (int round = 0; round < 2; round++) {
        void *library = dlopen("./libwork.so", RTLD_NOW);
        if (!library) return 1;
        ((void (*)(int))dlsym(library, "work"))(60);
#pragma omp parallel for
        for (int i = 0; i < n; i++) a[i] += 1;
        dlclose(library);
    }
    return 0;
}
"#;
    let found = totals(directory, program, &["-O2", "-ldl"], "--threads 2");
    assert_eq!(found, [None, Some(50), None, Some(50)]);
}

/// What no expression says: rows of a sparse matrix, and an end that data decide.
#[test]
fn dry_runs_find_what_no_expression_says() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path();
    let source = r#"
#include <stdlib.h>
int main(void) {
    int n = 300, *row = malloc((n + 1) * sizeof *row);
    double *x = calloc(n * 10, sizeof *x), *y = calloc(n, sizeof *y);
    row[0] = 0;
    for (int i = 0; i < n; i++) row[i + 1] = row[i] + i % 7;
    for (int round = 0; round < 3; round++) {
#pragma omp parallel for
        for (int i = 0; i < n; i++)
            for (int k = row[i]; k < row[i + 1]; k++) y[i] += x[k];
    }
    return y[0] != 0;
}
"#;
    let found = totals(directory, source, &["-O2"], "--threads 2");
    assert_eq!(found, [Some(300); 3]);
    let recording = fathomp_trace::reader::open(&directory.join("recording")).unwrap();
    let facts = fathomp_analysis::facts(&recording);
    let sample = &facts[0].samples[0];
    assert_eq!((sample.times, sample.threads), (3, 2));
    assert!(sample.wall_ns > 0);
    let inner = (0..300).map(|i| i % 7).sum::<u64>() as f64;
    // There may have been time for a part of it only.
    let found = |found: &&fathomp_regions::DryLoop| {
        (found.iterations - inner).abs() <= inner * if found.exact { 0.0 } else { 0.02 }
    };
    assert!(sample.dry.iter().any(|one| found(&one)), "{:?}", sample.dry);
}

/// Plans that are none, or for another build, change nothing but that iterations are unknown.
#[test]
fn wrong_plans_do_no_harm() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path();
    compile(directory, "program", WAYS_OF_NODES, &["-O2"]);
    for (name, content) in [
        ("empty", Vec::new()),
        ("text", b"not a plan at all".to_vec()),
        ("cut", b"FTHPLAN\x01\0\0\0\0\xff\xff\xff\xff".to_vec()),
        ("zeros", vec![0; 100_000]),
    ] {
        std::fs::write(directory.join(name), content).unwrap();
        let mut command = fathomp(directory);
        command.env("FATHOMP_PLAN", directory.join(name));
        command.args(["run", "--threads", "2", "--", "./program"]);
        let ended = finish(&mut command);
        ended.succeeded();
        assert!(ended.stderr.contains("plan"), "{name}: {}", ended.stderr);
    }
    // A scan that was kept for another build is not used, and neither is a damaged one.
    let scans = cache().join("fathomp").join("scans");
    for entry in std::fs::read_dir(&scans).into_iter().flatten().flatten() {
        let _ = std::fs::write(entry.path(), "{}");
    }
    let before = totals(directory, WAYS_OF_NODES, &["-O2"], "--threads 2");
    assert_eq!(before, [Some(777); 3]);
    let other = WAYS_OF_NODES
        .replace("777", "555")
        .replace("< n", "< n - 1");
    let after = totals(directory, &other, &["-O2"], "--threads 2");
    assert_eq!(after, [Some(554); 3]);
    // Without a build-id a file is known by its path and time.
    let without = ["-O2", "-Wl,--build-id=none"];
    let found = totals(directory, WAYS_OF_NODES, &without, "--threads 2");
    assert_eq!(found, [Some(777); 3]);
}
