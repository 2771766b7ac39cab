//! Tests that nothing else may disturb, one after the other: they judge times, or change what
//! all of the machine sees, as memory that is swapped out and links between hosts.

#[macro_use]
#[path = "../common/trials.rs"]
mod trials;

mod advise;
mod causes;
#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "cluster")]
mod links;
#[path = "../tools/mpi.rs"]
mod mpi;
mod mpi_causes;
#[cfg(feature = "paging")]
mod paging_memory;
#[cfg(feature = "paging")]
mod paging_swap;
mod tutorial;

use libtest_mimic::Arguments;
use std::process::ExitCode;

fn main() -> ExitCode {
    let all = [
        advise::trials(),
        causes::trials(),
        #[cfg(feature = "cluster")]
        links::trials(),
        mpi_causes::trials(),
        #[cfg(feature = "paging")]
        paging_memory::trials(),
        #[cfg(feature = "paging")]
        paging_swap::trials(),
        tutorial::trials(),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut arguments = Arguments::from_args();
    // Whatever the arguments say: two at once would disturb each other.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, all).exit_code()
}
