//! The `fathomp` command: arguments become a plan, a command carries it out.
#![forbid(unsafe_code)]

mod args;
mod calibrate;
mod commands;
mod core_partition;
#[cfg(feature = "cluster")]
mod hosts;
mod launch;
mod live;
mod load;
#[cfg(not(feature = "paging"))]
#[path = "no_paging.rs"]
mod paging;
mod plan;
mod ranks;
mod recording;
mod runtimes;
mod scored;
mod sources;
mod study;
mod teams;

use clap::FromArgMatches;
use fathomp_console::{compare, console, failure, host, output, program, progress};
#[cfg(feature = "paging")]
use fathomp_paging_commands as paging;
use fathomp_types::text::one_line;
use std::io::{self, Write};
use std::process::ExitCode;

/// Lines of help are no longer.
const HELP_COLUMNS: usize = 100;

fn main() -> ExitCode {
    let width = terminal_size::terminal_size().map_or(HELP_COLUMNS, |(width, _)| width.0.into());
    let matches = args::grouped(width.min(HELP_COLUMNS)).get_matches();
    let arguments =
        args::Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let code = match commands::carry_out(arguments, &matches) {
        Ok(code) => code,
        Err(failure) => {
            let is_said = failure.sentence.is_empty() || ranks::is_said_by_first(&failure);
            if !is_said {
                console::complain("", &one_line(&failure.sentence));
            }
            failure.code
        }
    };
    if fathomp_sys::mpi::is_under_way() {
        // What cannot be written has been told of, or nobody is left to be told.
        let _ = io::stdout().flush();
        fathomp_sys::process::leave(code);
    }
    ExitCode::from(code)
}
