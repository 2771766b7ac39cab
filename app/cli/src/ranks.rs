//! This process among others that run the same command, as `mpirun` or `srun` starts them.

use crate::args::cluster::TOGETHER;
use crate::console::Console;
use crate::failure::{Failure, exit};
use crate::program::Program;
use fathomp_launch::Started;

/// Whether this process is one of several that find the same wrong in their command, and not the
/// one that says so.
pub(crate) fn is_said_by_first(failure: &Failure) -> bool {
    failure.code == exit::USAGE
        && Started::of_this_process().is_some_and(|started| started.rank > 0)
}

/// Says, once, that a program runs several times though it may have been meant to run once.
pub(crate) fn tell_of_others(program: &Program, console: Console) {
    let Some(started) = Started::of_this_process() else {
        return;
    };
    let Started { by, rank, size, .. } = started;
    if rank == 0 && size > 1 && !program.may_use_mpi() {
        console.warn(format!(
            "{by} has started this {size} times, and each runs the program by itself{TOGETHER}"
        ));
    }
}
