//! `fathomp advise`.

use super::ThreadList;
use clap::Args;
use std::path::PathBuf;

/// `fathomp advise`.
#[derive(Args, Debug)]
pub(crate) struct Advise {
    /// Recordings of one program, best with one thread (a directory written by `fathomp
    /// study` stands for its recordings); and what was scanned of it (a program, or
    /// `regions.json` as `fathomp scan --json` writes it), if that is not in them.
    #[arg(value_name = "RECORDING|regions.json|PROG", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Machine to advise for: facts written by `fathomp calibrate`, or one of the published
    /// evaluation, clovertown or dunnington [default: this one, measured now if need be].
    #[arg(long, value_name = "FILE|NAME")]
    pub(crate) machine: Option<String>,
    /// Numbers of threads to show predictions for in --json [default: a readable few].
    #[arg(long, value_name = "LIST")]
    pub(crate) at: Option<ThreadList>,
    /// Consider only the first packages (sockets, NUMA nodes) of the machine.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) packages: Option<u32>,
    /// Packages that a machine file's cores lie in [default: as the kernel says of this
    /// machine, 1 for others].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) has_packages: Option<u32>,
    /// Weights of the published score, a JSON file [default: relative latencies of its
    /// time, assumed].
    #[arg(long, value_name = "FILE")]
    pub(crate) weights: Option<PathBuf>,
    /// Give fewer threads where that costs at most this part of a region's time.
    #[arg(long, value_name = "PART", default_value_t = 0.02, value_parser = part)]
    pub(crate) min_gain: f64,
    /// Print changes to the source instead, as a unified diff: num_threads and if clauses.
    #[arg(long, conflicts_with = "json")]
    pub(crate) patch: bool,
    /// Write the advice to this file, for `fathomp run --advice`; with --patch, the diff.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace an existing file.
    #[arg(long)]
    pub(crate) force: bool,
}

/// A part of something, less than the whole.
fn part(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|part: &f64| (0.0..1.0).contains(part))
        .ok_or_else(|| format!("\"{text}\" is no part: give a number from 0 to below 1"))
}
