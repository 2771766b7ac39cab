//! `fathomp calibrate`.

use super::ThreadList;
use super::cluster::CalibrateOnNodes;
use clap::Args;
use std::path::PathBuf;

/// `fathomp calibrate`.
#[derive(Args, Debug)]
pub(crate) struct Calibrate {
    /// File for the machine's facts; without it they are only shown.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Numbers of threads to measure at [default: as for study].
    #[arg(long, value_name = "LIST")]
    pub(crate) threads: Option<ThreadList>,
    /// Measure again even if this machine has been measured before.
    #[arg(long)]
    pub(crate) recalibrate: bool,
    /// Replace an existing file.
    #[arg(long)]
    pub(crate) force: bool,
    /// What else is measured of nodes.
    #[command(flatten)]
    pub(crate) nodes: CalibrateOnNodes,
}
