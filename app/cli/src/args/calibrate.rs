//! `fathomp calibrate`.

use super::{Cluster, OnHosts, ThreadList};
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
    /// With --nodes or --hosts: compiler of the program that measures nodes.
    #[arg(long, value_name = "CC", default_value = "gcc")]
    pub(crate) cc: String,
    /// With --hosts, also measure what keeping memory consistent between these hosts
    /// costs, over the network that they have; the program that measures has to lie at
    /// the same place on all of them, as in a home directory that they share.
    #[command(flatten)]
    pub(crate) on: OnHosts,
    /// With --nodes, also measure what keeping memory consistent between so
    /// many nodes costs.
    #[command(flatten)]
    pub(crate) cluster: Cluster,
}
