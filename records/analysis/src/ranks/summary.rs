//! What of a rank's recording is needed to put all ranks together: little, so that the recordings
//! themselves can be let go one by one.

use super::activity::Activity;
use super::events::Events;
use super::one::OneRank;
use super::row::RankRow;
use crate::facts::MpiCalls;
use fathomp_trace::model::Process;

/// A rank, reduced to what is put together with others.
#[derive(Clone, Debug)]
pub struct RankSummary {
    /// The program.
    pub name: String,
    /// Ranks that were started together, if the recording says so.
    pub(super) started: Option<u32>,
    pub(super) row: RankRow,
    /// Processors that it may use, and that its host has.
    pub(super) processors: u32,
    pub(super) online: u32,
    pub(super) calls: Vec<MpiCalls>,
    /// All calls are among them.
    pub(super) is_complete: bool,
    /// What a tick of its clock is, as it measured it.
    pub(super) nanos_per_tick: f64,
    /// Its calls one by one, or why they are not known.
    pub(super) events: Result<Events, String>,
    pub(super) activity: Activity,
}

impl RankSummary {
    /// Reduces a rank.
    #[must_use]
    pub fn of(one: &OneRank<'_>) -> Self {
        let facts = one.analysis.mpi.as_ref();
        let machine = &one.recording.meta.machine;
        let first = one.recording.processes.first();
        Self {
            name: one.analysis.program.name.clone(),
            started: one.recording.meta.ranks,
            row: super::row::row(one),
            processors: machine.processors(),
            online: machine.cpus_online,
            calls: facts.map_or_else(Vec::new, |facts| facts.calls.clone()),
            is_complete: facts.is_none_or(|facts| facts.complete),
            nanos_per_tick: first.map_or(1.0, |process| process.clock.nanos_per_tick),
            events: the_process(one).map(|process| Events::of(process, facts)),
            activity: Activity::of(one),
        }
    }

    /// Its number in `MPI_COMM_WORLD`.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.row.rank
    }
}

/// The process of a rank, if its calls are all known.
fn the_process<'a>(one: &OneRank<'a>) -> Result<&'a Process, String> {
    let [process] = one.recording.processes.as_slice() else {
        return Err(format!("rank {} has more than one process", one.number));
    };
    if process.details_missing > 0 {
        return Err(format!(
            "calls of rank {} are missing in its recording",
            one.number
        ));
    }
    Ok(process)
}
