//! The command on programs, compilers and kernels that may be missing, or forbid something.

#[macro_use]
#[path = "../common/trials.rs"]
mod trials;

#[path = "../common/mod.rs"]
mod common;
mod languages;
mod mpi_calls;
mod paging_faults;
mod paging_mpi;
mod paging_odd;
mod paging_tools;
mod permissions;
mod ranks;
mod sharing;
mod sharing_names;
mod streams;
mod terminal;
mod traces;
mod witness;

use std::process::ExitCode;

fn main() -> ExitCode {
    let all = [
        languages::trials(),
        mpi_calls::trials(),
        paging_faults::trials(),
        paging_mpi::trials(),
        paging_odd::trials(),
        paging_tools::trials(),
        permissions::trials(),
        ranks::trials(),
        sharing::trials(),
        sharing_names::trials(),
        streams::trials(),
        terminal::trials(),
        traces::trials(),
        witness::trials(),
    ]
    .into_iter()
    .flatten()
    .collect();
    fathomp_requirements::run_waiting(all)
}
