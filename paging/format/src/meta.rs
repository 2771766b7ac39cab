//! `meta.json` of a paging recording: the circumstances of the run.

use crate::{CounterSet, Part, Selection, StateSet};
use fathomp_types::{Clock, ClockReading};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// Version of the format of paging recordings.
pub const FORMAT: u32 = 1;
/// Name of the directory within a recording.
pub const DIRECTORY: &str = "paging";
/// Name of the file within that directory.
pub const META: &str = "meta.json";

/// The circumstances of a paging recording. What is not known has its default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PagingMeta {
    /// Version of the format, [`FORMAT`]; set when it is written.
    pub format: u32,
    /// Version of fathomp that recorded.
    pub fathomp: String,
    /// When recording began: nanoseconds since the Unix epoch.
    pub started_unix_ns: u64,
    /// Wall time of the program; `None` while it runs, or if the recorder was
    /// killed.
    pub wall_ns: Option<u64>,
    /// The clock that all times refer to: of the host where the recording was
    /// begun. Its zero is the recording's time 0. `None`: time 0 is when the first
    /// process began.
    pub clock: Option<Clock>,
    /// How changes of state got to the files, as the option `--writer` has it.
    pub writer: String,
    /// Interval of uniform sampling, as it was asked for; `None` if tasks were not
    /// sampled.
    pub sampling_ns: Option<u64>,
    /// What was asked for.
    pub selection: Selection,
    /// How many of how many tasks were recorded.
    pub part: Option<Part>,
    /// Counters that were recorded.
    pub counters: Option<CounterSet>,
    /// States whose intervals were recorded.
    pub states: Option<StateSet>,
    /// Bytes from which on intervals are merged.
    pub limit_bytes: Option<u64>,
    /// Hosts that took part. Where the launcher started the program on several, as the user
    /// calls them: streams of host N are named `hN-PID-BEGIN`.
    pub hosts: Vec<String>,
    /// Of such a run, how the hosts' counters of ticks stood beside that of the first; an entry
    /// for each of [`hosts`](Self::hosts).
    pub clocks: Vec<HostClock>,
    /// What the recorder noticed, as sentences.
    pub problems: Vec<String>,
}

/// A host's counter of ticks beside that of the first; unknown of the first itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostClock {
    /// Before the program began.
    pub begin: Option<ClockReading>,
    /// When it had ended.
    pub end: Option<ClockReading>,
}

impl PagingMeta {
    /// Writes it to `directory` (`RECORDING/paging`), so that there is always a
    /// whole one.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, directory: &Path) -> Result<(), MetaError> {
        let path = directory.join(META);
        let draft = directory.join("meta.json.new");
        let meta = Self {
            format: FORMAT,
            ..self.clone()
        };
        let written = serde_json::to_vec_pretty(&meta)
            .map_err(io::Error::from)
            .and_then(|json| std::fs::write(&draft, json))
            .and_then(|()| std::fs::rename(&draft, &path));
        written.map_err(|source| {
            let _ = std::fs::remove_file(&draft);
            MetaError { path, source }
        })
    }
}

/// Why the circumstances could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {source}; check the space and the permissions there")]
pub struct MetaError {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}
