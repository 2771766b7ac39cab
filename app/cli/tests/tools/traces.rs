//! Recordings of ranks as traces of other tools: threads, MPI, both MPIs.

use super::mpi::{Mpi, OF_MPICH, OF_OPENMPI};
use crate::common::{compile_with, run};
use fathomp_requirements::{MPICH, OPENMPI, OTF2_PRINT, with_tools};
use libtest_mimic::Trial;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        with_tools(
            "traces::ranks_and_threads_are_in_all_traces_under_openmpi",
            &[OPENMPI, OTF2_PRINT],
            || ranks_and_threads_are_in_all_traces(&OF_OPENMPI),
        ),
        with_tools(
            "traces::ranks_and_threads_are_in_all_traces_under_mpich",
            &[MPICH, OTF2_PRINT],
            || ranks_and_threads_are_in_all_traces(&OF_MPICH),
        ),
    ]
}

const HYBRID: &str = r#"
#include <mpi.h>
#include <unistd.h>
int main(int count, char **words) {
    int rank, provided;
    double sum = 0, all = 0, message[100] = {0};
    MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm others;
    MPI_Comm_dup(MPI_COMM_WORLD, &others);
    for (int step = 0; step < 40; step++) {
#pragma omp parallel
        {
#pragma omp for schedule(dynamic, 10)
            for (int i = 0; i < 200; i++)
                message[i % 100] = i;
#pragma omp critical
            usleep(200);
        }
        if (rank == 0)
            MPI_Send(message, 100, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);
        else
            MPI_Recv(message, 100, MPI_DOUBLE, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Request both[2];
        MPI_Irecv(message, 50, MPI_DOUBLE, 1 - rank, 8, others, &both[0]);
        MPI_Isend(message + 50, 50, MPI_DOUBLE, 1 - rank, 8, others, &both[1]);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    return MPI_Finalize();
}
"#;

fn ranks_and_threads_are_in_all_traces(mpi: &Mpi) {
    let room = tempfile::tempdir().unwrap();
    let here = room.path();
    let options = ["-fopenmp", "-g"];
    compile_with(mpi.compilers[0], here, "hybrid", HYBRID, &options);
    let line = "record --threads 2 -o rec -- ./hybrid";
    mpi.run(here, 2, line).succeeded();
    let told = run(
        here,
        "regions rec --json --otf2 otf2 --paraver hybrid.prv --perfetto trace.json",
    );
    let told: serde_json::Value = serde_json::from_str(&told.succeeded().text()).unwrap();
    let calls = told["calls"].as_array().unwrap().iter();
    let in_mpi: u64 = calls.map(|one| one["time_ns"].as_u64().unwrap()).sum();
    let close = |ns: u64, what: &str| {
        let error = (ns as f64 - in_mpi as f64).abs() / in_mpi as f64;
        assert!(error < 1e-3, "{what}: {ns} ns in MPI, and {in_mpi} ns");
    };
    close(in_otf2(&here.join("otf2")), "OTF2");
    let printed = otf2_print(&here.join("otf2"), "--timestamps=plain");
    let count = |event: &str| {
        let of_kind = printed.lines().filter(|line| line.starts_with(event));
        of_kind.count()
    };
    let kinds = [
        "SEND ",
        "RECV ",
        "ISEND ",
        "IRECV ",
        "ISEND_C",
        "COLLECTIVE_E",
    ];
    let counts = kinds.map(|kind| count(&format!("MPI_{kind}")));
    assert_eq!(counts[..5], [40, 40, 80, 80, 80], "{kinds:?}");
    assert!(counts[5] >= 80, "{kinds:?}: {counts:?}");
    let root = "Operation: ALLREDUCE, Communicator: \"MPI_COMM_WORLD\"";
    assert!(printed.contains(root), "{root}");
    let prv = fs::read_to_string(here.join("hybrid.prv")).unwrap();
    let messages = prv.lines().filter(|line| line.starts_with("3:"));
    let sizes: BTreeMap<&str, usize> = messages.fold(BTreeMap::new(), |mut sizes, line| {
        let end = line.match_indices(':').nth_back(1).unwrap().0;
        *sizes.entry(&line[end..]).or_default() += 1;
        sizes
    });
    assert_eq!(sizes, [(":400:8", 80), (":800:7", 40)].into());
    close(in_paraver(&here.join("hybrid.prv")), "Paraver");
    in_perfetto(&here.join("trace.json"));

    run(here, "regions rec --otf2 otf2").refused(1, "not empty");
    run(here, "regions rec --paraver hybrid.prv").refused(1, "exists");
    run(here, "regions rec --paraver hybrid").refused(1, "does not end in .prv");
    // The second archive is of one rank, and nothing is left of the first.
    let one = "regions rec/rank.1 --otf2 otf2 --paraver hybrid.prv --force";
    run(here, one).succeeded();
    assert!(!here.join("otf2/traces/2.evt").exists());
    in_otf2(&here.join("otf2"));
    in_paraver(&here.join("hybrid.prv"));
}

/// What `otf2-print` reads of an archive: all of it, without a word of complaint.
fn otf2_print(archive: &Path, option: &str) -> String {
    let mut command = Command::new("otf2-print");
    command.args(["--warnings-as-errors", option]);
    let printed = command.arg(archive.join("traces.otf2")).output().unwrap();
    let complaints = String::from_utf8_lossy(&printed.stderr);
    assert!(printed.status.success(), "{complaints}");
    assert_eq!(complaints, "");
    String::from_utf8(printed.stdout).unwrap()
}

/// Checks that what locations enter they leave; the time in MPI.
fn in_otf2(archive: &Path) -> u64 {
    let definitions = otf2_print(archive, "--show-global-defs");
    let defined = |words: &str| definitions.lines().any(|line| line.contains(words));
    for words in [
        "REGION  ",
        "Role: PARALLEL, Paradigm: \"OpenMP\"",
        "Role: COLL_ALL2ALL, Paradigm: \"MPI\"",
        "hybrid.c\" ",
        "Name: \"thread 1\"",
    ] {
        assert!(defined(words), "{words}: {definitions}");
    }
    let expected: u64 = definitions
        .lines()
        .filter_map(|line| line.split("# Events: ").nth(1)?.split(',').next())
        .map(|number| number.parse::<u64>().unwrap())
        .sum();
    let events = otf2_print(archive, "--timestamps=plain");
    let mut open: BTreeMap<&str, Vec<(&str, u64)>> = BTreeMap::new();
    let (mut found, mut in_mpi) = (0, 0);
    for line in events.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let region = line.split('"').nth(1).unwrap_or("");
        match words[..] {
            ["ENTER", location, at, ..] => {
                let at = at.parse().unwrap();
                open.entry(location).or_default().push((region, at));
            }
            ["LEAVE", location, at, ..] => {
                let (entered, since) = open.get_mut(location).unwrap().pop().unwrap();
                assert_eq!(entered, region);
                if region.starts_with("MPI_") {
                    in_mpi += at.parse::<u64>().unwrap() - since;
                }
            }
            [event, ..] if event.starts_with("MPI_") => {}
            _ => continue,
        }
        found += 1;
    }
    assert_eq!(found, expected, "all events were read");
    assert!(open.values().all(Vec::is_empty), "{open:?}");
    in_mpi
}

/// Checks times and lengths, and that what begins ends; the time in MPI.
fn in_paraver(file: &Path) -> u64 {
    let text = fs::read_to_string(file).unwrap();
    let names = fs::read_to_string(file.with_extension("pcf")).unwrap();
    assert!(names.contains(" !$omp parallel @hybrid.c:"), "{names}");
    assert!(names.contains("\n10 MPI_Allreduce\n"), "{names}");
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    let (_, header) = header.split_once("):").unwrap();
    let end: u64 = header.split("_ns").next().unwrap().parse().unwrap();
    let tasks = header.split(":1:").nth(1).unwrap();
    let threads: BTreeSet<(u32, u32)> = tasks[tasks.find('(').unwrap() + 1..]
        .split(&[',', ')'])
        .filter_map(|task| task.split_once(':'))
        .zip(1..)
        .flat_map(|((threads, _), task)| {
            (1..=threads.parse().unwrap()).map(move |thread| (task, thread))
        })
        .collect();
    let labels = fs::read_to_string(file.with_extension("row")).unwrap();
    assert!(labels.contains(&format!("LEVEL THREAD SIZE {}\n", threads.len())));
    let (mut seen, mut before, mut in_mpi) = (BTreeSet::new(), 0, 0);
    let mut open: BTreeMap<(u64, u64, u64), (u64, u64)> = BTreeMap::new();
    for line in lines.filter(|line| !line.starts_with('c')) {
        let fields: Vec<u64> = line.split(':').map(|one| one.parse().unwrap()).collect();
        let (task, thread, at) = (fields[3], fields[4], fields[5]);
        assert!(at >= before && at <= end, "{line}");
        before = at;
        seen.insert((task as u32, thread as u32));
        if fields[0] == 3 {
            // Sent before it is received.
            assert!(fields[6] <= fields[12], "{line}");
            continue;
        }
        if fields[0] == 1 {
            assert!(fields[6] > at && fields[6] <= end, "{line}");
            assert!(names.contains(&format!("\n{} ", fields[7])), "{line}");
            continue;
        }
        for pair in fields[6..].chunks(2) {
            let known = open.insert((task, thread, pair[0]), (pair[1], at));
            if let (50_000_001..=50_000_005, 0, Some((_, since))) = (pair[0], pair[1], known) {
                in_mpi += at - since;
            }
        }
    }
    assert_eq!(seen, threads, "the header matches");
    assert!(open.values().all(|(value, _)| *value == 0), "{open:?}");
    in_mpi
}

fn in_perfetto(file: &Path) {
    let trace: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let names = events.iter().filter(|one| one["name"] == "process_name");
    let names: Vec<_> = names.map(|one| one["args"]["name"].as_str()).collect();
    assert_eq!(names, [Some("rank 0"), Some("rank 1")]);
    // Both begin at about the same time on one clock.
    let begins = [0, 1].map(|rank| {
        let name = format!("rank {rank}");
        let process = events.iter().find(|one| one["args"]["name"] == *name);
        let pid = &process.unwrap()["pid"];
        let of_it = events.iter().filter(|one| one["pid"] == *pid);
        of_it
            .filter_map(|one| one["ts"].as_f64())
            .fold(f64::MAX, f64::min)
    });
    assert!((begins[0] - begins[1]).abs() < 60e6, "{begins:?}");
}
