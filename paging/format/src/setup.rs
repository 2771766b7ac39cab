//! What the launcher tells the interposers and the collector: `setup.json` in the live
//! directory.
//!
//! The live directory is where recorded programs and the collector meet;
//! FATHOMP_PAGING names it to the programs. The launcher makes it, writes the
//! setup, starts the collector, then the program.

use crate::{Activity, Counter};
use fathomp_types::Clock;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Name of the setup within the live directory.
pub const SETUP_FILE: &str = "setup.json";
/// Version of [`Setup`]; interposers and collectors of other versions refuse it.
pub const SETUP_VERSION: u32 = 1;

/// What is recorded, and how it gets from the threads to the recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Setup {
    /// [`SETUP_VERSION`].
    pub version: u32,
    /// Directory of the recording's streams (`RECORDING/paging`), absolute.
    pub streams: PathBuf,
    /// How changes get there.
    pub writer: Writer,
    /// The clock of the recording, that of the launcher's host: its zero is when the recording
    /// began, from where the window counts. `None`: every process measures its own, and the
    /// window counts from when each process begins.
    pub clock: Option<Clock>,
    /// Counters that are recorded; the others are taken for zero. All, if empty.
    pub counters: Vec<Counter>,
    /// Activities whose intervals are recorded; the others leave gaps. All, if empty.
    pub activities: Vec<Activity>,
    /// Tasks that are recorded; all, if none is given. Of the others only totals are kept.
    pub tasks: Option<TaskRule>,
    /// What happens earlier after the start is only added to the totals.
    pub from_ns: u64,
    /// What happens later after the start is only added to the totals.
    pub to_ns: Option<u64>,
    /// What the kernel of the launcher's host calls its present run
    /// (`/proc/sys/kernel/random/boot_id`).
    pub boot: String,
    /// Bytes of the recording from which on intervals are merged; where processes write
    /// themselves, of each process.
    pub limit_bytes: u64,
    /// Size of a thread's ring in bytes; rounded to a power of two within
    /// [`Setup::RING_BYTES_MIN`] and [`Setup::RING_BYTES_MAX`].
    pub ring_bytes: u64,
    /// Whether the interposer reads the kernel's counters at changes of state; without, only its own
    /// counts (bytes, calls, shared memory) are recorded.
    pub read_counters: bool,
    /// Stays that were shorter are ended without reading the kernel's counters: what rose
    /// meanwhile goes to the next interval.
    pub exit_reading_min_ns: u64,
    /// Proves to a collector that listens on a network that a peer belongs to the recording:
    /// 32 hexadecimal digits, random for each recording.
    pub key: String,
}

impl Setup {
    /// Smallest ring.
    pub const RING_BYTES_MIN: u64 = 16 << 10;
    /// Largest ring.
    pub const RING_BYTES_MAX: u64 = 256 << 20;

    /// Words of a thread's ring, a power of two.
    #[must_use]
    pub fn ring_words(&self) -> usize {
        let bytes = self
            .ring_bytes
            .clamp(Self::RING_BYTES_MIN, Self::RING_BYTES_MAX);
        (bytes / 8).next_power_of_two() as usize
    }

    /// The counters that are recorded, a bit each by their numbers.
    #[must_use]
    pub fn counter_mask(&self) -> u32 {
        match &self.counters[..] {
            [] => (1 << Counter::COUNT) - 1,
            chosen => chosen.iter().fold(0, |mask, one| mask | 1 << one.index()),
        }
    }

    /// The activities that are recorded, a bit each by their numbers.
    #[must_use]
    pub fn activity_mask(&self) -> u32 {
        match &self.activities[..] {
            [] => (1 << Activity::ALL.len()) - 1,
            chosen => chosen.iter().fold(0, |mask, &one| mask | 1 << one as u32),
        }
    }

