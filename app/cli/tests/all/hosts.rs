//! `fathomp run --hosts`: a program on several hosts, which all are this machine.

use crate::common::{SUM, compile, fathomp, finish, run};
use fathomp_trace::model::{Site, SiteKind};
use fathomp_trace::reader;
use fathomp_trace::record::Record;

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
    // Its loop's bounds, which the code says.
    let analysed = run(directory.path(), "--json regions r").succeeded().json();
    let regions = analysed["regions"].as_array().unwrap().iter();
    let iterations: Vec<_> = regions
        .filter_map(|region| region["trips"]["iterations"].as_u64())
        .collect();
    assert_eq!(iterations, [100_000]);
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

/// One node, then both; with what nodes cost there, and models beside what was observed.
#[test]
fn a_program_is_studied_on_hosts() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    compile(here, "sum", SUM, &["-fopenmp", "-O2", "-g"]);
    let line = "study --hosts localhost,127.0.0.1 --threads 2 -- ./sum";
    let ended = run(here, line);
    ended.succeeded();
    // What it writes is shown once.
    assert_eq!(ended.text(), "0 left on 1 threads\n", "{ended:?}");
    assert!(!ended.stderr.contains("Other programs"), "{ended:?}");
    for words in ["1 node of 1 thread: ", "2 nodes of 2 threads: "] {
        assert!(ended.stderr.contains(words), "{ended:?}");
    }
    let study = here.join("study");
    let result = std::fs::read(study.join("result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_slice(&result).unwrap();
    let teams = |one: &serde_json::Value| one["team_size"].as_u64();
    let analyses = result["analyses"].as_array().unwrap();
    let sizes: Vec<_> = analyses.iter().filter_map(teams).collect();
    assert_eq!(sizes, [1, 2, 4]);
    let hosts = analyses[2]["program"]["hosts"].as_array().unwrap();
    assert_eq!(hosts.len(), 2);
    let page = std::fs::read_to_string(here.join("report.html")).unwrap();
    assert!(page.contains("127.0.0.1 (1 node with "), "{page}");
    assert!(study.join("cluster.json").is_file());
    // The parts can be used again.
    run(here, "report study -o again.html").succeeded();
    let page = std::fs::read_to_string(here.join("again.html")).unwrap();
    assert!(page.contains("From the faults that were counted"));
}

/// Nothing is left to study where no run could be recorded.
#[test]
fn a_study_says_which_host_cannot_be_reached() {
    let directory = tempfile::tempdir().unwrap();
    compile(directory.path(), "sum", SUM, &["-fopenmp"]);
    let line = "study --hosts b,localhost --ssh false -- ./sum";
    run(directory.path(), line).refused(125, "host b: it cannot be reached");
}

/// What times mean here is not judged, only that each has its floor.
#[test]
fn costs_over_hosts_stand_beside_those_of_the_network() {
    let directory = tempfile::tempdir().unwrap();
    let line = "--json bench dsm --quick --hosts localhost,127.0.0.1:2 --nodes 2,3";
    let document = run(directory.path(), line).succeeded().json();
    let rows = document["rows"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    for name in [
        "fetch, page by page, asked for",
        "fetch while the page's home computes",
        "empty barrier, 2 nodes",
        "empty barrier, 3 nodes",
    ] {
        let row = row(name);
        assert!(
            row["floor"]["median"]["value"].as_f64().unwrap() > 0.0,
            "{row}"
        );
    }
    assert_eq!(row("empty barrier, 2 nodes")["bound"]["ratio"], 3.0);
    assert!(row("empty barrier, 3 nodes")["bound"].is_null());
}

#[test]
fn costs_over_an_emulated_network_stand_beside_its_numbers() {
    let directory = tempfile::tempdir().unwrap();
    let line = "--json bench dsm --quick --net gige_amd --nodes 2";
    let document = run(directory.path(), line).succeeded().json();
    let rows = document["rows"].as_array().unwrap();
    let row = rows
        .iter()
        .find(|row| row["name"] == "fetch, page by page, asked for")
        .unwrap();
    let floor = row["floor"]["median"]["value"].as_f64().unwrap();
    assert!((floor - 164.6).abs() < 0.1, "{floor}");
    assert!(
        row["ours"]["median"]["value"].as_f64().unwrap() >= floor,
        "{row}"
    );
    run(directory.path(), "bench dsm --nodes 2").refused(1, "--nodes without --net or --hosts");
}

#[test]
fn benchmarks_run_on_hosts() {
    let directory = tempfile::tempdir().unwrap();
    let line = "bench mcbench --cc gcc --runs 1 --samples 3 --target-us 10 --only BLOCKED \
                --hosts localhost,127.0.0.1 --runtime home,homeless";
    let ended = run(directory.path(), line);
    ended.succeeded();
    let table = ended.text();
    assert!(
        table.contains("gcc+homeless@hosts") && !table.contains("failed"),
        "{table}"
    );
    let over_net = "bench mcbench --cc gcc --runs 1 --samples 3 --target-us 10 --only BLOCKED \
                    --nodes 2 --net 500,100";
    let ended = run(directory.path(), over_net);
    ended.succeeded();
    assert!(ended.text().contains("gcc+home@500us,100MB/s"), "{ended:?}");
}

#[test]
fn what_makes_no_sense_on_hosts_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    compile(directory.path(), "sum", SUM, &["-fopenmp"]);
    let refused = |line: &str, words: &str| {
        run(directory.path(), line).refused(2, words);
    };
    refused("sharing --hosts a,b -- ./sum", "on one machine so far");
    refused("workload run cg --hostfile f", "on one machine so far");
    refused("study --hostfile f -- ./sum", "cannot read the host file f");
    refused(
        "study --transport tcp -- ./sum",
        "name hosts by --hosts here",
    );
    refused(
        "study --hosts a,b --threads 1,2 -- ./sum",
        "give --threads one number",
    );
    refused("study --dsm homeless -- ./sum", "name the hosts by --hosts");
    refused("study --hosts a,b --cores 8 -- ./sum", "about one machine");
    refused(
        "study --hosts a,b --runtime libgomp -- ./sum",
        "only fathomp's runtime",
    );
    refused(
        "bench mcbench --hosts a,b --runtime libgomp",
        "runs on one machine",
    );
    refused("bench mcbench --hosts a,b --nodes 3", "the hosts have 2");
    refused("bench dsm --hosts a:2", "name a second host");
    refused("bench dsm --ssh x", "name the hosts by --hosts");
    refused("calibrate --hosts a", "name a second one");
    refused(
        "calibrate --hosts a,b --net 1,1",
        "leave it out with --hosts",
    );
    refused("predict --hosts a,b", "give --validate");
    refused("predict --validate --hosts a", "name a second host");
    refused("run --hosts a, -- ./sum", "names no host");
    refused("run --hosts a:x -- ./sum", "no number of nodes");
    refused(
        "run --hostfile nothing -- ./sum",
        "cannot read the host file nothing",
    );
    refused("run --secure -- ./sum", "name the hosts by --hosts");
    refused(
        "run --hosts a,b --net 10,100 -- ./sum",
        "leave it out with --hosts",
    );
    refused(
        "run --hosts a,b --advice a -- ./sum",
        "leave --hosts and --transport out",
    );
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

/// Its nested function lies on its stack, which nodes cannot have: each host's process says so.
const NESTED: &str = r#"
static int apply(int (*function)(int)) { return function(1); }
int main(void)
{
    int sum = 0;
    int add(int more) { return sum += more; }
#pragma omp parallel
    __asm__ volatile("");
    return apply(add);
}
"#;

#[test]
fn what_all_hosts_refuse_is_said_once() {
    let directory = tempfile::tempdir().unwrap();
    compile(directory.path(), "nested", NESTED, &["-fopenmp", "-O0"]);
    run(
        directory.path(),
        "run --hosts localhost,127.0.0.1,::1 -- ./nested",
    )
    .refused(1, "runs code on its stack");
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
