//! `fathomp run --transport` inside of `mpirun`: ranks of both MPIs, all on this machine.

use super::mpi::{Mpi, OF_MPICH, OF_OPENMPI};
use crate::common::{self, Ended, SUM, compile, finish, run, until_ready};
use fathomp_paging::reader::Recording;
use fathomp_requirements::{MPICH, OPENMPI, plain, with_tools};
use fathomp_trace::reader;
use libtest_mimic::Trial;
use std::process::Stdio;
use std::{fs, io::Write};

pub(crate) fn trials() -> Vec<Trial> {
    macro_rules! both {
        ($($check:ident),+ $(,)?) => {
            vec![$(
                with_tools(concat!("ranks::", stringify!($check), "_under_openmpi"), &[OPENMPI], || $check(&OF_OPENMPI)),
                with_tools(concat!("ranks::", stringify!($check), "_under_mpich"), &[MPICH], || $check(&OF_MPICH)),
            )+]
        };
    }
    let mut all = both![
        ranks_run_one_program,
        a_benchmark_is_right,
        what_ranks_do_is_recorded,
        programs_see_one_environment_and_no_sockets,
        what_libraries_of_mpi_say_is_no_output,
        the_first_rank_has_input_and_exit_code,
        a_rank_that_is_killed_ends_all,
        one_rank_is_a_run_too,
        ranks_with_different_programs_are_refused,
        what_the_first_rank_cannot_start_is_said_once,
        ranks_that_run_apart_are_told_of,
        ranks_that_run_apart_have_recordings_of_their_own,
    ];
    all.extend([
        with_tools(
            "ranks::another_mpi_is_named",
            &[OPENMPI, MPICH],
            another_mpi_is_named,
        ),
        plain(
            "ranks::outside_of_mpirun_that_is_said",
            outside_of_mpirun_that_is_said,
        ),
    ]);
    all
}

/// Goes on until somebody ends it.
const ENDLESS: &str = r#"
#include <stdio.h>
#include <unistd.h>
int main(void) {
    for (int round = 0;; round++) {
#pragma omp parallel
        usleep(1000);
        if (round == 0) puts("ready"), fflush(stdout);
    }
}
"#;

/// What we have said, among what mpirun says.
fn sentences(ended: &Ended) -> Vec<&str> {
    let lines = ended.stderr.lines();
    lines.filter(|line| line.starts_with("fathomp: ")).collect()
}

fn ranks_run_one_program(mpi: &Mpi) {
    let directory = tempfile::tempdir().unwrap();
    compile(directory.path(), "sum", SUM, &["-fopenmp", "-O2"]);
    for (ranks, options, threads) in [
        (2, "--transport tcp --threads 1", 2),
        (4, "--transport tcp --threads 1 --dsm homeless", 4),
        (2, "--transport mpi --threads 2 --dsm homeless", 4),
        (4, "--transport mpi --threads 1", 4),
        (2, "--transport mpi --threads 1 --nodes 2", 4),
    ] {
        let ended = mpi.run(directory.path(), ranks, &format!("run {options} -- ./sum"));
        ended.succeeded();
        let said = format!("0 left on {threads} threads\n");
        assert_eq!(
            (ended.text(), &*ended.stderr),
            (said, ""),
            "{ranks} {options}"
        );
    }
}

/// More is under way at a time than fits into what agents hold for each other.
fn a_benchmark_is_right(mpi: &Mpi) {
    let directory = tempfile::tempdir().unwrap();
    run(directory.path(), "workload build is cg -o programs").succeeded();
    let programs = fs::read_dir(directory.path().join("programs")).unwrap();
    for program in programs.map(|entry| entry.unwrap().path()) {
        for protocol in ["home", "homeless"] {
            let shown = program.display();
            let line = format!("run --transport mpi --threads 1 --dsm {protocol} -- {shown}");
            let ended = mpi.run(directory.path(), 2, &line);
            ended.succeeded();
            assert!(
                ended.text().contains("\"verified\":true"),
                "{shown} {protocol}: {ended:?}"
            );
        }
    }
}

