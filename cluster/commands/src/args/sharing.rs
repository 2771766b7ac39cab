//! Options of `fathomp sharing`.

use super::hosts::NotOnHosts;
use clap::Args;
use fathomp_console::args::{Program, ThreadCount};

/// Fewest threads that can share something, and most nodes.
const THREADS: std::ops::RangeInclusive<i64> = 2..=256;

/// Seconds that the program may run by default.
pub const LIMIT_S: u32 = 60;

/// `fathomp sharing`.
#[derive(Args, Debug)]
pub struct Sharing {
    /// Threads, each on a node of its own [default: as many as OMP_NUM_THREADS says or
    /// there are processors, at least 2].
    #[arg(long, visible_alias = "threads", value_name = "N", value_parser = clap::value_parser!(u16).range(THREADS))]
    pub nodes: Option<u16>,
    /// End the program after so many seconds; what it did until then is reported. 0 lets
    /// it run to its end.
    #[arg(long, value_name = "SECONDS", default_value_t = LIMIT_S)]
    pub timeout: u32,
    /// Machine facts written by `fathomp calibrate`, for what a contended line costs
    /// [default: this machine is measured].
    #[arg(long, value_name = "FILE")]
    pub machine: Option<std::path::PathBuf>,
    /// Also list what threads only read.
    #[arg(long)]
    pub reads: bool,
    /// Options that this command does not take.
    #[command(flatten)]
    pub not_on: NotOnHosts,
    /// The program to look at.
    #[command(flatten)]
    pub program: Program,
}

/// As many nodes as threads were asked for, within what there can be.
pub fn nodes_for(threads: ThreadCount) -> u16 {
    let ThreadCount(threads) = threads;
    let (fewest, most) = (*THREADS.start() as u32, *THREADS.end() as u32);
    u16::try_from(threads.clamp(fewest, most)).unwrap_or(u16::MAX)
}
