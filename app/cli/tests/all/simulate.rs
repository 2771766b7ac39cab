//! `fathomp simulate`, and the recording of what it replays.

use crate::common::phases::{FLAGS, PHASES};
use crate::common::{ACCESSES, compile, run};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn with_file(text: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("f.jsonl"), text).unwrap();
    directory
}

#[test]
fn a_file_is_replayed_on_each_number_of_nodes() {
    let directory = with_file(ACCESSES);
    let answer = run(
        directory.path(),
        "--json simulate f.jsonl --net gige_amd --dsm-plain",
    );
    let json = answer.succeeded().json();
    assert_eq!(json["schema"], "fathomp.simulate");
    assert_eq!(json["alone_s"], 0.002);
    let points = json["points"].as_array().unwrap();
    let nodes: Vec<_> = points.iter().map(|point| &point["nodes"]).collect();
    assert_eq!(nodes, [1, 2]);
    assert_eq!(points[0]["speedup"], 1.0);
    assert_eq!(points[0]["all"]["messages"], 0);
    let on_two = &points[1];
    assert_eq!(on_two["all"]["fetch_faults"], 4);
    // Work of one after the other, and four fetches at the published price.
    let fetches_s = on_two["time_s"].as_f64().unwrap() - 0.002;
    let published_s = 4.0 * 295.3e-6;
    assert!(fetches_s > published_s, "{fetches_s}");
    assert!(fetches_s < published_s * 1.7, "{fetches_s}");
    assert_eq!(on_two["by_region"][0]["name"], "serial part");
    assert_eq!(on_two["by_region"][0]["all"]["fetch_faults"], 4);
    let text = run(
        directory.path(),
        "simulate f.jsonl --net gige_amd --per-node",
    );
    let text = text.succeeded().text();
    for words in ["Speedup", "faults that fetch", "In barriers", "serial part"] {
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn predictions_for_clusters_are_those_of_the_replay() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::create_dir(here.join("r")).unwrap();
    fs::write(here.join("r/accesses.jsonl"), ACCESSES).unwrap();
    let ask = |line: &str| run(here, line).succeeded().json();
    let forecast = ask("--json predict r --cluster gige_amd");
    assert_eq!(forecast["schema"], "fathomp.forecast");
    assert_eq!(forecast["protocol"], "home");
    assert_eq!(forecast["alone_is_measured"], false);
    let points = forecast["points"].as_array().unwrap();
    assert_eq!(points.len(), 1);
    assert_eq!(points[0]["nodes"], 2);
    let simulated = ask("--json simulate r --net gige_amd --nodes 2");
    for what in ["time_s", "speedup"] {
        assert_eq!(points[0][what], simulated["points"][0][what]);
    }
    let scaled = ask("--json predict r --cluster gige_amd --sequential 0.2 --at 1 --dsm homeless");
    assert_eq!(scaled["alone_s"], 0.2);
    assert_eq!(scaled["protocol"], "homeless");
    assert_eq!(scaled["points"][0]["speedup"], 1.0);
    let ended = run(here, "predict r --cluster gige_amd");
    let text = ended.succeeded().text();
    for words in ["Replay of recorded accesses on gige_amd", "--sequential"] {
        assert!(text.contains(words), "{text}");
    }
    // Models are asked for counts, of which there are none.
    let line = "predict r --cluster gige_amd --model sdp-crit";
    run(here, line).refused(1, "is not a recording");
}

#[test]
fn a_slower_network_and_other_homes_cost_what_they_cost() {
    let directory = with_file(ACCESSES);
    let time = |options: &str| {
        let line = format!("--json simulate f.jsonl --nodes 2 --dsm-plain {options}");
        let json = run(directory.path(), &line).succeeded().json();
        json["points"][0]["time_s"].as_f64().unwrap()
    };
    assert!(time("--net 100,100") > time("--net 10,100"));
    assert!(time("--net 10,1") > time("--net 10,100"));
    assert!(time("--net 10,inf --fault-us 100") > time("--net 10,inf --fault-us 1"));
    assert!(time("--net 10,100 --homes cyclic") > time("--net 10,100 --homes first"));
    assert_eq!(
        time("--net 10,100 --homes first-touch"),
        time("--net 10,100 --homes first")
    );
}

#[test]
fn what_cannot_be_replayed_is_said_in_one_sentence() {
    let directory = with_file(ACCESSES);
    let refused = |line: &str, code, words: &str| {
        run(directory.path(), line).refused(code, words);
    };
    refused("simulate none --net gige_amd", 1, "cannot read none");
    refused(
        "simulate f.jsonl --net gige_amt",
        2,
        "did you mean \"gige_amd\"?",
    );
    refused("simulate f.jsonl --net 10,", 2, "is no network");
    refused(
        "simulate f.jsonl --nodes 3 --net 1,1",
        1,
        "record on 3 nodes",
    );
    refused(
        "simulate f.jsonl --nodes 70000 --net 1,1",
        2,
        "more than can be numbered",
    );
    refused("record --accesses -- ./a.out", 2, "give --nodes");
    refused(
        "record --accesses --nodes 2 --threads 2 -- ./a.out",
        2,
        "one thread on each node",
    );
    for (from, to, words) in [
        (
            "\"version\":1",
            "\"version\":9",
            "only version 1 is understood",
        ),
        (
            "{\"set\":0,\"end\":\"barrier\"}",
            "{\"set\":0,\"end\":\"flush\"}",
            "thread 1 comes to 0 barriers, and thread 0 to 1",
        ),
        ("[0,4]", "[6,4]", "page 9"),
        (
            ",\"end\":\"exit\"}}\n",
            ",\"end\":\"exit\"}}\n{\"step\":{\"set\":1,\"end\":\"exit\"}}\n",
            "goes on after its end",
        ),
    ] {
        assert!(ACCESSES.contains(from), "{from}");
        fs::write(
            directory.path().join("f.jsonl"),
            ACCESSES.replacen(from, to, 1),
        )
        .unwrap();
        refused("simulate f.jsonl --net gige_amd", 1, words);
    }
    fs::write(
        directory.path().join("f.jsonl"),
        &ACCESSES[..ACCESSES.len() / 2],
    )
    .unwrap();
    refused("simulate f.jsonl --net gige_amd", 1, "f.jsonl: ");
}

const COUNTS: [&str; 13] = [
    "write_faults_local",
    "write_faults_remote",
    "fetch_faults",
    "fetch_faults_locked",
    "pages_fetched",
    "diffs_made",
    "diffs_sent",
    "invalidations",
    "flushes",
    "barriers",
    "diffs_applied",
    "pages_served",
    "bytes_sent",
];

/// What an ordinary recording counts, by node, over all regions.
fn ordinary(directory: &Path, how: &str, nodes: usize) -> Vec<[u64; 13]> {
    let line = format!("record {how} --threads 1 --force -o ordinary -- ./program");
    run(directory, &line).succeeded();
    let json = run(directory, "--json regions ordinary").succeeded().json();
    let regions = json["regions"].as_array().unwrap();
    let of = |node: usize, count: &str| {
        let counts = regions.iter().map(|region| {
            let node = &region["dsm"]["nodes"][node.to_string()];
            node[count].as_u64().unwrap_or(0)
        });
        counts.sum()
    };
    (0..nodes)
        .map(|node| COUNTS.map(|count| of(node, count)))
        .collect()
}

/// What the replay of a run's accesses counts.
fn replayed(directory: &Path, how: &str, simulated: &str) -> Vec<[u64; 13]> {
    let line = format!("record {how} --accesses --force -o accesses -- ./program");
    let recorded = run(directory, &line);
    let nodes = how.split(' ').nth(1).unwrap();
    let alone = run(directory, &format!("run --threads {nodes} -- ./program"));
    assert_eq!(recorded.succeeded().text(), alone.succeeded().text());
    let line = format!("--json simulate accesses {simulated} --per-node --net 20,1000");
    let json: Value = run(directory, &line).succeeded().json();
    let each = json["points"][0]["each"].as_array().unwrap().clone();
    each.iter()
        .map(|node| COUNTS.map(|count| node[count].as_u64().unwrap()))
        .collect()
}

/// What a node sends when it comes to wait for work that never comes is in no
/// recording: that it is there, and a notice of nothing.
const ARRIVAL_BYTES: u64 = 17 + 8;

fn is_same(replayed: &[u64; 13], ordinary: &[u64; 13]) -> bool {
    let (bytes, counts) = replayed.split_last().unwrap();
    let (bytes_then, counts_then) = ordinary.split_last().unwrap();
    counts == counts_then && (*bytes_then..=bytes_then + ARRIVAL_BYTES).contains(bytes)
}

/// The check of the whole: accesses, protocols, sizes of messages. On a busy machine a node may flush for threads that have
/// not been heard of for long, which is no access; then the run is made again.
#[test]
fn a_replay_counts_what_a_recording_counts() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    compile(directory, "program", PHASES, &FLAGS);
    for nodes in [2, 3] {
        for protocol in ["--dsm home --dsm-plain", "--dsm homeless"] {
            let how = format!("--nodes {nodes} {protocol}");
            let same = |_: &i32| {
                let replayed = replayed(directory, &how, &how);
                let ordinary = ordinary(directory, &how, nodes);
                let same = replayed.len() == ordinary.len()
                    && replayed.iter().zip(&ordinary).all(|(a, b)| is_same(a, b));
                if !same {
                    eprintln!("{how}:\n{COUNTS:?}\n{replayed:?} replayed\n{ordinary:?} recorded");
                }
                same
            };
            assert!((0..3).any(|attempt| same(&attempt)), "{how}");
        }
    }
}

