//! Calls of MPI in recordings, and ranks put together: both MPIs, C and Fortran.

use super::mpi::{Mpi, OF_MPICH, OF_OPENMPI};
use crate::common::{compile_with, run};
use fathomp_requirements::{GFORTRAN, MPICH, OPENMPI, with_tools};
use libtest_mimic::Trial;
use std::fs;
use std::path::Path;
use std::process::Command;

pub(crate) fn trials() -> Vec<Trial> {
    macro_rules! both {
        ($($check:ident $tools:tt),+ $(,)?) => {
            vec![$(
                with_tools(concat!("mpi_calls::", stringify!($check), "_under_openmpi"), both!(@tools OPENMPI $tools), || $check(&OF_OPENMPI)),
                with_tools(concat!("mpi_calls::", stringify!($check), "_under_mpich"), both!(@tools MPICH $tools), || $check(&OF_MPICH)),
            )+]
        };
        (@tools $mpi:ident (C)) => { &[$mpi] };
        (@tools $mpi:ident (Fortran)) => { &[$mpi, GFORTRAN] };
    }
    both![
        what_ranks_wait_for_each_other_is_told(C),
        programs_without_openmp_are_recorded(C),
        ranks_that_a_launcher_starts_below_the_recorder_are_recorded(C),
        calls_of_the_programs_libraries_are_told(C),
        calls_of_fortran_are_told(Fortran),
        messages_are_matched_at_both_ends(C),
        a_study_over_ranks_tells_the_best_split(C),
    ]
}

/// Rank 1 comes 20 ms later than rank 0 to every step, whatever else the machine does.
const UNEQUAL: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int count, char **words) {
    int rank, size, provided;
    double sum = 0, all = 0;
    MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 0; step < 25; step++) {
        double part = 0;
#pragma omp parallel for reduction(+ : part)
        for (int i = 0; i < 100000; i++)
            part += i * 1e-9;
        usleep(20000 * rank);
        MPI_Allreduce(&part, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        sum += all;
    }
    char message[100] = "";
    if (rank == 0 && size > 1)
        MPI_Send(message, 100, MPI_CHAR, 1, 7, MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_Recv(message, 100, MPI_CHAR, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0)
        printf("%d\n", sum > 0);
    return MPI_Finalize();
}
"#;

/// A directory with that program.
fn with_unequal(mpi: &Mpi) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let options = ["-fopenmp", "-g"];
    let compiler = mpi.compilers[0];
    compile_with(compiler, directory.path(), "unequal", UNEQUAL, &options);
    directory
}

/// The numbers of `fathomp regions` of all ranks.
fn told(directory: &Path, recording: &str) -> serde_json::Value {
    let ended = run(directory, &format!("regions {recording} --json"));
    ended.succeeded();
    serde_json::from_str(&ended.text()).unwrap()
}

/// Calls of a function in a list of them.
fn calls<'a>(all: &'a serde_json::Value, function: &str) -> &'a serde_json::Value {
    let mut calls = all.as_array().unwrap().iter();
    let found = calls.find(|one| one["function"] == function);
    found.unwrap_or_else(|| panic!("{function}: {all}"))
}

fn what_ranks_wait_for_each_other_is_told(mpi: &Mpi) {
    let directory = with_unequal(mpi);
    let line = "record --threads 1 -o rec -- ./unequal";
    let ended = mpi.run(directory.path(), 2, line);
    ended.succeeded();
    assert_eq!(ended.text(), "1\n", "{ended:?}");
    let found = told(directory.path(), "rec");
    let late = &found["late"];
    assert_eq!(
        (&late["rank"], &late["of"]),
        (&1.into(), &25.into()),
        "{late}"
    );
    assert!(late["times"].as_u64() >= Some(15), "{late}");
    let place = late["place"].as_str().unwrap();
    assert!(place.starts_with("MPI_Allreduce at unequal.c:"), "{place}");
    let [waits, none] = [0, 1].map(|rank| found["ranks"][rank]["waiting_ns"].as_u64().unwrap());
    // Beside other programs rank 0 may be late once or twice, by more.
    assert!(waits > none && waits > 200_000_000, "{found}");
    let reduces = calls(&found["calls"], "MPI_Allreduce");
    assert_eq!(
        (&reduces["count"], &reduces["bytes"]),
        (&50.into(), &400.into())
    );
    for (function, rank, peer) in [("MPI_Send", 0, Some("1")), ("MPI_Recv", 1, None)] {
        let one = told(directory.path(), &format!("rec/rank.{rank}"));
        let call = calls(&one["mpi"]["calls"], function);
        assert_eq!((&call["count"], &call["bytes"]), (&1.into(), &100.into()));
        let peers: Vec<&str> = call["peers"]
            .as_object()
            .unwrap()
            .keys()
            .map(|key| &**key)
            .collect();
        assert_eq!(peers, peer.into_iter().collect::<Vec<_>>(), "{call}");
    }
    let page = run(directory.path(), "report rec -o all.html");
    page.succeeded();
    let page = fs::read_to_string(directory.path().join("all.html")).unwrap();
    // On a machine with one processor both share that, and a busy one is to blame itself.
    let first = [
        "Rank 1 comes last to ",
        "All ranks on ",
        "without a processor",
    ];
    let is_told = first.iter().any(|words| page.contains(words));
    assert!(page.contains("<h2>Ranks</h2>") && is_told);
    assert!(page.contains("What follows is of rank 1"));
    let page = run(directory.path(), "report rec/rank.0 -o page.html");
    page.succeeded();
    let page = fs::read_to_string(directory.path().join("page.html")).unwrap();
    assert!(page.contains("in MPI outside parallel regions") && page.contains("MPI_Allreduce"));
}

