//! Paging of OpenMP programs, on threads and on nodes.

use crate::common::paging::{self, Seen, build, record};
use crate::common::{self, run, two_regions};
use fathomp_paging::reader::Recording;
use fathomp_paging::{Interval, MarkKind, TaskKind};

/// Rounds of `teams.c`, and pages of the array that one goes through.
const ROUNDS: usize = 8;
const ARRAY_PAGES: u64 = (1 << 20) * 8 / 4096;

#[test]
fn threads_are_recorded_with_regions_and_first_touches() {
    let directory = tempfile::tempdir().unwrap();
    build(directory.path(), "teams", &["-fopenmp", "-g"]);
    let ended = record(directory.path(), &["--threads", "2"], &["./teams"]);
    ended.succeeded();
    let seen = Seen::of(&directory.path().join("recording"));
    seen.adds_up();
    let mut threads: Vec<_> = seen
        .tasks
        .iter()
        .filter_map(|one| one.task.openmp_thread)
        .collect();
    threads.sort_unstable();
    assert_eq!(threads, [0, 1], "{seen:?}");
    // Huge pages make one fault of many pages, where there are any.
    let faults = seen.total("minor_faults");
    assert!(faults >= ARRAY_PAGES * ROUNDS as u64 / 512, "{seen:?}");
    for task in &seen.tasks {
        let part = task.of("compute", "minor_faults");
        assert!(part * 4 > faults, "unequal: {part} of {faults}: {seen:?}");
    }
    let begun = |task: &paging::SeenTask| {
        let begins = task
            .marks
            .iter()
            .filter(|&&kind| kind == MarkKind::RegionBegin);
        begins.count()
    };
    let master = seen
        .tasks
        .iter()
        .find(|one| one.task.openmp_thread == Some(0));
    assert_eq!(begun(master.unwrap()), 2 * ROUNDS, "{seen:?}");
    // The recording of regions is there as ever.
    let json = run(directory.path(), "--json regions recording").json();
    assert_eq!(common::instances(&json), [ROUNDS as u64; 2], "{json}");
}

#[test]
fn the_runtime_s_own_reading_is_not_the_program_s() {
    let directory = tempfile::tempdir().unwrap();
    build(directory.path(), "bursts", &["-fopenmp", "-O1"]);
    let mut io = Vec::new();
    for reads in ["0", "300"] {
        let options = ["--threads", "4", "--force"];
        record(directory.path(), &options, &["./bursts", reads]).succeeded();
        let seen = Seen::of(&directory.path().join("recording"));
        seen.adds_up();
        let (calls, bytes) = (seen.total("io_calls"), seen.total("bytes_read"));
        assert!(calls < 20 || reads != "0", "{calls} calls: {seen:?}");
        let stays: u64 = seen.tasks.iter().map(|task| task.stays_in("pread")).sum();
        assert_eq!(stays, reads.parse::<u64>().unwrap(), "{seen:?}");
        // What is taken out is neither seen nor made.
        let (calls_seen, made) = seen.io_calls;
        assert!(calls_seen <= made && made < 400, "{seen:?}");
        io.push((calls, bytes));
    }
    // One more opens the file.
    assert_eq!(
        (io[1].0 - io[0].0, io[1].1 - io[0].1),
        (301, 300 * 8),
        "{io:?}"
    );
}

#[test]
fn samples_keep_to_the_tasks_and_the_part_that_were_chosen() {
    let directory = tempfile::tempdir().unwrap();
    build(directory.path(), "bursts", &["-fopenmp", "-O1"]);
    let (from, to) = (100_000_000, 400_000_000);
    for sample in ["--sample=1ms", "--sample=never", "--force"] {
        let options = [
            "--threads=4",
            "--force",
            "--tasks=0-1",
            "--window=100ms..400ms",
            sample,
        ];
        // Given twice, an option is refused.
        let options = if sample == "--force" {
            &options[..4]
        } else {
            &options[..]
        };
        record(directory.path(), options, &["./bursts"]).succeeded();
        let recording = Recording::open(&directory.path().join("recording")).unwrap();
        let mut recorded = 0;
        for task in recording.tasks() {
            let mut ns = 0;
            let take = |interval: &Interval| {
                let is_inside = interval.begin >= from && interval.end <= to;
                assert!(is_inside, "{} {interval:?}", task.label());
                ns += interval.end - interval.begin;
            };
            recording.visit(task.id, take).unwrap();
            if task.kind == TaskKind::Thread {
                assert!(ns <= to - from, "{}", task.label());
                assert_eq!(ns > 0, recording.is_selected(task.id), "{}", task.label());
                recorded += u32::from(ns > 0);
            }
        }
        assert_eq!(recorded, 2);
        let said = run(directory.path(), "skyline recording");
        let text = said.text();
        let is_known = |thread: &u32| text.contains(&format!("thread {thread} "));
        assert_eq!((0..4).filter(is_known).count(), 2, "{text}");
    }
}

