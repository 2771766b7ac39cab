//! `fathomp record -- mpirun -np 4 ./solver`: each rank is recorded by itself, as if the command were
//! `mpirun -np 4 fathomp record -- ./solver`.

use crate::args::Record;
use crate::console::Console;
use crate::failure::{Failure, exit};
use crate::launch::{Launch, Stderr, Stdin, Stdout};
use crate::program::Program;
use crate::recording::rank::Rank;
use std::env;
use std::ffi::OsString;

/// Starts the launcher, with this command and its options in front of what it starts; the exit code.
/// None if the program is no launcher of ranks, starts none that is seen, or this is a rank already.
pub(super) fn record(
    plan: &Record,
    program: &Program,
    console: Console,
) -> Result<Option<u8>, Failure> {
    let is_one = program.is_launcher_of_mpi() && !program.programs_of_mpi().is_empty();
    if !is_one || plan.nodes.cluster().is_some() || Rank::of_this_process().is_some() {
        return Ok(None);
    }
    let myself = env::current_exe()
        .map_err(|error| Failure::new(format!("cannot find the fathomp program: {error}")))?;
    let options = options(env::args_os().collect(), &program.command);
    let recorder: Vec<OsString> = [myself.into()].into_iter().chain(options).collect();
    let launch = Launch {
        program: &program.with_ranks_behind(&recorder),
        interposer: None,
        library: None,
        plan: fathomp_launch::Plan::default(),
        stdin: Stdin::Inherit,
        stdout: Stdout::for_voice(console),
        stderr: Stderr::Inherit,
    };
    let failed = |error| Failure::of(&error).with_code(exit::LAUNCHER);
    let ended = launch.start().map_err(failed)?.wait(None).map_err(failed)?;
    Ok(Some(ended.exit_code()))
}

/// What stands between our own name and the program's on the command line.
fn options(mut words: Vec<OsString>, command: &[OsString]) -> Vec<OsString> {
    words.truncate(words.len().saturating_sub(command.len()));
    words.drain(..words.len().min(1));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_recorded_with_all_options() {
        let words =
            |text: &str| -> Vec<OsString> { text.split_whitespace().map(OsString::from).collect() };
        let all = words("fathomp record -o rec --threads 2 -- mpirun -np 2 ./solver -o x");
        let found = options(all, &words("mpirun -np 2 ./solver -o x"));
        assert_eq!(found, words("record -o rec --threads 2 --"));
    }
}
