//! Programs that were not written for us, under the interposer: same output, same exit code, and
//! nearly all of their calls seen.
#![allow(missing_docs, dead_code, reason = "no interface of the crate")]

mod support;

use fathomp_paging::{Activity, Counter};
use fathomp_requirements::{GFORTRAN, GXX, PYTHON, Tool, run, tests};
use std::fs;
use std::process::{Command, ExitCode};
use support::{Run, compile, folder, record};

const SQLITE: Tool = Tool {
    commands: &["sqlite3"],
    package: "sqlite3",
};
const MPI: Tool = Tool {
    commands: &["mpicc"],
    package: "libopenmpi-dev openmpi-bin",
};

fn main() -> ExitCode {
    let mut trials = Vec::from(tests![
        shells_and_what_they_start,
        copies_by_dd,
        compression_by_gzip,
        any_mpi_library
    ]);
    trials.extend(tests![&[SQLITE] => a_database]);
    trials.extend(tests![&[PYTHON] => an_interpreter]);
    trials.extend(tests![&[GXX] => cancelled_threads_are_unwound, streams_of_cxx]);
    trials.extend(tests![&[GFORTRAN] => files_of_fortran]);
    trials.extend(tests![&[MPI] => a_real_mpi_library]);
    run(trials)
}

/// A program and its arguments, alone and under the interposer, in a folder with something to read.
fn both(command: &[&str]) -> Run {
    let prepare = |room: &std::path::Path| {
        let lines: String = (0..100_000).map(|line| format!("{line}\n")).collect();
        fs::write(room.join("lines"), lines).unwrap();
    };
    let start = |room: &std::path::Path| {
        let mut start = Command::new(command[0]);
        start.args(&command[1..]).current_dir(room);
        start
    };
    let (alone, recorded) = (folder(), folder());
    prepare(alone.path());
    prepare(recorded.path());
    let expected = start(alone.path()).output().unwrap();
    let run = record(&mut start(recorded.path()));
    assert_eq!(run.output.status, expected.status, "{command:?}: {run:?}");
    assert_eq!(run.output.stdout, expected.stdout, "{command:?}");
    for entry in fs::read_dir(alone.path()).unwrap() {
        let name = entry.unwrap().file_name();
        let left = |room: &std::path::Path| fs::read(room.join(&name)).unwrap();
        assert!(
            left(alone.path()) == left(recorded.path()),
            "{command:?}: {name:?}"
        );
    }
    run
}

fn shells_and_what_they_start() {
    let script = "set -e; for i in 1 2 3; do wc -l < lines; done | sort -u; \
        x=$(head -3 lines | tail -1); echo $x; (exit 3) || echo $?; \
        read -t 1 y < lines; echo $y; cat lines | (while read z; do :; done; echo $z); \
        sleep 0.01 & wait; exec sh -c 'exit 7'";
    let run = both(&["bash", "-c", script]);
    assert_eq!(run.output.status.code(), Some(7));
    for (program, processes) in [("wc", 3), ("sort", 1), ("head", 1), ("tail", 1), ("cat", 1)] {
        assert_eq!(run.of(program).len(), processes, "{program}");
    }
    // Two calls are the C library's, for the locale.
    let cat = run.of("cat")[0];
    assert!(cat.coverage_percent(2) >= 95);
    assert!(cat.total(Counter::BytesRead) == 588_890);
}

fn copies_by_dd() {
    let run = both(&["dd", "if=lines", "of=copy", "bs=512"]);
    let process = run.one();
    assert!(process.coverage_percent(0) >= 95);
    assert_eq!(process.times("read"), 588_890_usize.div_ceil(512) + 1);
    assert_eq!(process.sum(Activity::Io, Counter::BytesRead), 588_890);
}

fn compression_by_gzip() {
    let run = both(&["gzip", "-kn", "lines"]);
    assert!(run.one().coverage_percent(0) >= 95);
}

fn a_database() {
    let run = both(&[
        "sqlite3",
        "base",
        "create table a(x); with recursive c(n) as (select 1 union all \
         select n+1 from c where n<20000) insert into a select n from c; \
         create index i on a(x); select sum(x) from a;",
    ]);
    assert!(run.one().coverage_percent(0) >= 95);
}

