//! `fathomp record --hosts` with `--paging` and with `--accesses`: hosts that all are this machine.

use crate::common::paging::{self, Seen, build};
use crate::common::phases::{FLAGS, PHASES};
use crate::common::{self, SUM, compile, fathomp, finish, run};
use fathomp_paging::reader::Recording;
use fathomp_paging::{Ending, MarkKind, Task};
use std::collections::BTreeMap;
use std::path::Path;

/// Rounds of `teams.c`.
const ROUNDS: usize = 8;

/// Nodes of the tasks on each host.
fn nodes_of_hosts(tasks: &[Task]) -> BTreeMap<&str, Vec<u32>> {
    let mut found = BTreeMap::<&str, Vec<u32>>::new();
    for task in tasks {
        if let (Some(node), Some(0)) = (task.node, task.openmp_thread) {
            found.entry(&task.host).or_default().push(node);
        }
    }
    for nodes in found.values_mut() {
        nodes.sort_unstable();
    }
    found
}

/// One picture of all hosts: every node's threads, with what they did at times that compare.
#[test]
fn paging_of_all_hosts_comes_together() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    build(here, "teams", &["-fopenmp", "-g"]);
    let line = "record --hosts localhost,127.0.0.1:2 --threads 2 --paging -- ./teams";
    let ended = run(here, line);
    ended.succeeded();
    let said = "recorded the paging of ";
    assert!(ended.stderr.contains(said), "{ended:?}");
    let recording = Recording::open(&here.join("recording")).unwrap();
    let meta = recording.meta();
    assert_eq!(meta.hosts, ["localhost", "127.0.0.1"]);
    assert!(meta.wall_ns.is_some() && meta.clock.is_some(), "{meta:?}");
    assert!(meta.clocks[0].begin.is_none() && meta.clocks[1].begin.is_some());
    let nodes = nodes_of_hosts(recording.tasks());
    let expected = [("127.0.0.1", vec![1, 2]), ("localhost", vec![0])];
    assert_eq!(nodes, expected.into(), "{recording:?}");
    for process in recording.processes() {
        let is_far = process.host != "localhost";
        // They were compared, which on one machine is soon done.
        assert_eq!(process.offset_error_ns.is_some(), is_far, "{process:?}");
        assert!(process.offset_error_ns.unwrap_or(0) < 100_000_000);
        // It is nobody's but the program's.
        assert_eq!(process.program, "teams", "{process:?}");
    }
    let problems = recording.problems().join("\n");
    for words in ["Nothing was recorded", "not compared", "missing"] {
        assert!(!problems.contains(words), "{problems}");
    }
    let seen = Seen::of(&here.join("recording"));
    seen.adds_up();
    // Where counters of the kernel are to be had, all touched pages.
    let faults = seen
        .tasks
        .iter()
        .map(|one| one.of("compute", "minor_faults"));
    assert!(faults.filter(|faults| *faults > 0).count() >= 3, "{seen:?}");
    let of_node = |node| {
        let mut all = seen.tasks.iter();
        let found =
            all.find(|one| (one.task.node, one.task.openmp_thread) == (Some(node), Some(0)));
        found.unwrap_or_else(|| panic!("node {node}: {seen:?}"))
    };
    let begun = |one: &paging::SeenTask| {
        let marks = one.marks.iter();
        marks.filter(|kind| **kind == MarkKind::RegionBegin).count()
    };
    assert_eq!(begun(of_node(0)), 2 * ROUNDS);
    // All ran at the same time, give or take what clocks differ by.
    let slack = 50_000_000;
    let end = of_node(0).task.end;
    for node in 0..3 {
        let task = &of_node(node).task;
        assert!(
            task.begin < end + slack && end < task.end + slack,
            "{seen:?}"
        );
    }
    let table = run(here, "skyline recording").succeeded().text();
    for words in [
        "node 0 thread 0 on localhost",
        "node 2 thread 1 on 127.0.0.1",
    ] {
        assert!(table.contains(words), "{table}");
    }
    // Regions are recorded as ever, and barriers have their names.
    let json = run(here, "--json regions recording").succeeded().json();
    assert_eq!(common::instances(&json), [ROUNDS as u64; 2]);
    let json = run(here, "--json skyline recording").succeeded().json();
    assert!(json.to_string().contains("teams.c:"), "{json}");
}

/// Each node works for a while; then the one that is last is killed.
const DIES: &str = r#"
#include <omp.h>
#include <signal.h>
#include <unistd.h>
static long a[1 << 16];
int main(void)
{
    for (int round = 0; round < 20; round++) {
#pragma omp parallel for
        for (int i = 0; i < 1 << 16; i++)
            a[i] += i;
        usleep(20000);
    }
#pragma omp parallel
    if (omp_get_thread_num() == omp_get_num_threads() - 1)
        kill(getpid(), SIGKILL);
    return 0;
}
"#;