    /// Writes the setup to a live directory, for all at once or not at all.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, live: &Path) -> Result<(), SetupError> {
        let path = live.join(SETUP_FILE);
        let draft = live.join("setup.json.new");
        let written = serde_json::to_vec_pretty(self)
            .map_err(io::Error::from)
            .and_then(|json| std::fs::write(&draft, json))
            .and_then(|()| std::fs::rename(&draft, &path));
        written.map_err(|source| SetupError::Write { path, source })
    }

    /// Reads the setup of a live directory.
    ///
    /// # Errors
    /// If there is none, or none that this version understands.
    pub fn read(live: &Path) -> Result<Self, SetupError> {
        let path = live.join(SETUP_FILE);
        let json = match std::fs::read(&path) {
            Ok(json) => json,
            Err(source) => return Err(SetupError::Read { path, source }),
        };
        let setup: Self = match serde_json::from_slice(&json) {
            Ok(setup) => setup,
            Err(source) => return Err(SetupError::Damaged { path, source }),
        };
        if setup.version != SETUP_VERSION {
            let version = setup.version;
            return Err(SetupError::Version { path, version });
        }
        Ok(setup)
    }
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            version: SETUP_VERSION,
            streams: PathBuf::new(),
            writer: Writer::default(),
            clock: None,
            counters: Vec::new(),
            activities: Vec::new(),
            tasks: None,
            from_ns: 0,
            to_ns: None,
            boot: String::new(),
            limit_bytes: 512 << 20,
            ring_bytes: 1 << 20,
            read_counters: true,
            exit_reading_min_ns: 500,
            key: String::new(),
        }
    }
}

/// Why a setup could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// It could not be written.
    #[error("cannot write {path}: {source}; check the space and the permissions there")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It could not be read.
    #[error("cannot read {path}: {source}; start the program with `fathomp record --paging`")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is not what we write.
    #[error("{path} is damaged: {source}; record again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// It is of another version of fathomp.
    #[error(
        "{path} is of version {version}, this fathomp knows version {SETUP_VERSION}; record and \
         run with the same fathomp"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
}

/// Which tasks are recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRule {
    /// By which of their numbers.
    pub by: TaskNumber,
    /// Ranges of these numbers, first and last.
    pub ranges: Vec<(u32, u32)>,
}

impl TaskRule {
    /// Whether the rule chooses a number.
    #[must_use]
    pub fn chooses(&self, number: u32) -> bool {
        self.ranges
            .iter()
            .any(|&(first, last)| (first..=last).contains(&number))
    }
}

/// The numbers by which tasks are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskNumber {
    /// Threads of all processes, numbered as they begin, from 0.
    Task,
    /// Processes, numbered as they begin, from 0.
    Process,
    /// Threads, numbered within their process as they begin, from 0; OpenMP threads by
    /// their OpenMP number.
    Thread,
    /// Ranks in `MPI_COMM_WORLD`.
    Rank,
    /// Nodes of a program that runs on several.
    Node,
}

/// How the changes of threads get to the recording: the versions of the published
/// profiling library (Wang and Marinescu 1995, table 2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Writer {
    /// The thread itself writes a file whenever its buffer is full (V1, NOPT).
    Task,
    /// A thread of the process writes, striped over directories (V2, PFS).
    Striped(Vec<PathBuf>),
    /// Messages to the collector process of the node (V3, MP/MP).
    Message,
    /// Rings in shared memory, emptied by the collector process of the node (V3, MP/SM).
    #[default]
    Shared,
    /// Messages over the network to one collector of all nodes at that address (V3, HN).
    /// The launcher fills the address in.
    Collector(String),
    /// As [`Writer::Shared`]; the collector of the node forwards to
    /// `fathomp collect --listen` at that address, `host:port` (V4).
    Remote(String),
}

/// How records leave the rings of a process, of whichever writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// The collector takes them out of shared memory.
    Rings,
    /// The process sends them to the collector as messages.
    Messages,
    /// The process writes them into files.
    Files,
}

impl Writer {
    /// How records leave the rings of a process.
    #[must_use]
    pub fn handover(&self) -> Handover {
        match self {
            Self::Shared | Self::Remote(_) => Handover::Rings,
            Self::Message | Self::Collector(_) => Handover::Messages,
            Self::Task | Self::Striped(_) => Handover::Files,
        }
    }
}

impl fmt::Display for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task => f.write_str("task"),
            Self::Striped(directories) => {
                f.write_str("striped")?;
                for (index, directory) in directories.iter().enumerate() {
                    let before = if index == 0 { ':' } else { ',' };
                    write!(f, "{before}{}", directory.display())?;
                }
                Ok(())
            }
            Self::Message => f.write_str("message"),
            Self::Shared => f.write_str("shared"),
            Self::Collector(_) => f.write_str("collector"),
            Self::Remote(address) => f.write_str(address),
        }
    }
}