#[test]
fn accesses_do_not_depend_on_the_protocol() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    compile(directory, "program", PHASES, &FLAGS);
    let simulated = "--nodes 2 --dsm homeless";
    let from = |how: &str| replayed(directory, how, simulated);
    let homeless = from("--nodes 2 --dsm homeless");
    assert_eq!(from("--nodes 2 --dsm home"), homeless);
    assert_eq!(
        from("--nodes 2 --dsm home --fault-detection mprotect"),
        homeless
    );
}

/// An array in blocks, of which each thread reads its neighbours' borders.
const STENCIL: &str = r#"
#include <omp.h>
#include <stdio.h>
#define PAGES 240
static double page[2][PAGES][512] __attribute__((aligned(4096)));
int main(void)
{
#pragma omp parallel
    for (int round = 0; round < 6; round++) {
        double(*from)[512] = page[round % 2], (*to)[512] = page[(round + 1) % 2];
#pragma omp for schedule(static)
        for (int i = 0; i < PAGES; i++)
            for (int j = 0; j < 512; j++)
                to[i][j] = from[i][j] + from[i > 0 ? i - 1 : 0][j] +
                           from[i + 1 < PAGES ? i + 1 : i][j] + 1;
    }
    printf("%g\n", page[0][100][7]);
    return 0;
}
"#;