fn what_ranks_do_is_recorded(mpi: &Mpi) {
    let directory = tempfile::tempdir().unwrap();
    compile(directory.path(), "sum", SUM, &["-fopenmp", "-O2"]);
    for transport in ["tcp", "mpi"] {
        let line = format!("record --transport {transport} --threads 1 -o {transport} -- ./sum");
        mpi.run(directory.path(), 2, &line).succeeded();
        let recording = reader::open(&directory.path().join(transport)).unwrap();
        assert_eq!(recording.problems, [""; 0]);
        let names: Vec<&str> = recording
            .meta
            .hosts
            .iter()
            .map(|host| &*host.name)
            .collect();
        assert!(
            names[0].ends_with(" (rank 0)") && names[1].ends_with(" (rank 1)"),
            "{names:?}"
        );
        assert_eq!(recording.processes[0].nodes.len(), 2);
    }
    // Paging and accesses likewise.
    let line = "record --transport tcp --threads 1 --paging -o paging -- ./sum";
    mpi.run(directory.path(), 2, line).succeeded();
    let recording = Recording::open(&directory.path().join("paging")).unwrap();
    for node in [0, 1] {
        let mut tasks = recording.tasks().iter();
        let task = tasks.find(|task| (task.node, task.openmp_thread) == (Some(node), Some(0)));
        let host = &task.unwrap().host;
        assert!(host.ends_with(&format!(" (rank {node})")), "{host}");
    }
    let line = "record --transport mpi --accesses -o accesses -- ./sum";
    mpi.run(directory.path(), 2, line).succeeded();
    let line = "--json simulate accesses --net gige_amd";
    let json = run(directory.path(), line).succeeded().json();
    assert_eq!(json["points"].as_array().unwrap().len(), 2, "{json}");
    // What makes no sense is said once, before ranks meet.
    let line = "record --transport tcp --paging --tasks 0-3 -o refused -- ./sum";
    let ended = mpi.run(directory.path(), 2, line);
    assert_eq!(
        ended.stderr.matches("--tasks node:0-3").count(),
        1,
        "{ended:?}"
    );
}

fn programs_see_one_environment_and_no_sockets(mpi: &Mpi) {
    let directory = tempfile::tempdir().unwrap();
    let text = "#!/bin/sh\nenv | grep -E '^(PMI|PMIX|OMPI|HYDI|MPI_)'\nfor open in /proc/$$/fd/*; do echo ${open##*/}; done\n";
    fs::write(directory.path().join("shows"), text).unwrap();
    let ended = mpi.run(directory.path(), 2, "run --transport mpi -- sh shows");
    ended.succeeded();
    let text = ended.text();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    // Its streams, what the shell has opened itself, and the socket to the agent.
    for line in &lines {
        assert!(
            matches!(*line, "0" | "1" | "2" | "3" | "10" | "200"),
            "{line}: {ended:?}"
        );
    }
}

/// UCX says what it does and which errors it finds, on standard output unless told otherwise. It
/// is not there with every MPI.
fn what_libraries_of_mpi_say_is_no_output(mpi: &Mpi) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("shows"), "env | grep ^UCX_\n").unwrap();
    for transport in ["tcp", "mpi"] {
        let line = format!("run --transport {transport} -- sh shows");
        let mut command = mpi.command(directory.path(), 2, &line);
        let ended = finish(command.env("UCX_LOG_LEVEL", "info"));
        ended.succeeded();
        // What the user has set, and nothing beside that.
        assert_eq!(ended.text(), "UCX_LOG_LEVEL=info\n".repeat(2), "{ended:?}");
    }
}

fn the_first_rank_has_input_and_exit_code(mpi: &Mpi) {
    let directory = tempfile::tempdir().unwrap();
    let source = SUM.replace(
        "double sum = 0;",
        "double sum = 0; int c; while ((c = getchar()) != EOF) putchar(c);",
    );
    compile(directory.path(), "sum", &source, &["-fopenmp", "-O2"]);
    for transport in ["tcp", "mpi"] {
        let line = format!("run --transport {transport} --threads 1 -- ./sum a b c");
        let mut command = mpi.command(directory.path(), 2, &line);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(b"one\ntwo\n")
            .unwrap();
        let ended = common::collect(child);
        assert_eq!(ended.code, Some(3), "{ended:?}");
        assert_eq!(ended.text(), "one\ntwo\n0 left on 2 threads\n", "{ended:?}");
    }
}