/// Text names no writer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no writer; choose task, striped:DIR,DIR.., message, shared, collector or HOST:PORT"
)]
pub struct NoWriter(pub String);

impl FromStr for Writer {
    type Err = NoWriter;

    fn from_str(text: &str) -> Result<Self, NoWriter> {
        match text {
            "task" => return Ok(Self::Task),
            "message" => return Ok(Self::Message),
            "shared" => return Ok(Self::Shared),
            "collector" => return Ok(Self::Collector(String::new())),
            _ => {}
        }
        let no_writer = || NoWriter(text.to_owned());
        let (kind, rest) = text.split_once(':').ok_or_else(no_writer)?;
        if kind == "striped" {
            let directories: Vec<_> = rest.split(',').map(PathBuf::from).collect();
            let named = directories.iter().all(|one| !one.as_os_str().is_empty());
            return named
                .then_some(Self::Striped(directories))
                .ok_or_else(no_writer);
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(no_writer)?;
        match port.parse::<u16>() {
            Ok(port) if port != 0 && !host.is_empty() => Ok(Self::Remote(text.to_owned())),
            _ => Err(no_writer()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setup_comes_back_as_written() {
        let live = std::env::temp_dir().join(format!("fathomp-setup-{}", std::process::id()));
        std::fs::create_dir_all(&live).unwrap();
        let setup = Setup {
            writer: Writer::Striped(vec!["/a".into(), "/b".into()]),
            counters: vec![Counter::MajorFaults, Counter::BytesRead],
            activities: vec![Activity::Io],
            tasks: Some(TaskRule {
                by: TaskNumber::Rank,
                ranges: vec![(0, 3), (7, 7)],
            }),
            to_ns: Some(5),
            clock: Some(Clock::NANOS),
            key: "00ff".into(),
            ..Setup::default()
        };
        setup.write(&live).unwrap();
        let read = Setup::read(&live).unwrap();
        std::fs::remove_dir_all(&live).unwrap();
        assert_eq!(read, setup);
        assert_eq!(read.counter_mask(), 1 << 1 | 1 << 7);
        assert_eq!(read.activity_mask(), 1 << 1);
    }

    #[test]
    fn a_setup_that_is_missing_damaged_or_of_another_version_is_refused() {
        let live = std::env::temp_dir().join(format!("fathomp-no-setup-{}", std::process::id()));
        std::fs::create_dir_all(&live).unwrap();
        assert!(matches!(Setup::read(&live), Err(SetupError::Read { .. })));
        std::fs::write(live.join(SETUP_FILE), b"{").unwrap();
        assert!(matches!(
            Setup::read(&live),
            Err(SetupError::Damaged { .. })
        ));
        std::fs::write(live.join(SETUP_FILE), b"{\"version\":9}").unwrap();
        let refused = Setup::read(&live).unwrap_err();
        std::fs::remove_dir_all(&live).unwrap();
        assert!(refused.to_string().contains("version 9"), "{refused}");
    }

    #[test]
    fn writers_are_read_and_shown_alike() {
        for text in [
            "task",
            "striped:/a,/b",
            "message",
            "shared",
            "collector",
            "host:4000",
            "[::1]:4000",
        ] {
            assert_eq!(text.parse::<Writer>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "striped",
            "striped:",
            "striped:/a,",
            "host",
            "host:0",
            ":1",
            "host:x",
        ] {
            let refused = text.parse::<Writer>().unwrap_err();
            assert!(refused.to_string().contains("HOST:PORT"));
        }
    }

    #[test]
    fn empty_choices_are_everything() {
        let setup = Setup::default();
        assert_eq!(setup.counter_mask().count_ones() as usize, Counter::COUNT);
        assert_eq!(
            setup.activity_mask().count_ones() as usize,
            Activity::ALL.len()
        );
        assert_eq!(setup.ring_words(), 1 << 17);
    }

    #[test]
    fn ranges_choose_their_ends_too() {
        let rule = TaskRule {
            by: TaskNumber::Task,
            ranges: vec![(0, 3), (7, 7)],
        };
        let chosen: Vec<_> = (0..10).filter(|&number| rule.chooses(number)).collect();
        assert_eq!(chosen, [0, 1, 2, 3, 7]);
    }
}
