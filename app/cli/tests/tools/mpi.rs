//! The implementations of MPI that start ranks of the command.

use crate::common::{Ended, cache, finish};
use std::path::Path;
use std::process::{Command, Stdio};

/// An implementation of MPI.
pub(crate) struct Mpi {
    /// Its compilers of C and Fortran.
    pub(crate) compilers: [&'static str; 2],
    /// The program that starts ranks, with what it needs to do so as root and on few
    /// processors.
    pub(crate) start: &'static [&'static str],
}

pub(crate) const OF_OPENMPI: Mpi = Mpi {
    compilers: ["mpicc.openmpi", "mpifort.openmpi"],
    start: &[
        "mpirun.openmpi",
        "--allow-run-as-root",
        "--oversubscribe",
        "--bind-to",
        "none",
    ],
};
pub(crate) const OF_MPICH: Mpi = Mpi {
    compilers: ["mpicc.mpich", "mpifort.mpich"],
    start: &["mpirun.mpich"],
};

impl Mpi {
    /// `fathomp` with these words, started so many times.
    pub(crate) fn command(&self, directory: &Path, ranks: u32, line: &str) -> Command {
        let mut command = Command::new(self.start[0]);
        command
            .args(&self.start[1..])
            .args(["-np", &ranks.to_string(), env!("CARGO_BIN_EXE_fathomp")])
            .args(line.split_whitespace())
            .current_dir(directory)
            .env("XDG_CACHE_HOME", cache())
            .env_remove("LD_PRELOAD")
            .env_remove("OMP_NUM_THREADS")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, directory: &Path, ranks: u32, line: &str) -> Ended {
        finish(&mut self.command(directory, ranks, line))
    }
}
