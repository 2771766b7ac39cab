//! Runs of a program on several hosts, which all are this machine: each has an agent of its
//! own, started as a child or through a script that stands for `ssh`.
//!
//! This test program is also launcher, agent and supervisor of the runs that it tries, by its
//! first argument, since each is a process of its own.

mod ends;
mod networks;
mod plain;
mod roles;
mod setting;
mod trees;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = roles::play() {
        return code;
    }
    let mut trials = plain::trials();
    trials.extend(ends::trials());
    trials.extend(trees::trials());
    trials.extend(networks::trials());
    fathomp_requirements::run_waiting(trials)
}