fn an_interpreter() {
    let text = "import json, threading, subprocess, sys\n\
        lines = open('lines').readlines()\n\
        open('copy', 'w').writelines(lines)\n\
        t = [threading.Thread(target=lambda: open('lines').read()) for _ in range(4)]\n\
        [x.start() for x in t]; [x.join() for x in t]\n\
        print(len(lines), subprocess.run(['wc', '-l', 'lines'], capture_output=True).stdout)\n\
        sys.exit(5)";
    let run = both(&["python3", "-c", text]);
    assert_eq!(run.output.status.code(), Some(5));
    assert_eq!(run.of("wc").len(), 1);
    let all = run.processes.iter();
    let python = all.filter(|process| process.facts.program.starts_with("python"));
    let main = python.max_by_key(|process| process.threads.len()).unwrap();
    assert_eq!(main.threads.len(), 5);
    assert!(main.coverage_percent(0) >= 90, "{:?}", main.facts);
}

fn cancelled_threads_are_unwound() {
    record(&mut Command::new(compile("g++", "unwinding.cpp", &[]))).ok();
}

fn streams_of_cxx() {
    let path = compile("g++", "streams.cpp", &[]);
    let run = both(&[path.to_str().unwrap()]);
    assert!(run.one().coverage_percent(0) >= 95, "{:?}", run.one().facts);
}

fn files_of_fortran() {
    let path = compile("gfortran", "files.f90", &["-fbacktrace"]);
    let run = both(&[path.to_str().unwrap()]);
    assert!(run.one().coverage_percent(0) >= 95, "{:?}", run.one().facts);
}

/// One for which we stand in, which tells what it was given.
fn any_mpi_library() {
    let library = compile(
        "cc",
        "mpi_library.c",
        &["-shared", "-fPIC", "-DFAMILY=\"MPICH\""],
    );
    let renamed = library.with_file_name("libmpi-of-ours.so");
    fs::copy(&library, &renamed).unwrap();
    let program = support::program("mpi_program.c");
    for hidden in [false, true] {
        let mut command = Command::new(&program);
        command.arg(&renamed).args(hidden.then_some("hidden"));
        let run = record(&mut command).ok();
        let process = run.one();
        assert_eq!(process.facts.rank, Some(3));
        let stays = process.stays();
        for (cause, activity, times) in [
            ("MPI_Init", Activity::Communication, 1),
            ("MPI_Get_accumulate", Activity::Communication, 1),
            ("MPI_Allreduce", Activity::Communication, 1),
            ("MPI_Send", Activity::Communication, 2),
            ("MPI_File_write", Activity::Io, 1),
        ] {
            let of: Vec<_> = stays.iter().filter(|stay| stay.cause == cause).collect();
            assert_eq!(of.len(), times, "{cause}");
            assert!(
                of.iter().all(|stay| stay.state.activity == activity),
                "{cause}"
            );
        }
        // What the library reads meanwhile is part of the call.
        assert_eq!(process.times("read"), 0);
        assert_eq!(process.total(Counter::BytesRead), 1, "of MPI_File_write");
    }
}

fn a_real_mpi_library() {
    let path = compile("mpicc", "ring.c", &[]);
    let mut command = Command::new("mpirun");
    command
        .args(["--allow-run-as-root", "--oversubscribe", "-n", "3"])
        .arg(&path)
        .env("OMPI_MCA_btl_vader_single_copy_mechanism", "none")
        .env("OMPI_MCA_rmaps_base_oversubscribe", "1");
    let run = record(&mut command).ok();
    let said = String::from_utf8_lossy(&run.output.stdout);
    assert_eq!(said, "sum 3\n");
    let name = path.file_name().unwrap().to_str().unwrap();
    let mut ranks: Vec<_> = run
        .of(name)
        .iter()
        .map(|process| process.facts.rank)
        .collect();
    ranks.sort();
    assert_eq!(ranks, [Some(0), Some(1), Some(2)]);
    for process in run.of(name) {
        for call in ["MPI_Init", "MPI_Sendrecv", "MPI_Allreduce", "MPI_Finalize"] {
            assert!(process.times(call) >= 1, "{call}");
        }
    }
}
