//! Calls of MPI in recordings, and ranks put together: both MPIs, C and Fortran.

use super::ranks::{Mpi, OF_MPICH, OF_OPENMPI};
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
        ranks_below_one_recorder_are_one_recording(C),
        calls_of_the_programs_libraries_are_told(C),
        calls_of_fortran_are_told(Fortran),
    ]
}

/// Rank 1 comes 20 ms later than rank 0 to every step, whatever else the machine does.
const UNEQUAL: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int count, char **words) {
    int rank, provided;
    double sum = 0, all = 0;
    MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
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
    if (rank == 0)
        MPI_Send(message, 100, MPI_CHAR, 1, 7, MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_Recv(message, 100, MPI_CHAR, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0)
        printf("%d\n", sum > 0);
    return MPI_Finalize();
}
"#;

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
    let directory = tempfile::tempdir().unwrap();
    let options = ["-fopenmp", "-g"];
    compile_with(
        mpi.compilers[0],
        directory.path(),
        "unequal",
        UNEQUAL,
        &options,
    );
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
    // On a machine with one processor both share that.
    let first = ["Rank 1 comes last to ", "All ranks on "];
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

fn ranks_below_one_recorder_are_one_recording(mpi: &Mpi) {
    let directory = tempfile::tempdir().unwrap();
    compile_with(
        mpi.compilers[0],
        directory.path(),
        "unequal",
        UNEQUAL,
        &["-fopenmp", "-g"],
    );
    let start = mpi.start.join(" ");
    let line = format!("record --threads 1 -o rec -- {start} -np 2 ./unequal");
    run(directory.path(), &line).succeeded();
    let found = told(directory.path(), "rec");
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
    for (module, error) in [("mpi", ", error"), ("mpi_f08", "")] {
        let init = error.trim_start_matches(", ");
        let source = format!(
            "program steps
  use {module}
  implicit none
  integer :: rank, step, error
  double precision :: part, all
  call MPI_Init({init})
  call MPI_Comm_rank(MPI_COMM_WORLD, rank{error})
  do step = 1, 12
    part = rank
    call MPI_Allreduce(part, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD{error})
    call MPI_Bcast(all, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD{error})
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
        // They are known to be calls of all ranks.
        let waits = &found["ranks"][0]["waiting_ns"];
        assert!(!waits.is_null(), "{module}: {found}");
    }
}
