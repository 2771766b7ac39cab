//! `fathomp regions`.

use clap::Args;
use fathomp_console::args::Seconds;
use std::path::PathBuf;

/// `fathomp regions`.
#[derive(Args, Debug)]
pub(crate) struct Regions {
    /// Directory written by `fathomp record`.
    #[arg(value_name = "RECORDING")]
    pub(crate) recording: PathBuf,
    /// Also show a row for each thread of each region.
    #[arg(long)]
    pub(crate) threads: bool,
    /// Show each execution in turn: its threads, iterations and time.
    #[arg(long)]
    pub(crate) instances: bool,
    /// Also write one line per region and thread to this CSV file.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Also write the counts of a recording on nodes to this CSV file, in the form that
    /// `fathomp predict --counts` reads.
    #[arg(long, value_name = "FILE", requires = "sequential")]
    pub(crate) counts: Option<PathBuf>,
    /// With --counts: time of the sequential program.
    #[arg(long, value_name = "SECONDS", requires = "counts")]
    pub(crate) sequential: Option<Seconds>,
    /// Instead of regions, show how often directives were executed at each line, times what
    /// each costs by itself, as this result of `fathomp bench epcc` says.
    #[arg(long, value_name = "RESULT", conflicts_with = "instances")]
    pub(crate) overheads: Option<PathBuf>,
    /// Also write a trace for Perfetto and chrome://tracing to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) perfetto: Option<PathBuf>,
    /// Also write an archive of the Open Trace Format 2, for Vampir and others, to this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) otf2: Option<PathBuf>,
    /// Also write a trace for Paraver to this file, and its names beside it, to files that end in
    /// .pcf and .row.
    #[arg(long, value_name = "FILE.prv")]
    pub(crate) paraver: Option<PathBuf>,
    /// Replace existing files.
    #[arg(long)]
    pub(crate) force: bool,
}
