//! `fathomp run --hosts`: a program on several hosts, which all are this machine.

mod common;

use common::{compile, fathomp, finish, run};
use fathomp_trace::model::{Site, SiteKind};
use fathomp_trace::reader;
use fathomp_trace::record::Record;

/// Sums on all nodes, and says so on the first.
const SUM: &str = r#"
#include <omp.h>
#include <stdio.h>
static double a[100000];
int main(int argc, char **argv) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 100000; i++) {
        a[i] = i;
        sum += a[i];
    }
    for (int i = 0; i < 100000; i++) sum -= a[i];
    printf("%.0f left on %d threads\n", sum, omp_get_max_threads());
    return argc - 1;
}
"#;

#[test]
fn a_program_runs_on_several_hosts() {
    let directory = tempfile::tempdir().unwrap();
    compile(directory.path(), "sum", SUM, &["-fopenmp", "-O2"]);
    for (line, threads) in [
        ("run --hosts localhost,127.0.0.1:2 --threads 2 -- ./sum", 6),
        (
            "run --hosts localhost,::1 --threads 1 --secure --dsm homeless -- ./sum",
            2,
        ),
        ("run --hosts localhost --threads 3 -- ./sum", 3),
    ] {
        let ended = run(directory.path(), line);
        ended.succeeded();
        assert_eq!(
            ended.text(),
            format!("0 left on {threads} threads\n"),
            "{line}"
        );
        assert_eq!(ended.stderr, "", "{line}");
    }
    let ended = run(
        directory.path(),
        "run --json --hosts localhost,127.0.0.1 -- ./sum x",
    );
    assert_eq!(
        (ended.code, ended.json()["exit_code"].as_u64()),
        (Some(1), Some(1)),
        "{ended:?}"
    );
    std::fs::write(
        directory.path().join("hosts"),
        "localhost slots=2 # two\n127.0.0.1\n",
    )
    .unwrap();
    let ended = run(
        directory.path(),
        "run --hostfile hosts --threads 1 -- ./sum",
    );
    assert_eq!(ended.text(), "0 left on 3 threads\n", "{ended:?}");
}

/// One recording of all hosts: regions were executed by the threads of both, at times that compare.
#[test]
fn a_program_on_several_hosts_is_recorded() {
    let directory = tempfile::tempdir().unwrap();
    compile(directory.path(), "sum", SUM, &["-fopenmp", "-O2", "-g"]);
    let line = "record --hosts localhost,127.0.0.1:2 --threads 2 -o r -- ./sum";
    let ended = run(directory.path(), line);
    ended.succeeded();
    assert!(
        ended
            .stderr
            .contains("times of different hosts compare to within"),
        "{ended:?}"
    );
    let recording = reader::open(&directory.path().join("r")).unwrap();
    assert_eq!(recording.problems, [""; 0]);
    let hosts = &recording.meta.hosts;
    let names: Vec<&str> = hosts.iter().map(|host| &*host.name).collect();
    assert_eq!(names, ["localhost", "127.0.0.1"]);
    let [process] = &recording.processes[..] else {
        panic!("{} processes", recording.processes.len());
    };
    assert_eq!(process.nodes.len(), 3);
    let is_region = |site: &&Site| site.kind == SiteKind::Parallel;
    let site = process.sites.iter().find(is_region).unwrap();
    let records = process.threads.iter().flat_map(|thread| &thread.records);
    let parts: Vec<_> = records
        .filter_map(|record| match record {
            Record::Instance(one) if one.site == site.id => Some(one),
            _ => None,
        })
        .collect();
    assert_eq!(parts.len(), 6);
    // Each begins after the fork and before the last ends, give or take what clocks differ by.
    let fork = parts.iter().map(|one| one.fork.0).min().unwrap();
    let end = parts.iter().map(|one| one.end.0).max().unwrap();
    let slack = (5e6 / process.clock.nanos_per_tick) as u64;
    for part in parts {
        let begin = part.begin.0;
        assert!(fork < begin + slack && begin < end + slack, "{part:?}");
    }
}

#[test]
fn what_makes_no_sense_on_hosts_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    compile(directory.path(), "sum", SUM, &["-fopenmp"]);
    let refused = |line: &str, words: &str| {
        run(directory.path(), line).refused(2, words);
    };
    refused(
        "sharing --hosts a,b -- ./sum",
        "only `fathomp run` and `fathomp record` run programs on several hosts",
    );
    refused("study --hostfile f -- ./sum", "only `fathomp run`");
    refused(
        "record --hosts a,b --paging -- ./sum",
        "recorded on one machine so far",
    );
    refused(
        "record --hosts a,b --accesses -- ./sum",
        "recorded on one machine so far",
    );
    refused("run --hosts a, -- ./sum", "names no host");
    refused("run --hosts a:x -- ./sum", "no number of nodes");
    refused(
        "run --hostfile nothing -- ./sum",
        "cannot read the host file nothing",
    );
    refused("run --secure -- ./sum", "name the hosts by --hosts");
    refused(
        "run --hosts a,b --net 10,100 -- ./sum",
        "leave them out with --hosts",
    );
    refused("run --hosts a,b --adapt -- ./sum", "leave --hosts out");
}

#[test]
fn a_host_that_cannot_be_reached_is_named() {
    let directory = tempfile::tempdir().unwrap();
    compile(directory.path(), "sum", SUM, &["-fopenmp"]);
    let mut command = fathomp(directory.path());
    command.args([
        "run",
        "--hosts",
        "localhost,b",
        "--ssh",
        "false",
        "--",
        "./sum",
    ]);
    finish(&mut command).refused(125, "host b: it cannot be reached");
}

#[test]
fn an_agent_without_a_launcher_says_what_it_is_for() {
    let directory = tempfile::tempdir().unwrap();
    let ended = run(directory.path(), "host-agent");
    assert_eq!(ended.code, Some(125));
    assert!(
        ended.stderr.contains("is started by `fathomp run --hosts`"),
        "{ended:?}"
    );
}