/// Such programs have no region, and their first thread is known by its calls of MPI alone.
fn programs_without_openmp_are_recorded(mpi: &Mpi) {
    let directory = tempfile::tempdir().unwrap();
    let compiler = mpi.compilers[0];
    compile_with(
        compiler,
        directory.path(),
        "pure",
        UNEQUAL,
        &["-g", "-Wno-unknown-pragmas"],
    );
    mpi.run(directory.path(), 2, "record -o rec -- ./pure")
        .succeeded();
    let found = told(directory.path(), "rec");
    assert_eq!(
        calls(&found["calls"], "MPI_Allreduce")["count"],
        50,
        "{found}"
    );
    assert_eq!(calls(&found["calls"], "MPI_Init_thread")["ranks"], 2);
}

fn ranks_that_a_launcher_starts_below_the_recorder_are_recorded(mpi: &Mpi) {
    let directory = with_unequal(mpi);
    let start = mpi.start.join(" ");
    // Two parts with programs of their own, and output that is the program's alone.
    let line = format!("record --threads 1 -o rec -- {start} -np 1 ./unequal : -np 1 ./unequal 2");
    let ended = run(directory.path(), &line);
    ended.succeeded();
    assert_eq!(ended.text(), "1\n", "{ended:?}");
    let found = told(directory.path(), "rec");
    assert_eq!(found["ranks"].as_array().map(Vec::len), Some(2), "{found}");
    // What a script starts is not known beforehand.
    // A shell writes it: a test that starts a program meanwhile would keep it open for writing.
    let script =
        format!("printf '#!/bin/sh\\nexec {start} -np 2 ./unequal\\n' >both && chmod +x both");
    let mut shell = Command::new("sh");
    let written = shell
        .arg("-c")
        .arg(script)
        .current_dir(directory.path())
        .status();
    assert!(written.unwrap().success());
    run(directory.path(), "record --threads 1 -o one -- ./both").succeeded();
    let found = told(directory.path(), "one");
    assert_eq!(
        calls(&found["mpi"]["calls"], "MPI_Allreduce")["count"],
        50,
        "{found}"
    );
}

/// The program itself knows nothing of MPI.
fn calls_of_the_programs_libraries_are_told(mpi: &Mpi) {
    const MAIN: &str = "int steps(int, char **);\n\
        int main(int count, char **words) { return steps(count, words); }";
    let directory = tempfile::tempdir().unwrap();
    let options = ["-fopenmp", "-g", "-fPIC", "-shared", "-Dmain=steps"];
    let library = "libsteps.so";
    compile_with(
        mpi.compilers[0],
        directory.path(),
        library,
        UNEQUAL,
        &options,
    );
    let options = ["-L.", "-lsteps", "-Wl,-rpath,$ORIGIN"];
    compile_with("gcc", directory.path(), "steps", MAIN, &options);
    let line = "record --threads 1 -o rec -- ./steps";
    mpi.run(directory.path(), 2, line).succeeded();
    let found = told(directory.path(), "rec");
    assert_eq!(calls(&found["calls"], "MPI_Allreduce")["count"], 50);
}

