//! What commands do on several nodes and hosts where the program is built without clusters:
//! nothing, since nobody can ask for it.

use crate::args::cluster::{CalibrateOnNodes, Command};
use crate::args::{Bench, Predict, Record, Run, Study, ThreadCount, ThreadList};
use crate::console::Console;
use crate::failure::{Failure, Outcome};
use crate::launch::RanElsewhere;
use crate::paging;
use crate::program::Program;
use crate::recording::Accesses;
use crate::study::job::{Job, Runs};
use fathomp_bench::result::Document;
use fathomp_bench::runtime::Runtime;
use fathomp_bench::settings::Settings;
use fathomp_diagnosis::Diagnosis;
use fathomp_predict::Outcome as Predicted;
use fathomp_predict::prices::Cluster;
use fathomp_runtime::Unpacked;
use fathomp_shared_lines::Findings;

/// Whether recorded accesses are replayed, if there are any.
pub(super) const CAN_REPLAY: bool = false;

/// There is no command.
pub(super) fn carry_out(command: &Command, _console: Console) -> Outcome {
    match *command {}
}

/// On no hosts.
pub(super) fn run(_plan: &Run, _console: Console) -> Result<Option<RanElsewhere>, Failure> {
    Ok(None)
}

/// On no hosts.
pub(super) fn record(
    _plan: &Record,
    _asked: (&Option<paging::Plan>, Option<ThreadCount>),
    _console: Console,
) -> Result<Option<u8>, Failure> {
    Ok(None)
}

/// No nodes note any.
pub(super) fn accesses(_plan: &Record) -> Option<Accesses> {
    None
}

/// On no hosts.
pub(super) fn study(
    _plan: &Study,
    _program: &Program,
    _console: Console,
) -> Result<Option<u8>, Failure> {
    Ok(None)
}

/// Which lines threads share is found out on nodes.
pub(super) fn look_for_sharing(
    _job: &Job<'_>,
    _study: &mut crate::study::Study,
    _runs: (&Runs, usize),
    _diagnosis: &Diagnosis,
) -> Result<Option<Findings>, Failure> {
    Ok(None)
}

/// On no hosts.
pub(super) fn validate_on_hosts(
    _plan: &Predict,
    _console: Console,
) -> Result<Option<Predicted>, Failure> {
    Ok(None)
}

/// Nothing is replayed.
pub(super) fn forecast(
    _plan: &Predict,
    _cluster: &Cluster,
    _console: Console,
) -> Result<Option<u8>, Failure> {
    Ok(None)
}

/// There is no such suite.
pub(super) fn bench_dsm(_plan: &Bench, _console: Console) -> Result<Option<u8>, Failure> {
    Ok(None)
}

/// No clusters are named.
pub(super) fn simulated(
    _plan: &Bench,
    _console: Console,
) -> Result<Option<Vec<Document>>, Failure> {
    Ok(None)
}

/// No nodes are columns.
pub(super) struct BenchNodes;

impl BenchNodes {
    pub(super) fn of(_plan: &Bench) -> Result<Self, Failure> {
        Ok(Self)
    }

    pub(super) fn counts(&self) -> Result<Option<ThreadList>, Failure> {
        Ok(None)
    }

    pub(super) fn usual_name(&self) -> Option<&'static str> {
        None
    }

    pub(super) fn runtime(
        &self,
        _name: &str,
        _settings: &Settings,
        _unpacked: &Unpacked,
    ) -> Result<Option<Runtime>, Failure> {
        Ok(None)
    }

    pub(super) fn check(&self, _runtimes: &[Runtime]) -> Result<(), Failure> {
        Ok(())
    }
}

/// No nodes have prices.
pub(super) enum NodesToPrice {}

impl NodesToPrice {
    pub(super) fn of(_asked: &CalibrateOnNodes) -> Result<Option<Self>, Failure> {
        Ok(None)
    }

    pub(super) fn steps(&self) -> usize {
        match *self {}
    }

    pub(super) fn price(
        self,
        _unpacked: &Unpacked,
        _progress: impl FnMut(usize),
    ) -> Result<(Cluster, Vec<String>), Failure> {
        match self {}
    }
}
