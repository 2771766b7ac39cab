//! The `fathomp` command: arguments become a plan, a command carries it out.
#![forbid(unsafe_code)]

mod args;
mod calibrate;
mod commands;
mod evidence;
mod failure;
mod host;
mod hosts;
mod launch;
mod live;
mod output;
mod paging;
mod plan;
mod program;
mod progress;
mod recording;
mod share;
mod sharing;
mod skyline;
mod sources;
mod study;
mod teams;
mod voice;

use clap::Parser;
use fathomp_base::text::one_line;
use std::process::ExitCode;

fn main() -> ExitCode {
    match commands::carry_out(args::Arguments::parse()) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            voice::complain("", &one_line(&failure.sentence));
            ExitCode::from(failure.code)
        }
    }
}
