//! Paging of MPI programs, in C and Fortran, under both implementations.

use crate::common;
use crate::common::paging::{Seen, record, source};
use fathomp_requirements::{GFORTRAN, MPICH, OPENMPI, with_tools};
use libtest_mimic::Trial;
use std::path::Path;
use std::process::Command;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        with_tools("paging_mpi::c_under_openmpi", &[OPENMPI], || c(&OF_OPENMPI)),
        with_tools("paging_mpi::c_under_mpich", &[MPICH], || c(&OF_MPICH)),
        with_tools(
            "paging_mpi::fortran_under_openmpi",
            &[OPENMPI, GFORTRAN],
            || {
                fortran(&OF_OPENMPI);
            },
        ),
        with_tools(
            "paging_mpi::fortran_under_mpich",
            &[MPICH, GFORTRAN],
            || {
                fortran(&OF_MPICH);
            },
        ),
    ]
}

const RANKS: u32 = 2;
/// Of the programs.
const ROUNDS: u64 = 20;

struct Mpi {
    c: &'static str,
    fortran: &'static str,
    /// The program that starts ranks, with what it needs to do so as root and on few
    /// processors.
    start: &'static [&'static str],
}

const OF_OPENMPI: Mpi = Mpi {
    c: "mpicc.openmpi",
    fortran: "mpif90.openmpi",
    start: &["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"],
};
const OF_MPICH: Mpi = Mpi {
    c: "mpicc.mpich",
    fortran: "mpif90.mpich",
    start: &["mpirun.mpich"],
};

fn build(compiler: &str, file: &str, directory: &Path) {
    let status = Command::new(compiler)
        .args(["-O1", "-o", "ring"])
        .arg(source(file))
        .current_dir(directory)
        .status();
    assert!(status.unwrap().success(), "{compiler} {file}");
}

/// Runs the program by itself and recorded; both say the same.
fn run(mpi: &Mpi, directory: &Path) -> Seen {
    let ranks = RANKS.to_string();
    let command = [mpi.start, &["-n", &ranks, "./ring"]].concat();
    let mut alone = Command::new(command[0]);
    let alone = common::finish(alone.args(&command[1..]).current_dir(directory));
    assert_eq!(alone.code, Some(0), "{alone:?}");
    assert!(alone.text().contains("on 2 ranks"), "{alone:?}");
    let ended = record(directory, &[], &command);
    ended.succeeded();
    assert_eq!(ended.text(), alone.text(), "{ended:?}");
    let seen = Seen::of(&directory.join("recording"));
    seen.adds_up();
    seen
}

/// Every rank is known by its number, and its calls by their names.
fn check(seen: &Seen, calls: &[&str]) {
    for rank in 0..RANKS {
        let task = seen.rank(rank);
        assert_eq!(task.program, "ring", "{seen:?}");
        assert!(task.ns("communication") > 0, "rank {rank}: {seen:?}");
        assert!(
            task.of("compute", "minor_faults") > 20,
            "rank {rank}: {seen:?}"
        );
        for call in calls {
            // What ranks call MPI's functions for inside others is part of these.
            let stays = task.stays_in(call);
            assert!(stays == ROUNDS, "rank {rank}, {call}: {stays}: {seen:?}");
            assert_eq!(task.activities_of(call), ["communication"], "{seen:?}");
        }
    }
}

fn c(mpi: &Mpi) {
    let directory = tempfile::tempdir().unwrap();
    build(mpi.c, "ring.c", directory.path());
    check(
        &run(mpi, directory.path()),
        &["MPI_Allreduce", "MPI_Sendrecv"],
    );
}

fn fortran(mpi: &Mpi) {
    for (file, calls) in [
        ("ring.f90", &["MPI_Allreduce", "MPI_Sendrecv"][..]),
        ("ring08.f90", &["MPI_Allreduce"]),
    ] {
        let directory = tempfile::tempdir().unwrap();
        build(mpi.fortran, file, directory.path());
        check(&run(mpi, directory.path()), calls);
    }
}