#[test]
fn more_threads_are_told_from_fewer() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    compile(directory, "program", STENCIL, &FLAGS);
    for nodes in [2, 4, 6, 8] {
        let line = format!("record --nodes {nodes} --accesses -o on-{nodes} -- ./program");
        run(directory, &line).succeeded();
    }
    let point = |line: &str| {
        let line = format!("--json simulate {line} --net gige_amd --dsm-plain --nodes 6");
        let json = run(directory, &line).succeeded().json();
        json["points"][0].clone()
    };
    let (told, recorded) = (point("on-2 on-4 on-8"), point("on-6"));
    assert_eq!(told["extrapolated"], true);
    assert_eq!(recorded["extrapolated"], false);
    for count in [
        "fetch_faults",
        "write_faults_remote",
        "diffs_sent",
        "invalidations",
    ] {
        let [told, recorded] = [&told, &recorded].map(|p| p["all"][count].as_f64().unwrap());
        assert!(
            (told / recorded - 1.0).abs() < 0.05,
            "{count}: {told}, {recorded}"
        );
    }
    let line = "--json simulate on-2 on-4 on-8 --net gige_amd --nodes 64 --sequential 2";
    let json = run(directory, line).succeeded().json();
    assert!((json["alone_s"].as_f64().unwrap() - 2.0).abs() < 1e-3);
    assert_eq!(json["points"][0]["nodes"], 64);
    run(directory, "simulate on-2 on-4 --net gige_amd --nodes 64").refused(1, "such as 2, 4 and 8");
    run(directory, "simulate on-2 on-2 --net gige_amd").refused(2, "two of these are of 2 threads");
}

/// Regions, and a loop that tells how much processor time it took.
const WORKS: &str = r#"
#include <omp.h>
#include <stdio.h>
#include <time.h>
static volatile long page[40][512] __attribute__((aligned(4096)));
static long now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return at.tv_sec * 1000000000 + at.tv_nsec;
}
int main(void)
{
    long took[2] = {0, 0};
#pragma omp parallel
    page[omp_get_thread_num()][0] = 1;
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        page[me + 2][0] = 1;
        long began = now();
        for (int i = 0; i < 3000000; i++)
            page[me + 2][1] += i;
        took[me] = now() - began;
    }
    printf("%ld\n", took[0] + took[1]);
    return 0;
}
"#;

#[test]
fn work_behind_a_fault_counts_in_its_region() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    compile(directory, "program", WORKS, &["-fopenmp", "-O1", "-g"]);
    let recorded = run(directory, "record --nodes 2 --accesses -o r -- ./program");
    let worked: u64 = recorded.succeeded().text().trim().parse().unwrap();
    let json = run(directory, "--json simulate r --net 10,1000")
        .succeeded()
        .json();
    let regions = json["points"][1]["by_region"].as_array().unwrap();
    let names: Vec<_> = regions
        .iter()
        .map(|region| region["name"].as_str().unwrap())
        .collect();
    assert_eq!(names[0], "serial part");
    assert!(
        names[1..].iter().all(|name| name.starts_with("program.c:")),
        "{names:?}"
    );
    assert_eq!(names.len(), 3);
    // The program's own reading lies inside ours.
    assert!(regions[2]["all"]["work_ns"].as_u64().unwrap() >= worked);
    assert!(regions[1]["all"]["work_ns"].as_u64().unwrap() < worked);
}

