//! What the tests of recording share.
#![allow(dead_code)]

use fathomp_trace::drain::{Drainer, Limits, Summary};
use fathomp_trace::model::{Meta, Recording, SiteKind};
use fathomp_trace::record::{Instance, Record};
use fathomp_trace::recorder::{Recorder, Settings, Start, ThreadRecorder};
use fathomp_trace::{now, reader, writer};
use fathomp_types::{InstanceId, SiteId, Ticks};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A live directory and a recording, removed at the end of a test.
pub(crate) struct Place {
    _root: TempDir,
    pub(crate) live: PathBuf,
    pub(crate) recording: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let live = root.path().join("live");
        let recording = root.path().join("recording");
        std::fs::create_dir(&live).unwrap();
        let place = Self {
            _root: root,
            live,
            recording,
        };
        let meta = Meta {
            live: Some(place.live.clone()),
            ..Meta::default()
        };
        writer::create(&place.recording, &meta, writer::Existing::Keep).unwrap();
        place
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings {
            ring_kib: 64,
            threads: 16,
            ..Settings::new(self.live.clone())
        }
    }

    pub(crate) fn drainer(&self) -> Drainer {
        self.drainer_with(Limits::default())
    }

    pub(crate) fn drainer_with(&self, limits: Limits) -> Drainer {
        Drainer::new(&self.live, &self.recording, limits).unwrap()
    }

    pub(crate) fn drain(&self) -> Summary {
        self.drainer().finish().unwrap()
    }

    pub(crate) fn read(&self) -> Recording {
        reader::open(&self.recording).unwrap()
    }
}

/// A region that nothing else uses.
pub(crate) fn region(recorder: &Recorder, number: usize) -> SiteId {
    // Addresses without a module are kept as they are.
    recorder.site(SiteKind::Parallel, 16 + number, 0)
}

/// Runs an empty region.
pub(crate) fn execute(thread: &ThreadRecorder, site: SiteId, instance: u64) {
    thread.begin(&Start {
        site,
        instance: InstanceId(instance),
        team_size: 1,
        level: 1,
        fork: now(),
        ..Start::default()
    });
    thread.end();
}

/// All executions of a site, over all threads and processes.
pub(crate) fn executions(recording: &Recording, site: SiteId) -> Vec<Instance> {
    let records = recording.processes.iter().flat_map(|process| {
        process
            .threads
            .iter()
            .flat_map(|thread| thread.records.iter())
    });
    records
        .filter_map(|record| match record {
            Record::Instance(instance) if instance.site == site => Some(Instance::clone(instance)),
            _ => None,
        })
        .collect()
}

/// Number of executions, merged ones counted.
pub(crate) fn total(instances: &[Instance]) -> u64 {
    instances
        .iter()
        .map(|instance| u64::from(instance.merged))
        .sum()
}

/// A moment so many nanoseconds (or ticks, if that is more) before now.
pub(crate) fn ago(ticks: u64) -> Ticks {
    Ticks(now().0 - ticks)
}

/// Names to a child process what it is to do; see [`child`].
pub(crate) const ROLE: &str = "FATHOMP_TEST_ROLE";

/// Starts this test program again to run only the test `name`, which finds
/// `role` in its environment.
pub(crate) fn child(name: &str, role: &str, live: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env(fathomp_launch::names::RECORD.name, live)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

/// The role, if this is a child.
pub(crate) fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// Waits for something that must happen soon.
pub(crate) fn eventually(what: &str, mut happened: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !happened() {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "{what} did not happen"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}
