//! What lies beside a paging recording: single faults, runs with less memory, what
//! recording cost. What cannot be read is said, and the rest is shown.

use crate::memory::{Curve, MEMORY_FILE};
use fathomp_bench::intrusion::{Document, INTRUSION_FILE};
use fathomp_faults::{FaultFacts, fault_facts};
use fathomp_paging::{DIRECTORY, faults};
use fathomp_paging_pages::{MemoryCurve, MemoryRun};
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

/// What was found.
#[derive(Default)]
pub(super) struct RelatedFiles {
    pub(super) faults: Option<FaultFacts>,
    pub(super) memory: Option<MemoryCurve>,
    pub(super) intrusion: Option<Document>,
    /// What is there and cannot be read, in sentences.
    pub(super) problems: Vec<String>,
}

impl RelatedFiles {
    /// Looks beside the recording in `directory`.
    pub(super) fn read(directory: &Path) -> Self {
        let mut found = Self::default();
        found.faults = found.read_faults(directory);
        let curve: Option<Curve> = found.json(&directory.join(MEMORY_FILE));
        found.memory = curve.map(memory);
        found.intrusion = found.json(&directory.join(INTRUSION_FILE));
        found
    }

    fn read_faults(&mut self, directory: &Path) -> Option<FaultFacts> {
        let inner = directory.join(DIRECTORY);
        let streams = if inner.is_dir() {
            inner
        } else {
            directory.to_owned()
        };
        let path = streams.join(faults::FILE);
        if !path.is_file() {
            return None;
        }
        match faults::read(&path) {
            Ok(file) => Some(fault_facts(&file)),
            Err(error) => {
                self.problems
                    .push(format!("Single page faults are left out: {error}."));
                None
            }
        }
    }

    fn json<T: DeserializeOwned>(&mut self, path: &Path) -> Option<T> {
        if !fs::metadata(path).is_ok_and(|found| found.is_file()) {
            return None;
        }
        let read = File::open(path)
            .map_err(|error| error.to_string())
            .and_then(|file| {
                serde_json::from_reader(BufReader::new(file)).map_err(|error| error.to_string())
            });
        read.map_err(|error| {
            let shown = path.display();
            self.problems.push(format!(
                "{shown} is left out: it cannot be read ({error}); record again to have it."
            ));
        })
        .ok()
    }
}

fn memory(curve: Curve) -> MemoryCurve {
    let runs = curve.runs.into_iter().map(|run| MemoryRun {
        limit_bytes: run.limit_bytes,
        wall_ns: run.wall_ns,
        slow_down: run.slow_down,
        major_faults: run.major_faults,
        page_ins: run.page_ins,
        peak_bytes: run.peak_bytes,
        is_killed: run.killed,
    });
    MemoryCurve {
        runs: runs.collect(),
        sentence: curve.sentence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_damaged_is_said_and_left_out() {
        let directory = tempfile::tempdir().unwrap();
        assert!(RelatedFiles::read(directory.path()).problems.is_empty());
        fs::create_dir(directory.path().join(DIRECTORY)).unwrap();
        let faults = directory.path().join(DIRECTORY).join(faults::FILE);
        fs::write(faults, "this is no file of faults, however long").unwrap();
        fs::write(directory.path().join(MEMORY_FILE), "{").unwrap();
        fs::write(directory.path().join(INTRUSION_FILE), "[]").unwrap();
        let found = RelatedFiles::read(directory.path());
        assert!(found.faults.is_none() && found.memory.is_none() && found.intrusion.is_none());
        assert_eq!(found.problems.len(), 3, "{:#?}", found.problems);
    }
}