/// Five regions, then what the argument says.
const ENDS: &str = r#"
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static long a[4096];
static void *own(void *unused)
{
    for (int i = 0; i < 4096; i++)
        a[i] += i;
    return unused;
}
int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "";
    for (int round = 0; round < 5; round++) {
#pragma omp parallel
        a[omp_get_thread_num() * 600]++;
    }
    if (!strcmp(what, "own")) {
        pthread_t thread;
        pthread_create(&thread, 0, own, 0);
        pthread_join(thread, 0);
    }
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        if (!strcmp(what, "race"))
            for (int round = 0; round < 1000; round++)
                a[7] += me;
        if (me == 0 && !strcmp(what, "killed-0"))
            raise(SIGKILL);
        if (me == 1 && !strcmp(what, "killed-1"))
            raise(SIGSEGV);
        while (strstr(what, "killed"))
            pause();
    }
    printf("ended\n");
    return 0;
}
"#;

/// However a program ends, what was recorded up to its last barrier is kept.
#[test]
fn what_was_accessed_is_kept_however_the_program_ends() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    compile(directory, "program", ENDS, &["-fopenmp", "-O1", "-pthread"]);
    for (what, code, said) in [
        ("race", 0, ""),
        (
            "own",
            70,
            "accesses can be recorded of one thread on each node",
        ),
        ("killed-0", 128 + 9, "killed by signal 9"),
        ("killed-1", 70, "killed by signal 11"),
    ] {
        for protocol in ["home", "homeless"] {
            let line = format!(
                "record --nodes 2 --dsm {protocol} --accesses --force -o r -- ./program {what}"
            );
            let ended = run(directory, &line);
            assert_eq!(ended.in_words().code, Some(code), "{ended:?}");
            assert!(ended.stderr.contains(said), "{ended:?}");
            let kept = "the last that all nodes came to";
            assert_eq!(ended.stderr.contains(kept), code != 0, "{ended:?}");
            let simulated = run(directory, "--json simulate r --net gige_amd --nodes 2");
            let json = simulated.succeeded().json();
            let barriers = json["points"][0]["all"]["barriers"].as_u64().unwrap();
            // Two for each region on each node.
            assert!(barriers >= 20, "{what}: {barriers}");
        }
    }
}

#[test]
fn larger_pages_bring_more_at_once() {
    let directory = with_file(ACCESSES);
    let line = "simulate f.jsonl --nodes 2 --net gige_amd --dsm-plain --page-bytes";
    let answer = run(directory.path(), &format!("--json {line} 16K,4096"));
    let json = answer.succeeded().json();
    let points = json["points"].as_array().unwrap();
    let facts = |point: &Value| {
        (
            point["page_bytes"].clone(),
            point["all"]["fetch_faults"].clone(),
        )
    };
    let facts: Vec<_> = points.iter().map(facts).collect();
    assert_eq!(facts, [(4096.into(), 4.into()), (16384.into(), 1.into())]);
    let all = run(directory.path(), &format!("{line} all"));
    let text = all.succeeded().text();
    assert!(text.contains("are best on 2 nodes"), "{text}");
    for size in [
        "0",
        "32",
        "4097",
        "6000",
        "4194304",
        "4kk",
        "4096,",
        "99999999999",
    ] {
        let ended = run(directory.path(), &format!("{line} {size}"));
        let wrong = size.trim_start_matches("4096,");
        let said = format!("\"{wrong}\" is no size of pages: give a multiple of 4096 bytes");
        assert!(
            ended.in_words().code == Some(2) && ended.stderr.contains(&said),
            "{ended:?}"
        );
    }
    // A file has pages of any size, and says nothing of parts of these.
    for (recorded, asked, code, words) in [
        (
            4096,
            "64",
            1,
            "record it by `fathomp record --nodes N --accesses --lines`",
        ),
        (
            4096,
            "2048",
            1,
            "what is smaller than 4096 bytes was not recorded",
        ),
        (192, "4096", 2, "give a multiple of 192 with --page-bytes"),
        (
            96,
            "4096",
            1,
            "its pages have 96 bytes, and multiples of 64",
        ),
        (0, "4096", 1, "its pages have 0 bytes"),
    ] {
        let header = format!("\"version\":1,\"page_bytes\":{recorded}");
        let file = ACCESSES.replacen("\"version\":1", &header, 1);
        let directory = with_file(&file.replace("520", "100"));
        run(directory.path(), &format!("{line} {asked}")).refused(code, words);
    }
    let directory = with_file(ACCESSES);
    let line = "simulate f.jsonl --net gige_amd --granularity --nodes";
    run(directory.path(), &format!("{line} 1")).refused(1, "record on two or more");
    run(directory.path(), &format!("{line} 3"))
        .refused(1, "3 nodes need the accesses of 3 threads");
}
