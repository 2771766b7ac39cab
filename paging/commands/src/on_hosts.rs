//! The paging of one program on several hosts: what is recorded on each comes together in one
//! recording.

use crate::{Plan, Recorded};
use fathomp_console::failure::Failure;
use fathomp_paging::reader::Recording;
use fathomp_paging::{DIRECTORY, HostClock, PagingMeta, stream};
use fathomp_types::ClockReading;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Readings of a host's counter beside that of the first, before and after.
pub type Readings = (Option<ClockReading>, Option<ClockReading>);

/// A recording of paging to which several hosts contribute.
#[derive(Debug)]
pub struct OfHosts {
    directory: PathBuf,
    names: Vec<String>,
    /// The circumstances, before any host has told its own.
    meta: PagingMeta,
    /// The circumstances on each host, as it told last.
    told: BTreeMap<u16, PagingMeta>,
}

impl OfHosts {
    /// Begins one below the recording of the program, for hosts of these names.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn gather(
        recording: &Path,
        (plan, limit_bytes): (&Plan, u64),
        names: &[String],
    ) -> Result<Self, Failure> {
        Self::with(recording, plan.circumstances(limit_bytes, names.to_vec()))
    }

    fn with(recording: &Path, meta: PagingMeta) -> Result<Self, Failure> {
        let directory = recording.join(DIRECTORY);
        fs::create_dir_all(&directory).map_err(|error| Failure::unwritable(&directory, &error))?;
        let begun = Self {
            directory,
            names: meta.hosts.clone(),
            meta,
            told: BTreeMap::new(),
        };
        // Before anything else is there: a recording that is cut off can be read, too.
        begun.write(&begun.meta)?;
        Ok(begun)
    }

    /// The file for a stream of a host, whose name may be no path.
    #[must_use]
    pub fn file(&self, host: u16, name: &str) -> PathBuf {
        let file = format!("h{host}-{name}.{}", stream::EXTENSION);
        self.directory.join(file)
    }

    /// Takes the circumstances that a host tells, as JSON.
    ///
    /// # Errors
    /// If they make no sense, which gives `None`, or cannot be written.
    pub fn hear(&mut self, host: u16, json: &[u8]) -> Result<(), Option<Failure>> {
        let meta = serde_json::from_slice(json).map_err(|_| None)?;
        self.told.insert(host, meta);
        // Until all is over, so that a recording that is cut off has a clock.
        self.write(&self.circumstances()).map_err(Some)
    }

    /// The circumstances as far as hosts have told of them: the time is the first host's.
    fn circumstances(&self) -> PagingMeta {
        let mut meta = self.meta.clone();
        if let Some(first) = self.told.get(&0) {
            meta.clock = first.clock;
            meta.started_unix_ns = first.started_unix_ns;
        }
        for (host, of_host) in &self.told {
            let name = self.names.get(usize::from(*host));
            let name = name.map_or("", String::as_str);
            let problems = of_host.problems.iter();
            meta.problems
                .extend(problems.map(|said| format!("Host {name}: {said}")));
        }
        meta
    }

    /// Completes the recording; what it came to.
    ///
    /// # Errors
    /// If it cannot be written or read.
    pub fn finish_all(&self, readings: &[Readings], wall: Duration) -> Result<Recorded, Failure> {
        let clock = |&(begin, end): &Readings| HostClock { begin, end };
        self.write(&PagingMeta {
            clocks: readings.iter().map(clock).collect(),
            wall_ns: u64::try_from(wall.as_nanos()).ok(),
            ..self.circumstances()
        })?;
        let recording = Recording::open(&self.directory).map_err(|error| Failure::of(&error))?;
        Ok(Recorded::of(&recording))
    }

    fn write(&self, meta: &PagingMeta) -> Result<(), Failure> {
        meta.write(&self.directory)
            .map_err(|error| Failure::of(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_types::{Clock, Ticks};

    fn begun(recording: &Path) -> OfHosts {
        let circumstances = PagingMeta {
            hosts: ["a", "b", "c"].map(str::to_owned).to_vec(),
            ..PagingMeta::default()
        };
        OfHosts::with(recording, circumstances).unwrap()
    }

    #[test]
    fn streams_of_hosts_have_names_of_their_own() {
        let directory = tempfile::tempdir().unwrap();
        let begun = begun(directory.path());
        let file = |host, name| {
            let path = begun.file(host, name);
            let inside = path.strip_prefix(directory.path()).unwrap();
            inside.display().to_string()
        };
        assert_eq!(file(0, "12-ab"), "paging/h0-12-ab.fthp");
        assert_eq!(file(1, "12-ab.4"), "paging/h1-12-ab.4.fthp");
    }

    #[test]
    fn circumstances_of_all_hosts_become_those_of_the_recording() {
        let directory = tempfile::tempdir().unwrap();
        let mut begun = begun(directory.path());
        let clock = |zero| Clock {
            zero: Ticks(zero),
            zero_unix_ns: 7,
            nanos_per_tick: 0.5,
        };
        let of_host = |zero, problems: &[&str]| {
            let meta = PagingMeta {
                clock: Some(clock(zero)),
                started_unix_ns: zero,
                problems: problems.iter().copied().map(str::to_owned).collect(),
                ..PagingMeta::default()
            };
            serde_json::to_vec(&meta).unwrap()
        };
        begun.hear(1, &of_host(5_000, &[])).unwrap();
        begun.hear(0, &of_host(100, &[])).unwrap();
        // As it would be if the command were killed now.
        let read = || Recording::open(directory.path()).unwrap();
        assert_eq!(read().meta().clock, Some(clock(100)));
        assert_eq!(read().meta().wall_ns, None);
        begun.hear(1, &of_host(5_000, &["Nothing."])).unwrap();
        assert!(matches!(begun.hear(2, b"{"), Err(None)));
        let at = |here| ClockReading {
            first: 1,
            here,
            error_ns: 3,
        };
        let readings = [(None, None), (Some(at(2)), Some(at(4))), (None, None)];
        let recorded = begun
            .finish_all(&readings, Duration::from_nanos(9))
            .unwrap();
        assert_eq!(
            (recorded.tasks, recorded.problems),
            (0, vec!["Host b: Nothing.".to_owned()])
        );
        let recording = read();
        let meta = recording.meta();
        assert_eq!((meta.wall_ns, meta.started_unix_ns), (Some(9), 100));
        assert_eq!(meta.hosts, ["a", "b", "c"]);
        assert_eq!(meta.clocks[1].end, Some(at(4)));
    }
}
