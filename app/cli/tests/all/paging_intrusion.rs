//! What recording costs a program: runs without and with it in turn, in the published form.

use crate::common::paging::{Seen, build, record, recorder};
use crate::common::{self, collect, compile, run};
use fathomp_bench::intrusion::{Counted, Document, INTRUSION_FILE};
use std::fs;
use std::io::Write;
use std::process::Stdio;

const WRITERS: [&str; 6] = [
    "task",
    "striped",
    "message",
    "collector",
    "loopback",
    "shared",
];

fn document(text: &[u8]) -> Document {
    serde_json::from_slice(text)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(text)))
}

#[test]
fn every_writer_has_a_row_beside_the_published_ones() {
    let directory = tempfile::tempdir().unwrap();
    build(directory.path(), "family", &["-pthread"]);
    let options = ["--measure-intrusion=2"];
    let ended = record(directory.path(), &options, &["./family", "busy"]);
    let text = ended.succeeded().text();
    for writer in WRITERS {
        let row = text
            .lines()
            .find(|line| line.starts_with(&format!("{writer} ")));
        let row = row.unwrap_or_else(|| panic!("no {writer}: {ended:?}"));
        assert!(row.contains("family") && row.contains("busy"), "{ended:?}");
    }
    let published = text.lines().filter(|line| line.starts_with("published "));
    assert_eq!(published.count(), 21, "{ended:?}");
    assert!(text.contains("+0.6 % to +184.1 %"), "{ended:?}");
    assert!(text.contains("too narrow"), "{ended:?}");
    // The program's output is not among the results.
    assert!(ended.stderr.contains("busy\n"), "{ended:?}");
    assert_eq!(ended.stderr.matches("busy\n").count(), 1, "{ended:?}");
    let recording = directory.path().join("recording");
    let found = document(&fs::read(recording.join(INTRUSION_FILE)).unwrap());
    assert_eq!(found.rounds.len(), 2);
    for round in &found.rounds {
        assert_eq!(round.runs.len(), 1 + WRITERS.len(), "{round:?}");
        assert!(
            round
                .runs
                .iter()
                .all(|run| run.problem.is_none() && run.wall_ns > 0)
        );
    }
    assert_eq!(found.rows.len(), WRITERS.len());
    for row in &found.rows {
        assert_eq!(
            (row.nodes, row.nodes_profiled, row.pairs),
            (1, 1, 2),
            "{row:?}"
        );
        assert_eq!((row.counted, row.lost), (Counted::Tasks, 0), "{row:?}");
        // 20,000 reads, and as many stays between them.
        assert!(row.state_changes >= 40_000, "{row:?}");
        assert!(row.trace_bytes_per_node > 20_000, "{row:?}");
    }
    // One recording is the directory's own, the others lie beside it.
    for place in ["", "writers/task", "writers/striped", "writers/loopback-1"] {
        let seen = Seen::of(&recording.join(place));
        assert!(
            seen.program("family").stays_in("read") >= 20_000,
            "{place}: {seen:?}"
        );
    }
}

#[test]
fn the_answer_is_one_document() {
    let directory = tempfile::tempdir().unwrap();
    build(directory.path(), "teams", &["-fopenmp"]);
    let mut command = recorder(
        directory.path(),
        &[
            "--json",
            "--threads",
            "3",
            "--writer",
            "shared,task",
            "--measure-intrusion=1",
        ],
        &["./teams"],
    );
    let ended = common::finish(&mut command);
    let printed = document(&ended.succeeded().stdout);
    let kept = fs::read(directory.path().join("recording").join(INTRUSION_FILE)).unwrap();
    assert_eq!(document(&kept), printed);
    let names: Vec<_> = printed.rows.iter().map(|row| row.writer.as_str()).collect();
    assert_eq!(names, ["shared", "task"]);
    assert_eq!(printed.rows[0].nodes, 3, "{ended:?}");
    assert!(printed.rows[0].intrusion.interval.is_none());
}

#[test]
fn nodes_and_parts_are_counted_as_published() {
    let directory = tempfile::tempdir().unwrap();
    build(directory.path(), "teams", &["-fopenmp"]);
    let options = [
        "--json",
        "--nodes",
        "3",
        "--threads",
        "1",
        "--tasks",
        "node:0-1",
        "--writer",
        "shared",
        "--measure-intrusion=1",
    ];
    let ended = record(directory.path(), &options, &["./teams"]);
    let found = document(&ended.succeeded().stdout);
    let row = &found.rows[0];
    assert_eq!(
        (row.counted, row.nodes, row.nodes_profiled),
        (Counted::Nodes, 3, 2),
        "{row:?}"
    );
    assert_eq!(found.subject.options, ["--tasks=node:0-1"]);
}

/// Every run reads the same, though the input can be read once only.
#[test]
fn every_run_reads_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let options = ["--json", "--writer", "shared", "--measure-intrusion=2"];
    let mut command = recorder(directory.path(), &options, &["wc", "-l"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(&[b'\n'; 1234])
        .unwrap();
    let ended = collect(child);
    let found = document(&ended.succeeded().stdout);
    assert!(ended.stderr.contains("1234"), "{ended:?}");
    let differs = found.warnings.iter().any(|one| one.contains("differs"));
    assert!(!differs, "{:?}", found.warnings);
    assert_eq!(found.rows[0].pairs, 2);
}

#[test]
fn a_program_that_fails_alike_is_measured_and_its_code_passed_on() {
    let directory = tempfile::tempdir().unwrap();
    let options = ["--writer", "shared", "--measure-intrusion=1"];
    let ended = record(directory.path(), &options, &["sh", "-c", "exit 3"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.text().contains("shared "), "{ended:?}");
}

/// A program that behaves otherwise when it is recorded.
#[test]
fn runs_that_end_otherwise_do_not_count() {
    let directory = tempfile::tempdir().unwrap();
    let source = r#"
#include <stdlib.h>
int main(void) { return getenv("FATHOMP_PAGING") ? 9 : 0; }
"#;
    compile(directory.path(), "unlike", source, &[]);
    let options = ["--writer", "shared", "--measure-intrusion=1"];
    let ended = record(directory.path(), &options, &["./unlike"]);
    ended.in_words();
    assert_eq!(ended.code, Some(125), "{ended:?}");
    let said = "it ended with exit code 9 instead of exit code 0";
    assert!(ended.text().contains(said), "{ended:?}");
}

#[test]
fn earlier_results_stay_unless_they_are_to_go() {
    let directory = tempfile::tempdir().unwrap();
    let options = ["--writer", "shared", "--measure-intrusion=1"];
    record(directory.path(), &options, &["true"]).succeeded();
    let again = record(directory.path(), &options, &["true"]);
    again.refused(125, "--force");
    let options = [&options[..], &["--force"]].concat();
    record(directory.path(), &options, &["true"]).succeeded();
    // Another recording in their place leaves nothing of them.
    run(
        directory.path(),
        "record --paging --force -o recording -- true",
    )
    .succeeded();
    let recording = directory.path().join("recording");
    assert!(!recording.join(INTRUSION_FILE).exists());
    assert!(!recording.join("writers").exists());
}
