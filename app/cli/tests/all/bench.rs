//! `fathomp bench`, with few rows and samples, and what it refuses.

use crate::common::{fathomp, finish, run};
use fathomp_toolchain::testing::write_executable;
use std::fs;
use std::path::Path;

/// The shortest measurement there is.
const SHORT: &str = "--cc gcc --runs 1 --samples 3 --target-us 10";

fn script(path: &Path, text: &str) {
    write_executable(path, format!("#!/bin/sh\n{text}\n").as_bytes()).unwrap();
}

#[test]
fn every_output_is_written_and_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let line = "bench epcc --only BARRIER,DYNAMIC --threads 1,3 --runtime fathomp,libgomp \
                -o a.json --csv a.csv --gnuplot plots --html a.html";
    let ended = run(at, &format!("{line} {SHORT}"));
    ended.succeeded();
    let table = ended.text();
    for words in [
        "epcc, 3 threads",
        "BARRIER",
        "DYNAMIC 1",
        "gcc+fathomp",
        "gcc+libgomp",
        "geometric mean",
    ] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let read = |name: &str| fs::read_to_string(at.join(name)).unwrap();
    assert!(read("a.csv").lines().count() > 8);
    assert!(read("plots/plots.gp").contains("epcc-dynamic-chunk"));
    assert!(read("a.html").contains("id=\"epcc-dynamic-chunk\""));
    run(at, line).refused(1, "a.json exists: use --force");

    // The same result twice counts once; both make the page that bench made.
    fs::copy(at.join("a.json"), at.join("b.json")).unwrap();
    let report = run(at, "report a.json b.json -o joined.html");
    report.succeeded();
    assert!(report.stderr.contains("counts once"), "{report:?}");
    assert!(read("joined.html").contains("id=\"epcc-dynamic-chunk\""));
    let answer = run(at, "--json report a.json -o one.html");
    assert_eq!(answer.succeeded().json()["results"], 1);

    let cut = &read("a.json")[..2000];
    fs::write(at.join("cut.json"), cut).unwrap();
    run(at, "report a.json cut.json -o c.html").refused(1, "cut.json is truncated");
    fs::write(at.join("other.json"), "{\"schema\":\"fathomp.machine\"}").unwrap();
    run(at, "report other.json -o c.html").refused(1, "other.json is not a result");
    fs::create_dir(at.join("study")).unwrap();
    run(at, "report a.json study -o c.html").refused(1, "one kind at a time");
}

#[test]
fn more_threads_than_processors_are_measured_and_marked() {
    let directory = tempfile::tempdir().unwrap();
    let ended = run(
        directory.path(),
        &format!("--json bench epcc --only PARALLEL --threads 64 --runtime fathomp {SHORT}"),
    );
    let answer = ended.succeeded().json();
    let warnings = answer["warnings"].to_string();
    assert!(warnings.contains("64 threads shared"), "{warnings}");
    assert_eq!(answer["points"][0]["threads"], 64);
}

#[test]
fn nonsense_is_refused_in_one_sentence() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    for (line, words) in [
        ("bench epcc --only NOTHING", "no row called \"NOTHING\""),
        ("bench mcbench --group sync", "no group called \"sync\""),
        ("bench epcc --runtime nobody", "names no runtime"),
        (
            "bench epcc --runtime x=/nonexistent.so",
            "cannot use the library",
        ),
        ("bench epcc --runtime x=/bin/sh", "is no OpenMP runtime"),
        (
            "bench epcc --runtime libgomp,libgomp",
            "two runtimes are called",
        ),
        ("bench epcc -o /nonexistent/a.json", "no such directory"),
    ] {
        run(at, &format!("{line} {SHORT}")).refused(1, words);
    }
    for line in [
        "bench",
        "bench nothing",
        "bench epcc --threads 0",
        "bench epcc --runs 0",
    ] {
        let ended = run(at, line);
        assert_eq!(ended.in_words().code, Some(2), "{ended:?}");
    }
    script(&at.join("mute"), "exit 1");
    script(
        &at.join("nomp"),
        "case \"$1\" in --version) echo gcc 1;; *) echo 'error: no OpenMP' >&2; exit 1;; esac",
    );
    run(at, "bench epcc --cc /nonexistent/cc").refused(1, "no compiler called");
    run(at, "bench epcc --cc ./mute").refused(1, "./mute");
    run(at, "bench epcc --cc ./nomp").refused(1, "cannot build OpenMP programs");
    let none = finish(fathomp(at).args(["bench", "epcc"]).env("PATH", at));
    none.refused(1, "no compiler to build the benchmarks with");
}

#[test]
fn the_form_of_epcc_is_printed_and_read() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let line = "bench epcc --only BARRIER --threads 1 --runtime libgomp --format epcc -o ours.json";
    let ended = run(at, &format!("{line} {SHORT}"));
    ended.succeeded();
    let text = ended.text();
    assert!(text.contains("BARRIER overhead = "), "{text}");
    fs::write(
        at.join("theirs.txt"),
        text.replace("BARRIER", "PARALLEL_FOR"),
    )
    .unwrap();
    run(at, "report ours.json theirs.txt -o both.html").succeeded();
    let page = fs::read_to_string(at.join("both.html")).unwrap();
    for words in ["In EPCC", "theirs.txt", "PARALLEL FOR", "gcc+libgomp"] {
        assert!(page.contains(words), "{words}");
    }
    run(at, "report theirs.txt -o alone.html").succeeded();
    fs::write(
        at.join("cut.txt"),
        "BARRIER overhead = 1.0 microseconds +/- 0.1",
    )
    .unwrap();
    run(at, "report cut.txt -o cut.html").refused(1, "line 1 is cut or changed");
    run(at, "bench mcbench --format epcc").refused(2, "ask for the suite epcc");
}