#[test]
fn page_faults_have_their_moments_without_being_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    build(directory.path(), "bursts", &["-fopenmp", "-O1"]);
    for option in ["--sample=1ms", "--record-faults", "--force"] {
        let mut options = vec!["--threads", "1", "--force", option];
        options.dedup();
        record(directory.path(), &options, &["./bursts"]).succeeded();
        let json = run(directory.path(), "--json skyline recording").json();
        let counters = json["counters"].as_array().unwrap();
        let faults = counters
            .iter()
            .find(|one| one["counter"] == "minor_faults")
            .unwrap();
        let shape = &faults["profiles"][0]["shape"];
        assert_ne!(*shape, "unknown", "{option}: {faults}");
    }
}

fn on_nodes(nodes: u32) {
    let directory = tempfile::tempdir().unwrap();
    build(directory.path(), "teams", &["-fopenmp", "-g"]);
    let count = nodes.to_string();
    let options = ["--nodes", &count, "--threads", "1"];
    let ended = record(directory.path(), &options, &["./teams"]);
    ended.succeeded();
    let seen = Seen::of(&directory.path().join("recording"));
    seen.adds_up();
    let mut found: Vec<_> = seen.tasks.iter().filter_map(|one| one.task.node).collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found, (0..nodes).collect::<Vec<_>>(), "{seen:?}");
    // Every node writes its part of each array.
    let written = seen.total("dsm_write_faults");
    assert!(written > 0, "{seen:?}");
    for node in 0..nodes {
        let of_node = seen.tasks.iter().filter(|one| one.task.node == Some(node));
        let waits: u64 = of_node.map(|one| one.ns("communication")).sum();
        assert!(waits > 0, "node {node} waits for nobody: {seen:?}");
    }
    let barriers: usize = seen
        .tasks
        .iter()
        .map(|one| {
            one.marks
                .iter()
                .filter(|&&kind| kind == MarkKind::Barrier)
                .count()
        })
        .sum();
    assert!(barriers >= ROUNDS * nodes as usize, "{barriers}: {seen:?}");
}

#[test]
fn two_nodes_are_recorded() {
    on_nodes(2);
}

#[test]
fn four_nodes_are_recorded() {
    on_nodes(4);
}

/// A program of everyday's size, from the workloads.
#[test]
fn workloads_give_the_right_answer_while_they_are_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let built = run(directory.path(), "workload build ft --class S -o programs").text();
    let command: Vec<&str> = built.split_whitespace().collect();
    for options in [
        &["--threads", "2"][..],
        &["--nodes", "2", "--threads", "1", "--force"],
    ] {
        let ended = record(directory.path(), options, &command);
        ended.succeeded();
        let text = ended.text().to_lowercase();
        assert!(
            text.contains("verif") && !text.contains("fail"),
            "{ended:?}"
        );
        Seen::of(&directory.path().join("recording")).adds_up();
    }
}

/// Selecting tasks keeps the totals of the others.
#[test]
fn a_selection_records_only_what_was_chosen() {
    let directory = tempfile::tempdir().unwrap();
    let program = two_regions();
    let options = ["--threads", "4", "--tasks", "thread:0-1"];
    let ended = record(directory.path(), &options, &[program.to_str().unwrap()]);
    ended.succeeded();
    let recording =
        fathomp_paging::reader::Recording::open(&directory.path().join("recording")).unwrap();
    let part = recording.part().unwrap();
    assert_eq!(part.to_string(), "2_4");
    for task in recording
        .tasks()
        .iter()
        .filter(|task| task.openmp_thread.is_some())
    {
        let chosen = task.openmp_thread.unwrap() < 2;
        let mut intervals = 0;
        recording.visit(task.id, |_| intervals += 1).unwrap();
        assert_eq!(recording.is_selected(task.id), chosen, "{task:?}");
        // Until a thread has told its OpenMP number, it is chosen by the order of beginnings:
        // a moment in which the runtime reads a file or two.
        assert_eq!(intervals > 20, chosen, "{intervals}: {task:?}");
        assert!(recording.totals(task.id).is_some(), "{task:?}");
    }
}