fn a_rank_that_is_killed_ends_all(mpi: &Mpi) {
    let directory = tempfile::tempdir().unwrap();
    compile(directory.path(), "endless", ENDLESS, &["-fopenmp", "-O2"]);
    for transport in ["tcp", "mpi"] {
        for victim in [0, 2] {
            let mark = format!("{}-{transport}-{victim}", directory.path().display());
            let line = format!("run --transport {transport} --threads 1 -- ./endless");
            let mut command = mpi.command(directory.path(), 3, &line);
            let child = until_ready(command.env("TEST_RUN", &mark));
            let killed = processes(&mark)
                .into_iter()
                .find(|one| one.rank == Some(victim));
            let pid = killed.map(|one| one.pid).expect("there is such a rank");
            nix::sys::signal::kill(
                nix::unistd::Pid::from_raw(pid),
                nix::sys::signal::Signal::SIGKILL,
            )
            .unwrap();
            let ended = common::collect(child);
            assert_ne!(ended.code, Some(0), "{ended:?}");
            // mpirun of MPICH may end all others before any of them has seen it.
            let said = sentences(&ended);
            assert!(said.len() <= 1, "{ended:?}");
            for sentence in said {
                assert!(
                    sentence.contains(&format!("rank {victim}")) && sentence.contains("gone"),
                    "{sentence}"
                );
            }
            nothing_is_left(&mark);
        }
    }
}

struct Process {
    pid: i32,
    /// Of agents.
    rank: Option<u32>,
}

/// Processes of a run: agents, and what they have started.
fn processes(mark: &str) -> Vec<Process> {
    let mark = format!("TEST_RUN={mark}");
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let process = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let environment = fs::read(entry.path().join("environ")).ok()?;
        let environment = String::from_utf8_lossy(&environment).into_owned();
        let mut variables = environment.split('\0');
        variables.clone().find(|one| *one == mark)?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).into_owned();
        let mut words = line.split('\0');
        let is_agent = words.next().is_some_and(|word| word.ends_with("/fathomp"))
            && words.next() == Some("run");
        let rank = variables.find_map(|one| {
            let value = one.strip_prefix("PMI_RANK=");
            value
                .or_else(|| one.strip_prefix("OMPI_COMM_WORLD_RANK="))?
                .parse()
                .ok()
        });
        Some(Process {
            pid,
            rank: rank.filter(|_| is_agent),
        })
    };
    entries.filter_map(process).collect()
}

