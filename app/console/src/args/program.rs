//! The program that a command runs.

use clap::Args;
use std::ffi::OsString;

/// The program to start.
#[derive(Args, Debug)]
pub struct Program {
    /// Program and its arguments, after `--`.
    #[arg(value_name = "PROG", required = true, num_args = 1.., trailing_var_arg = true)]
    pub command: Vec<OsString>,
}