/// By `mpi` and by `mpi_f08`.
fn calls_of_fortran_are_told(mpi: &Mpi) {
    let directory = tempfile::tempdir().unwrap();
    let of_numbers = "integer :: request(1), status(MPI_STATUS_SIZE)";
    let of_types = "type(MPI_Request) :: request(1)\n  type(MPI_Status) :: status";
    for (module, error, handles) in [("mpi", ", error", of_numbers), ("mpi_f08", "", of_types)] {
        let init = error.trim_start_matches(", ");
        let source = format!(
            "program steps
  use {module}
  implicit none
  integer :: rank, step, error
  {handles}
  double precision :: part, all
  call MPI_Init({init})
  call MPI_Comm_rank(MPI_COMM_WORLD, rank{error})
  do step = 1, 12
    part = rank
    call MPI_Allreduce(part, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD{error})
    call MPI_Bcast(all, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD{error})
    if (rank == 0) then
      call MPI_Send(part, 1, MPI_DOUBLE_PRECISION, 1, step, MPI_COMM_WORLD{error})
      call MPI_Send(part, 1, MPI_DOUBLE_PRECISION, 1, step, MPI_COMM_WORLD{error})
    else
      call MPI_Recv(part, 1, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG, &
        MPI_COMM_WORLD, MPI_STATUS_IGNORE{error})
      call MPI_Irecv(part, 1, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG, &
        MPI_COMM_WORLD, request(1){error})
      call MPI_Waitall(1, request, MPI_STATUSES_IGNORE{error})
      call MPI_Isend(part, 1, MPI_DOUBLE_PRECISION, 0, 7, MPI_COMM_WORLD, request(1){error})
      call MPI_Wait(request(1), MPI_STATUS_IGNORE{error})
    end if
    if (rank == 0) then
      call MPI_Recv(part, 1, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &
        status{error})
    end if
  end do
  error = 0
  call MPI_Finalize({init})
end program
"
        );
        let file = directory.path().join(format!("{module}.f90"));
        fs::write(&file, source).unwrap();
        let status = Command::new(mpi.compilers[1])
            .current_dir(directory.path())
            .args(["-O1", "-g", "-o", module])
            .arg(&file)
            .status();
        assert!(status.unwrap().success(), "{module}");
        let line = format!("record -o rec-{module} -- ./{module}");
        mpi.run(directory.path(), 2, &line).succeeded();
        let found = told(directory.path(), &format!("rec-{module}"));
        for function in ["MPI_Allreduce", "MPI_Bcast"] {
            let one = calls(&found["calls"], function);
            assert_eq!(
                (&one["count"], &one["bytes"]),
                (&24.into(), &192.into()),
                "{module}"
            );
        }
        // Senders and tags are known, also of receives from any whose status is not wanted.
        let messages = found["messages"].as_array().unwrap().iter();
        let counts = messages.map(|one| ["from", "to", "count"].map(|key| one[key].as_u64()));
        let expected = [[0, 1, 24], [1, 0, 12]].map(|one| one.map(Some));
        assert_eq!(counts.collect::<Vec<_>>(), expected, "{module}");
        // They are known to be calls of all ranks.
        let waits = &found["ranks"][0]["waiting_ns"];
        assert!(!waits.is_null(), "{module}: {found}");
    }
}