/// Waits until no process of a run is left.
fn nothing_is_left(mark: &str) {
    let begun = std::time::Instant::now();
    while !processes(mark).is_empty() {
        assert!(begun.elapsed() < common::PATIENCE, "something is left");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

fn one_rank_is_a_run_too(mpi: &Mpi) {
    let directory = tempfile::tempdir().unwrap();
    compile(directory.path(), "sum", SUM, &["-fopenmp", "-O2"]);
    for transport in ["tcp", "mpi"] {
        let line = format!("run --transport {transport} --threads 2 -- ./sum");
        let ended = mpi.run(directory.path(), 1, &line);
        ended.succeeded();
        assert_eq!(ended.text(), "0 left on 2 threads\n", "{ended:?}");
    }
}

fn what_the_first_rank_cannot_start_is_said_once(mpi: &Mpi) {
    let directory = tempfile::tempdir().unwrap();
    compile(directory.path(), "sum", SUM, &["-fopenmp", "-O2"]);
    let said_once = |line: &str, words: &str| {
        let ended = mpi.run(directory.path(), 2, line);
        assert_ne!(ended.code, Some(0), "{ended:?}");
        let said = sentences(&ended);
        assert!(
            said.len() == 1 && said[0].contains(words),
            "{line}: {ended:?}"
        );
    };
    said_once(
        "run --transport mpi -- ./nothing",
        "./nothing: no such file",
    );
    said_once(
        "run --transport tcp -- ./nothing",
        "./nothing: no such file",
    );
    said_once(
        "run --transport tcp --hosts a,b -- ./sum",
        "leave --hosts and --hostfile out",
    );
    said_once(
        "run --transport tcp --secure -- ./sum",
        "leave --secure out",
    );
    said_once(
        "run --transport tcp --nodes 200 -- ./sum",
        "more than 256 nodes",
    );
}

fn ranks_that_run_apart_are_told_of(mpi: &Mpi) {
    let directory = tempfile::tempdir().unwrap();
    compile(directory.path(), "sum", SUM, &["-fopenmp", "-O2"]);
    let ended = mpi.run(directory.path(), 2, "run --threads 1 -- ./sum");
    ended.succeeded();
    assert_eq!(ended.text(), "0 left on 1 threads\n".repeat(2), "{ended:?}");
    let said = sentences(&ended);
    assert!(
        said.len() == 1 && said[0].contains("give --transport tcp"),
        "{ended:?}"
    );
}

/// A program of MPI waits in `MPI_Init` for all of its ranks: one that cannot be recorded has to
/// run all the same.
fn ranks_that_run_apart_have_recordings_of_their_own(mpi: &Mpi) {
    let directory = tempfile::tempdir().unwrap();
    compile(directory.path(), "sum", SUM, &["-fopenmp", "-O2"]);
    let record = |ranks, options: &str| {
        let line = format!("record --threads 1 -o rec {options} -- ./sum");
        let ended = mpi.run(directory.path(), ranks, &line);
        ended.succeeded();
        let expected = "0 left on 1 threads\n".repeat(ranks as usize);
        assert_eq!(ended.text(), expected, "{ended:?}");
        ended
    };
    let regions = |rank| {
        let recording = reader::open(&directory.path().join(format!("rec/rank.{rank}")));
        recording.map(|recording| recording.processes.len())
    };
    let ended = record(3, "");
    let of_first: Vec<_> = sentences(&ended)
        .into_iter()
        .filter(|said| said.contains("recorded "))
        .collect();
    let [said] = of_first.as_slice() else {
        panic!("{ended:?}");
    };
    assert!(said.ends_with("see `fathomp regions rec`"), "{said}");
    for rank in 0..3 {
        assert_eq!(regions(rank).unwrap(), 1);
    }
    // Without --force, the old recordings stay and the ranks run unrecorded.
    let ended = record(2, "");
    for rank in 0..2 {
        let expected = format!("rank {rank} runs without being recorded: rec/rank.{rank} already");
        assert!(ended.stderr.contains(&expected), "{ended:?}");
    }
    record(2, "--force");
    assert!(regions(2).is_err(), "there is no third rank any more");
    let ended = run(directory.path(), "regions rec");
    ended.succeeded();
    assert!(
        ended.text().contains(": 2 ranks with 1 thread each, "),
        "{ended:?}"
    );
    run(directory.path(), "regions rec --threads").refused(1, "such as rec/rank.0");
    run(directory.path(), "predict rec").refused(1, "name one of them, such as rec/rank.0");
    run(directory.path(), "report rec rec/rank.0").refused(1, "a recording of each of 2 ranks");
    run(directory.path(), "regions rec/rank.1").succeeded();
    // As it is where hosts share no directory.
    std::fs::remove_dir_all(directory.path().join("rec/rank.1")).unwrap();
    let ended = run(directory.path(), "regions rec");
    ended.succeeded();
    assert!(ended.text().contains(": 1 of 2 ranks with"), "{ended:?}");
    let text = ended.text().replace('\n', " ");
    assert!(
        text.contains("No recordings of 1 rank are here (rank 1)"),
        "{text}"
    );
    assert!(!text.contains("Parallel efficiency"), "{text}");
}

fn ranks_with_different_programs_are_refused(mpi: &Mpi) {
    let directory = tempfile::tempdir().unwrap();
    compile(directory.path(), "sum", SUM, &["-fopenmp", "-O2"]);
    for transport in ["tcp", "mpi"] {
        let line = format!("run --transport {transport} -- ./sum");
        let mut command = mpi.command(directory.path(), 1, &line);
        command.args([":", "-np", "1", env!("CARGO_BIN_EXE_fathomp")]);
        command.args(line.split_whitespace()).arg("more");
        let ended = finish(&mut command);
        assert_ne!(ended.code, Some(0), "{ended:?}");
        let said = sentences(&ended);
        let expected = "rank 1 was started to run `./sum more`, and rank 0 `./sum`";
        assert!(said.len() == 1 && said[0].contains(expected), "{ended:?}");
    }
}

/// The library of one MPI under the `mpirun` of another finds itself alone.
fn another_mpi_is_named() {
    let directory = tempfile::tempdir().unwrap();
    compile(directory.path(), "sum", SUM, &["-fopenmp", "-O2"]);
    for (mpi, other) in [(&OF_MPICH, "mpicc.openmpi"), (&OF_OPENMPI, "mpicc.mpich")] {
        let line = format!("run --transport mpi --mpicc {other} -- ./sum");
        let ended = mpi.run(directory.path(), 2, &line);
        assert_ne!(ended.code, Some(0), "{ended:?}");
        let said = sentences(&ended);
        assert!(!said.is_empty(), "{ended:?}");
        for sentence in said {
            assert!(
                sentence.contains("knows of 1 rank(s)") && sentence.contains("--mpicc"),
                "{sentence}"
            );
        }
    }
}

fn outside_of_mpirun_that_is_said() {
    let directory = tempfile::tempdir().unwrap();
    compile(directory.path(), "sum", SUM, &["-fopenmp", "-O2"]);
    run(directory.path(), "run --transport tcp -- ./sum").refused(2, "neither has started this");
    run(directory.path(), "run --mpicc mpicc -- ./sum").refused(2, "give --transport");
    run(directory.path(), "sharing --transport tcp -- ./sum").refused(2, "on one machine so far");
}
