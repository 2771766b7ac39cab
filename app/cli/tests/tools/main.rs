//! The command on programs, compilers and kernels that may be missing, or forbid something.

#[macro_use]
#[path = "../common/trials.rs"]
mod trials;

#[path = "../common/mod.rs"]
mod common;
mod foreign_recorder;
mod languages;
mod mpi;
mod mpi_calls;
#[cfg(feature = "cluster")]
mod nodes;
#[cfg(feature = "paging")]
mod paging_faults;
#[cfg(feature = "paging")]
mod paging_mpi;
#[cfg(feature = "paging")]
mod paging_odd;
#[cfg(feature = "paging")]
mod paging_tools;
mod permissions;
mod python;
#[cfg(all(feature = "cluster", feature = "paging"))]
mod ranks;
#[cfg(feature = "cluster")]
mod sharing;
#[cfg(feature = "cluster")]
mod sharing_names;
#[cfg(feature = "cluster")]
mod streams;
mod terminal;
mod traces;

use std::process::ExitCode;

fn main() -> ExitCode {
    let all = [
        languages::trials(),
        mpi_calls::trials(),
        #[cfg(feature = "cluster")]
        nodes::trials(),
        #[cfg(feature = "paging")]
        paging_faults::trials(),
        #[cfg(feature = "paging")]
        paging_mpi::trials(),
        #[cfg(feature = "paging")]
        paging_odd::trials(),
        #[cfg(feature = "paging")]
        paging_tools::trials(),
        permissions::trials(),
        python::trials(),
        #[cfg(all(feature = "cluster", feature = "paging"))]
        ranks::trials(),
        #[cfg(feature = "cluster")]
        sharing::trials(),
        #[cfg(feature = "cluster")]
        sharing_names::trials(),
        #[cfg(feature = "cluster")]
        streams::trials(),
        terminal::trials(),
        traces::trials(),
        foreign_recorder::trials(),
    ]
    .into_iter()
    .flatten()
    .collect();
    fathomp_requirements::run_waiting(all)
}
