//! What users type about clusters where the program is built without that wing: nothing, so that
//! each program runs in one process here.

use super::rules::{Options, Rare};
use clap::{ArgGroup, Args, Subcommand};
use fathomp_console::args::ThreadCount;
use fathomp_launch::Cluster;

/// No options need a rule.
pub(super) const OPTIONS: &[Options] = &[];
/// None is shown late.
pub(super) const RARE: Rare = &[];
/// No command needs an example.
pub(super) const EXAMPLES: &str = "";
/// There is no way to run ranks as one program.
pub(crate) const TOGETHER: &str = "";

/// There is no command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {}

impl Command {
    /// Nothing contradicts anything.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        match *self {}
    }
}

/// No option, whatever the command.
#[derive(Args, Clone, Copy, Debug, Default)]
// Options of the main job are named as what these cannot be given with.
#[command(group = ArgGroup::new("hosts"), group = ArgGroup::new("hostfile"))]
pub(crate) struct NoOptions {}

/// Of `fathomp run`.
pub(crate) type RunOnNodes = NoOptions;
/// Of `fathomp study`.
pub(crate) type StudyOnHosts = NoOptions;
/// Of `fathomp predict`.
pub(crate) type PredictOnHosts = NoOptions;
/// Of `fathomp calibrate`.
pub(crate) type CalibrateOnNodes = NoOptions;
/// Of `fathomp bench`.
pub(crate) type BenchOnNodes = NoOptions;
/// Of `fathomp workload run` and `verify`.
pub(crate) type WorkloadOnNodes = NoOptions;

impl NoOptions {
    /// There is one process.
    pub(crate) fn cluster(self) -> Option<Cluster> {
        None
    }

    /// It is on this machine.
    pub(super) fn are_on_hosts(self) -> bool {
        false
    }

    /// Nobody asks which lines threads share.
    pub(super) fn asks_for_sharing(self) -> bool {
        false
    }

    /// Nothing contradicts anything.
    pub(super) fn contradiction(self) -> Option<&'static str> {
        None
    }
}

/// Of `fathomp record`.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct RecordOnNodes {}

impl RecordOnNodes {
    /// There is one process.
    pub(crate) fn cluster(self) -> Option<Cluster> {
        None
    }

    /// It is on this machine.
    pub(super) fn are_on_hosts(self) -> bool {
        false
    }

    /// As many as are asked for.
    pub(crate) fn threads(self, asked: Option<ThreadCount>) -> Option<ThreadCount> {
        asked
    }

    /// Nothing contradicts anything.
    pub(super) fn contradiction(self, _threads: Option<ThreadCount>) -> Option<&'static str> {
        None
    }
}