#[test]
fn what_had_come_of_a_host_that_dies_stays() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    compile(here, "dies", DIES, &["-fopenmp"]);
    let line =
        "record --hosts localhost,127.0.0.1 --threads 1 --paging --sample 2ms -o r -- ./dies";
    let ended = run(here, line);
    assert_eq!(ended.code, Some(70), "{ended:?}");
    let recording = Recording::open(&here.join("r")).unwrap();
    let nodes = nodes_of_hosts(recording.tasks());
    let expected = [("127.0.0.1", vec![1]), ("localhost", vec![0])];
    assert_eq!(nodes, expected.into(), "{recording:?}");
    let is_killed = |task: &&Task| (task.node, task.openmp_thread) == (Some(1), Some(0));
    let killed = recording.tasks().iter().find(is_killed).unwrap();
    assert_eq!(killed.ending, Ending::Lost);
    let seen = Seen::of(&here.join("r"));
    for node in [0, 1] {
        let mut all = seen.tasks.iter();
        let one = all.find(|one| (one.task.node, one.task.openmp_thread) == (Some(node), Some(0)));
        assert!(one.unwrap().intervals > 10, "{seen:?}");
    }
    // Its samples are streams of their own.
    let of_killed = format!("h1-{}-", killed.process);
    let streams = std::fs::read_dir(here.join("r/paging")).unwrap().flatten();
    let names = streams.map(|file| file.file_name().into_string().unwrap());
    assert!(names.filter(|name| name.starts_with(&of_killed)).count() >= 2);
}

/// The agents find no room for what is recorded: that is said before the program begins.
#[test]
fn a_host_where_nothing_can_be_recorded_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    compile(here, "sum", SUM, &["-fopenmp"]);
    for what in ["--paging", "--accesses"] {
        let mut command = fathomp(here);
        command.env("TMPDIR", here.join("nowhere"));
        let line =
            format!("record --hosts localhost,127.0.0.1 {what} --threads 1 --force -- ./sum");
        command.args(line.split(' '));
        let ended = finish(&mut command);
        assert_eq!((ended.code, ended.text()), (Some(125), String::new()));
        let said = "there is no room for what is recorded in ";
        assert_eq!(ended.stderr.matches(said).count(), 1, "{ended:?}");
        assert!(
            ended.stderr.contains("free some, or set TMPDIR"),
            "{ended:?}"
        );
    }
}

#[test]
fn what_one_machine_alone_can_do_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |options: &str, words: &str| {
        let line = format!("record --hosts a,b {options} -- ./sum");
        run(directory.path(), &line).refused(2, words);
    };
    refused("--paging --measure-intrusion", "measured on one machine");
    refused("--paging --memory 64M", "leave --hosts and --transport out");
    refused(
        "--paging --record-faults",
        "recorded on one machine: leave --record-faults",
    );
    refused("--paging --tasks 0-3", "--tasks node:0-3");
    refused("--paging --writer collector", "leave --writer out");
    refused("--paging --writer striped:x,y", "leave --writer out");
    refused("--paging --writer far:4711 --key k", "leave --writer out");
    refused("--paging --counters nonsense", "nonsense");
    refused("--accesses --threads 2", "one thread on each node");
    let one = run(
        directory.path(),
        "record --hosts localhost --accesses -- ./sum",
    );
    one.refused(2, "hosts with several nodes");
}

/// What replays of a recording count on each node. Pages stay at their homes: otherwise the node that
/// writes an untouched page first becomes its home, and recorded times tell which that is.
fn counts(directory: &Path, recording: &str) -> Vec<[u64; 7]> {
    let line =
        format!("--json simulate {recording} --nodes 3 --per-node --net 20,1000 --dsm-plain");
    let json = run(directory, &line).succeeded().json();
    let each = json["points"][0]["each"].as_array().unwrap().clone();
    let names = [
        "write_faults_local",
        "write_faults_remote",
        "fetch_faults",
        "pages_fetched",
        "diffs_sent",
        "invalidations",
        "barriers",
    ];
    each.iter()
        .map(|node| names.map(|name| node[name].as_u64().unwrap()))
        .collect()
}

#[test]
fn accesses_of_hosts_are_those_of_nodes_of_one_machine() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    compile(here, "program", PHASES, &FLAGS);
    for protocol in ["home", "homeless"] {
        let record = |where_to: &str, to: &str| {
            let line = format!(
                "record {where_to} --dsm {protocol} --accesses --force -o {to} -- ./program"
            );
            let ended = run(here, &line);
            ended.succeeded();
            let parts = std::fs::read_dir(here.join(to)).unwrap().flatten();
            let is_part = |name: &str| name.ends_with(".part");
            let left = parts.filter(|file| is_part(&file.file_name().to_string_lossy()));
            assert_eq!(left.count(), 0, "{line}");
            ended.text()
        };
        let nodes = record("--nodes 3", "nodes");
        assert_eq!(record("--hosts localhost,127.0.0.1:2", "hosts"), nodes);
        let (on_nodes, on_hosts) = (counts(here, "nodes"), counts(here, "hosts"));
        assert_eq!(on_hosts, on_nodes, "{protocol}");
        let fetched: u64 = on_nodes.iter().map(|node| node[2]).sum();
        assert!(fetched > 20, "{on_nodes:?}");
    }
    // Lines are noted likewise.
    let line = "record --hosts localhost,127.0.0.1 --accesses --lines -o lines -- ./program";
    run(here, line).succeeded();
    let line = "--json simulate lines --net gige_amd --granularity";
    let json = run(here, line).succeeded().json();
    assert!(json.to_string().contains("64"), "{json}");
}

/// A program that dies in its midst leaves what all nodes had come to.
#[test]
fn accesses_up_to_the_death_of_a_host_stay() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    compile(here, "dies", DIES, &["-fopenmp"]);
    let line = "record --hosts localhost,127.0.0.1 --accesses -o r -- ./dies";
    let ended = run(here, line);
    assert_eq!(ended.code, Some(70), "{ended:?}");
    let said = ["Accesses are recorded up to barrier", "cannot be replayed"];
    assert!(
        said.iter().any(|words| ended.stderr.contains(words)),
        "{ended:?}"
    );
}
