//! Options of `fathomp scan`.

use clap::Args;
use std::path::PathBuf;

/// `fathomp scan`.
#[derive(Args, Debug)]
pub(crate) struct Scan {
    /// Programs, libraries and sources in C, C++ and Fortran, in any mixture; programs are
    /// known by what they contain, sources by what they are called.
    #[arg(
        value_name = "PROGRAM|LIBRARY|SOURCE",
        required_unless_present = "commands"
    )]
    pub(crate) inputs: Vec<PathBuf>,
    /// Also read the sources that a compile_commands.json lists, each as it is compiled;
    /// the file, or the directory that it lies in.
    #[arg(
        short = 'p',
        long = "compile-commands",
        id = "commands",
        value_name = "FILE|DIR"
    )]
    pub(crate) commands: Option<PathBuf>,
    /// Leave out the sources that a program's debugging information names [default: read
    /// them where they are still there, and say where they differ from the program].
    #[arg(long)]
    pub(crate) no_source: bool,
    /// Also write everything to this file as regions.json (docs/regions-format.md).
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Also write a line FILE:LINE for each parallel region, in order, to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) region_lines: Option<PathBuf>,
    /// Show the published static score of each parallel region instead, and what it is made
    /// of: per statement what is good and bad, hits, misses, arrays that are ignored.
    #[arg(long)]
    pub(crate) score: bool,
    /// With --score: the machine, facts written by `fathomp calibrate`, or clovertown or
    /// dunnington of the published evaluation [default: this one].
    #[arg(long, value_name = "FILE|NAME")]
    pub(crate) machine: Option<String>,
    /// With --score: its weights, a JSON file (docs/scan.md) [default: relative latencies of
    /// its time, assumed].
    #[arg(long, value_name = "FILE")]
    pub(crate) weights: Option<PathBuf>,
    /// Show every access, and what the source says beside what the program says.
    #[arg(long, conflicts_with = "score")]
    pub(crate) verbose: bool,
    /// Replace existing files.
    #[arg(long)]
    pub(crate) force: bool,
}
