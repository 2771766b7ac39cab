//! What a report knows of a program's paging.

use fathomp_analysis::Machine;
use fathomp_bench::intrusion::Document;
use fathomp_faults::FaultFacts;
use fathomp_paging::TaskId;
use fathomp_skyline::questions::pages::Advice;
use fathomp_skyline::{Analysis, Bins, Lanes};
use serde::Serialize;

/// The paging of one recorded run.
#[derive(Clone, Debug)]
pub struct PagingFacts {
    /// What to call the program.
    pub program: String,
    /// What it shows.
    pub analysis: Analysis,
    /// Counts of single tasks over time; without them there are pictures of all tasks
    /// together only.
    pub bins: Option<Bins>,
    /// In which states tasks were over time, and which regions ran meanwhile.
    pub lanes: Option<Lanes>,
    /// How the recording was made.
    pub recording: Circumstances,
    /// Where page faults were, if each was recorded.
    pub faults: Option<FaultFacts>,
    /// What would make page faults cheaper, the most first.
    pub advice: Vec<Advice>,
    /// How the program's time depends on its memory, if that was tried.
    pub memory: Option<MemoryCurve>,
    /// What recording cost, if that was measured.
    pub intrusion: Option<Document>,
}

/// How a paging recording was made, and how far it can be trusted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Circumstances {
    /// Program and arguments; empty if not known.
    pub command: Vec<String>,
    /// The machine that recorded, if it is known.
    pub machine: Option<Machine>,
    /// Version of fathomp that recorded.
    pub fathomp: String,
    /// When it began: nanoseconds since the Unix epoch; 0 if not known.
    pub started_unix_ns: u64,
    /// How changes of state got to the files.
    pub writer: String,
    /// Interval of sampling, if there was any.
    pub sampling_ns: Option<u64>,
    /// Hosts that took part.
    pub hosts: Vec<String>,
    /// Which of how many tasks were recorded, as `n_m`; empty if all were.
    pub part: String,
    /// How far these are from all tasks, in words; empty if that is nothing.
    pub deviations: Vec<String>,
    /// I/O calls that were seen and that were made; none if the kernel did not tell.
    pub io_calls: Option<(u64, u64)>,
    /// Stays that were merged with others because of a full ring or the recording's limit.
    pub merged: u64,
    /// Changes of state that were lost.
    pub lost: u64,
    /// What is wrong with the recording, in sentences.
    pub problems: Vec<String>,
}

/// Runs of the program with less and less memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MemoryCurve {
    /// The run without a limit first, then by falling limit.
    pub runs: Vec<MemoryRun>,
    /// What they say, in words.
    pub sentence: String,
}

/// A run with limited memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MemoryRun {
    /// Bytes that it might use; none without a limit.
    pub limit_bytes: Option<u64>,
    /// Wall time.
    pub wall_ns: u64,
    /// Times as long as without a limit.
    pub slow_down: Option<f64>,
    /// Page faults that waited for I/O.
    pub major_faults: Option<u64>,
    /// Pages of 4 KiB that were read for it.
    pub page_ins: u64,
    /// Most bytes that it used at any time.
    pub peak_bytes: Option<u64>,
    /// The kernel killed it because it wanted more.
    pub is_killed: bool,
}

impl PagingFacts {
    /// The place of a task in the analysis; none if there is no such task.
    pub(crate) fn place(&self, task: TaskId) -> Option<usize> {
        self.analysis.tasks.iter().position(|one| one.id == task)
    }

    /// The name by which people know a task.
    pub(crate) fn label(&self, task: TaskId) -> String {
        let place = self.place(task);
        place.map_or_else(
            || format!("task {}", task.0),
            |place| self.analysis.tasks[place].label.clone(),
        )
    }
}