/// Rank 0 sends late, receives late by a persistent request, is a late root, and begins a nonblocking
/// reduction late; rank 1 sends late on a communicator of the program's own. The blocking receive
/// names neither rank nor tag.
const LATE: &str = r#"
#include <mpi.h>
#include <unistd.h>
int main(int count, char **words) {
    int rank;
    double sent[100] = {0}, received[100];
    MPI_Comm half, other;
    MPI_Request requests[2], persistent;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &half);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &other);
    int own;
    MPI_Comm_rank(other, &own);
    for (int step = 0; step < 12; step++) {
        if (rank == 0) {
            usleep(10000);
            MPI_Send(sent, 100, MPI_DOUBLE, 1, step, MPI_COMM_WORLD);
            MPI_Send(sent, 100, MPI_DOUBLE, 1, 50, MPI_COMM_WORLD);
        } else {
            MPI_Message found;
            MPI_Recv(received, 100, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Mprobe(MPI_ANY_SOURCE, 50, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
            MPI_Mrecv(received, 100, MPI_DOUBLE, &found, MPI_STATUS_IGNORE);
            usleep(10000);
        }
        MPI_Irecv(received, 100, MPI_DOUBLE, 1 - own, 3, other, &requests[0]);
        MPI_Isend(sent, 100, MPI_DOUBLE, 1 - own, 3, other, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Barrier(half);
    }
    if (rank == 0)
        MPI_Recv_init(received, 10, MPI_DOUBLE, 1, 9, MPI_COMM_WORLD, &persistent);
    else
        MPI_Ssend_init(sent, 10, MPI_DOUBLE, 0, 9, MPI_COMM_WORLD, &persistent);
    for (int step = 0; step < 8; step++) {
        usleep(rank == 0 ? 10000 : 0);
        MPI_Start(&persistent);
        MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&persistent);
    if (rank == 0) {
        usleep(50000);
        MPI_Send(sent, 100, MPI_DOUBLE, 1, 60, MPI_COMM_WORLD);
    } else {
        MPI_Message found;
        MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        MPI_Mrecv(received, 100, MPI_DOUBLE, &found, MPI_STATUS_IGNORE);
    }
    usleep(rank == 0 ? 50000 : 0);
    MPI_Bcast(sent, 100, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    usleep(rank == 0 ? 50000 : 0);
    MPI_Iallreduce(sent, received, 100, MPI_DOUBLE, MPI_SUM, other, &requests[0]);
    MPI_Ibcast(sent, 100, MPI_DOUBLE, 0, other, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    return MPI_Finalize();
}
"#;

fn messages_are_matched_at_both_ends(mpi: &Mpi) {
    let directory = tempfile::tempdir().unwrap();
    compile_with(mpi.compilers[0], directory.path(), "late", LATE, &["-g"]);
    mpi.run(directory.path(), 2, "record -o rec -- ./late")
        .succeeded();
    let found = told(directory.path(), "rec");
    let messages = found["messages"].as_array().unwrap();
    let between: Vec<_> = messages
        .iter()
        .map(|one| ["from", "to", "count", "bytes"].map(|key| one[key].as_u64().unwrap()))
        .collect();
    assert_eq!(
        between,
        [[0, 1, 37, 37 * 800], [1, 0, 20, 12 * 800 + 8 * 80]],
        "{found}"
    );
    // A rank that the machine holds up is late by more, seldom.
    for (kind, place, rank, least_ms) in [
        ("late_sender", "MPI_Recv", Some(1), 40),
        // Either of them may come late here, if the machine holds it up.
        ("late_sender", "MPI_Waitall", None, 40),
        ("late_sender", "MPI_Mprobe", Some(1), 20),
        ("late_receiver", "MPI_Wait", Some(1), 25),
        ("late_root", "MPI_Bcast", Some(1), 20),
        ("last_rank", "MPI_Waitall", Some(1), 20),
    ] {
        let waits = found["waits"].as_array().unwrap();
        let is_it = |one: &&serde_json::Value| {
            let at = one["place"].as_str().unwrap_or_default();
            one["kind"] == kind && at.starts_with(&format!("{place} at late.c:"))
        };
        let one = waits.iter().find(is_it);
        let one = one.unwrap_or_else(|| panic!("{kind} in {place}: {found}"));
        assert!(rank.is_none_or(|rank| one["rank"] == rank), "{one}");
        assert!(
            one["waited_ns"].as_u64() > Some(least_ms * 1_000_000),
            "{one}"
        );
    }
    let page = run(directory.path(), "report rec -o all.html");
    page.succeeded();
    let page = fs::read_to_string(directory.path().join("all.html")).unwrap();
    for words in [
        "Messages between ranks",
        "late receiver",
        "data-ranks=\"matrix\"",
    ] {
        assert!(page.contains(words), "{words}");
    }
}

fn a_study_over_ranks_tells_the_best_split(mpi: &Mpi) {
    let directory = with_unequal(mpi);
    let start = mpi.start.join(" ");
    let refused = run(
        directory.path(),
        &format!("study --ranks 1,2 -- {start} -np 2 ./unequal"),
    );
    assert!(refused.code == Some(2) && refused.stderr.contains("{ranks}"));
    let study = |options: &str| {
        let line = format!("study {options} -- {start} -np {{ranks}} ./unequal");
        run(directory.path(), &line)
    };
    let refused = study("--ranks 512 --threads 1");
    assert!(refused.stderr.contains("fits"), "{refused:?}");
    assert!(!directory.path().join("study").exists());
    let ended = study("--ranks 1,2 --threads 1 --cores 4 --json");
    ended.succeeded();
    let answer: serde_json::Value = serde_json::from_str(&ended.text()).unwrap();
    let splits = answer["splits"].as_array().unwrap();
    let of = |ranks: u64, threads: u64| {
        let is_it = |one: &&serde_json::Value| one["ranks"] == ranks && one["threads"] == threads;
        splits.iter().find(is_it).expect("it was asked for")
    };
    assert!(of(1, 1)["measured_ns"].as_f64() > Some(0.0), "{answer}");
    // One rank takes some milliseconds alone, from which nothing is predicted on a busy machine.
    let alone = of(1, 4);
    let is_told = alone["predicted"]["ns"].as_f64() > Some(0.0) || alone["unknown"].is_string();
    assert!(is_told, "{answer}");
    assert!(of(4, 1)["measured_ns"].is_null(), "{answer}");
    let two = &of(2, 1)["measured_ns"];
    let four = &of(4, 1)["predicted"];
    // On a machine with one processor only one rank is run, and nothing says what MPI costs.
    match two.is_null() {
        true => assert!(of(4, 1)["unknown"].as_str().is_some(), "{answer}"),
        // Rank 1 sleeps 25 times 20 ms, and nobody knows that rank 3 would sleep longer.
        false => assert!(four["ns"].as_f64() > Some(1e8), "{answer}"),
    }
    let page = fs::read_to_string(directory.path().join("report.html")).unwrap();
    assert!(page.contains("Time by numbers of ranks and threads"));
    run(directory.path(), "report study -o again.html").succeeded();
}
