//! What comes from the hosts of a recorded run, and where it goes in the recording.

use super::host_recorder::{Kind, Told};
use crate::console::complain;
use crate::failure::Failure;
use crate::paging;
use crate::recording::accesses;
use fathomp_hosts::Caller;
use fathomp_paging::reader::Recording;
use fathomp_paging::{DIRECTORY, HostClock, PagingMeta, stream};
use fathomp_trace::model::Machine;
use fathomp_types::ClockReading;
use fathomp_types::text::one_line;
use std::cell::RefCell;
use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Readings of a host's counter beside that of the first, before and after.
pub(super) type Readings = (Option<ClockReading>, Option<ClockReading>);

/// What comes from the hosts.
pub(super) struct Gathered {
    recording: PathBuf,
    nodes: u16,
    hosts: RefCell<Vec<OfHost>>,
    /// The circumstances of recording paging, if it is recorded, before any host has told its own.
    paging: Option<PagingMeta>,
}

/// What has come from one of them.
#[derive(Default)]
pub(super) struct OfHost {
    name: String,
    pub(super) machine: Option<Box<Machine>>,
    pub(super) records: u64,
    pub(super) runtimes: Vec<PathBuf>,
    pub(super) problems: Vec<String>,
    pub(super) complete: bool,
    /// The circumstances of recording paging there, as it told last.
    paging: Option<PagingMeta>,
}

impl Gathered {
    /// Has a place for all that hosts of these names, with so many nodes together, will tell.
    pub(super) fn begin(
        recording: &Path,
        (names, nodes): (&[String], u16),
    ) -> Result<Self, Failure> {
        let processes = recording.join("processes");
        fs::create_dir_all(&processes).map_err(|error| Failure::unwritable(&processes, &error))?;
        let host = |name: &String| OfHost {
            name: name.clone(),
            ..OfHost::default()
        };
        Ok(Self {
            recording: recording.to_owned(),
            nodes,
            hosts: RefCell::new(names.iter().map(host).collect()),
            paging: None,
        })
    }

    /// Of paging, too, in these circumstances.
    pub(super) fn with_paging(self, circumstances: PagingMeta) -> Result<Self, Failure> {
        let directory = self.recording.join(DIRECTORY);
        fs::create_dir_all(&directory).map_err(|error| Failure::unwritable(&directory, &error))?;
        // Before anything else is there: a recording that is cut off can be read, too.
        let written = circumstances.write(&directory);
        written?;
        Ok(Self {
            paging: Some(circumstances),
            ..self
        })
    }

    /// Completes the recording of paging, if there is one; what it came to.
    pub(super) fn finish_paging(
        &self,
        readings: &[Readings],
        wall: Duration,
    ) -> Result<Option<paging::Recorded>, Failure> {
        let Some(meta) = self.circumstances() else {
            return Ok(None);
        };
        let clock = |&(begin, end): &Readings| HostClock { begin, end };
        let meta = PagingMeta {
            clocks: readings.iter().map(clock).collect(),
            wall_ns: u64::try_from(wall.as_nanos()).ok(),
            ..meta
        };
        let directory = self.recording.join(DIRECTORY);
        let written = meta.write(&directory);
        written?;
        let recording = Recording::open(&directory)?;
        Ok(Some(paging::Recorded::of(&recording)))
    }

    /// The circumstances of the recording of paging, as far as hosts have told of them: its
    /// time is the first host's.
    fn circumstances(&self) -> Option<PagingMeta> {
        let mut meta = self.paging.clone()?;
        let hosts = self.hosts.borrow();
        if let Some(first) = hosts.first().and_then(|host| host.paging.as_ref()) {
            meta.clock = first.clock;
            meta.started_unix_ns = first.started_unix_ns;
        }
        for host in &*hosts {
            let problems = host.paging.iter().flat_map(|meta| &meta.problems);
            let said = problems.map(|said| format!("Host {}: {said}", host.name));
            meta.problems.extend(said);
        }
        Some(meta)
    }

    /// What came from each host.
    pub(super) fn into_hosts(self) -> Vec<OfHost> {
        self.hosts.into_inner()
    }

    /// The file of the recording for one of a host.
    fn file(&self, host: u16, kind: Kind, name: &str) -> Option<PathBuf> {
        // It becomes the name of a file here.
        let is_of = |more: &str| {
            let sound = |letter: char| letter.is_ascii_hexdigit() || more.contains(letter);
            !name.is_empty() && name.len() <= 100 && name.chars().all(sound)
        };
        match kind {
            Kind::Regions if is_of("-") => {
                let file = match host {
                    0 => format!("{name}.fthr"),
                    _ => format!("h{host}.{name}.fthr"),
                };
                Some(self.recording.join("processes").join(file))
            }
            Kind::Paging if is_of("-.") && self.paging.is_some() => {
                let file = format!("h{host}-{name}.{}", stream::EXTENSION);
                Some(self.recording.join(DIRECTORY).join(file))
            }
            Kind::Accesses => {
                let node = name.parse().ok().filter(|node| *node < self.nodes)?;
                Some(accesses::part(&self.recording, node))
            }
            Kind::Regions | Kind::Paging => None,
        }
    }

    fn grow(&self, host: u16, kind: Kind, name: &str, grown: (u64, &[u8])) -> Result<(), String> {
        let path = self
            .file(host, kind, name)
            .ok_or("Its agent names a stream in a way that makes no sense.")?;
        append(&path, grown).map_err(|error| {
            format!(
                "What it recorded could not be written to {}: {error}.",
                path.display()
            )
        })
    }

    fn take(&self, host: u16, told: Told) -> Result<(), String> {
        if let Told::Grown {
            kind,
            name,
            at,
            bytes,
        } = told
        {
            return self.grow(host, kind, &name, (at, &bytes));
        }
        if let Some(of) = self.hosts.borrow_mut().get_mut(usize::from(host)) {
            of.take(told)?;
        }
        // Until all is over, so that a recording that is cut off has a clock.
        match self.circumstances() {
            Some(meta) => meta
                .write(&self.recording.join(DIRECTORY))
                .map_err(|error| format!("{error}.")),
            None => Ok(()),
        }
    }
}

impl OfHost {
    fn take(&mut self, told: Told) -> Result<(), String> {
        match told {
            Told::Grown { .. } => {}
            Told::Paging(json) => {
                let meta = serde_json::from_slice(&json);
                self.paging = Some(meta.map_err(|_| nonsense())?);
            }
            Told::End {
                machine,
                records,
                processes: _,
                runtimes,
                problems,
            } => {
                self.complete = true;
                self.machine = Some(machine);
                self.records = records;
                self.runtimes = runtimes;
                self.problems.extend(problems);
            }
        }
        Ok(())
    }

    /// The same of each piece is one problem.
    fn remember(&mut self, problem: String) {
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }
}

fn nonsense() -> String {
    "Its agent tells of a recording what makes no sense.".to_owned()
}

impl Caller for Gathered {
    fn say(&self, sentence: &str) {
        complain("", &one_line(sentence));
    }

    fn hear(&self, host: u16, told: Vec<u8>) {
        let taken = match postcard::from_bytes(&told) {
            Ok(told) => self.take(host, told),
            Err(_) => Err(nonsense()),
        };
        if let (Err(problem), Some(of)) =
            (taken, self.hosts.borrow_mut().get_mut(usize::from(host)))
        {
            of.remember(problem);
        }
    }
}

/// Writes what a file of a host has grown by.
fn append(path: &Path, (at, bytes): (u64, &[u8])) -> std::io::Result<()> {
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    file.seek(SeekFrom::Start(at))?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_types::{Clock, Ticks};

    fn gathered(recording: &Path) -> Gathered {
        let names = ["a", "b", "c"].map(str::to_owned);
        let gathered = Gathered::begin(recording, (&names, 4)).unwrap();
        let circumstances = PagingMeta {
            hosts: names.to_vec(),
            ..PagingMeta::default()
        };
        gathered.with_paging(circumstances).unwrap()
    }

    fn told(host: u16, told: &Told, to: &Gathered) {
        to.hear(host, postcard::to_allocvec(told).unwrap());
    }

    #[test]
    fn files_of_hosts_have_names_of_their_own() {
        let directory = tempfile::tempdir().unwrap();
        let gathered = gathered(directory.path());
        let write =
            |host, kind, name: &str, at, bytes: &[u8]| gathered.grow(host, kind, name, (at, bytes));
        write(0, Kind::Regions, "12-ab", 0, b"one").unwrap();
        write(0, Kind::Regions, "12-ab", 3, b"two").unwrap();
        write(2, Kind::Regions, "12-ab", 0, b"x").unwrap();
        write(0, Kind::Paging, "12-ab", 0, b"y").unwrap();
        write(1, Kind::Paging, "12-ab.4294967295", 0, b"z").unwrap();
        write(1, Kind::Accesses, "3", 0, b"w").unwrap();
        for bad in ["", "../12", "12.ring", "/etc/passwd", &"1".repeat(200)] {
            for kind in [Kind::Regions, Kind::Paging, Kind::Accesses] {
                assert!(write(1, kind, bad, 0, b"x").is_err(), "{bad}");
            }
        }
        // There are nodes 0 to 3.
        assert!(write(1, Kind::Accesses, "4", 0, b"x").is_err());
        let read = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
        assert_eq!(read("processes/12-ab.fthr"), "onetwo");
        assert_eq!(read("processes/h2.12-ab.fthr"), "x");
        assert_eq!(read("paging/h0-12-ab.fthp"), "y");
        assert_eq!(read("paging/h1-12-ab.4294967295.fthp"), "z");
        assert_eq!(read("accesses.3.part"), "w");
    }

    #[test]
    fn circumstances_of_all_hosts_become_those_of_the_recording() {
        let directory = tempfile::tempdir().unwrap();
        let gathered = gathered(directory.path());
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
            Told::Paging(serde_json::to_vec(&meta).unwrap())
        };
        told(1, &of_host(5_000, &[]), &gathered);
        told(0, &of_host(100, &[]), &gathered);
        // As it would be if the command were killed now.
        let read = || Recording::open(directory.path()).unwrap();
        assert_eq!(read().meta().clock, Some(clock(100)));
        assert_eq!(read().meta().wall_ns, None);
        told(1, &of_host(5_000, &["Nothing."]), &gathered);
        told(2, &Told::Paging(b"{".to_vec()), &gathered);
        gathered.hear(2, vec![0xff; 9]);
        let at = |here| ClockReading {
            first: 1,
            here,
            error_ns: 3,
        };
        let readings = [(None, None), (Some(at(2)), Some(at(4))), (None, None)];
        let recorded = gathered.finish_paging(&readings, Duration::from_nanos(9));
        let recorded = recorded.unwrap().unwrap();
        assert_eq!(
            (recorded.tasks, recorded.problems),
            (0, vec!["Host b: Nothing.".to_owned()])
        );
        let recording = read();
        let meta = recording.meta();
        assert_eq!((meta.wall_ns, meta.started_unix_ns), (Some(9), 100));
        assert_eq!(meta.hosts, ["a", "b", "c"]);
        assert_eq!(meta.clocks[1].end, Some(at(4)));
        let hosts = gathered.into_hosts();
        assert_eq!(hosts[2].problems, [nonsense()]);
        assert!(hosts[0].problems.is_empty() && hosts[1].problems.is_empty());
    }

    #[test]
    fn without_paging_asked_for_no_host_brings_any() {
        let directory = tempfile::tempdir().unwrap();
        let gathered = Gathered::begin(directory.path(), (&["a".to_owned()], 1)).unwrap();
        assert!(gathered.grow(0, Kind::Paging, "1-a", (0, b"x")).is_err());
        let finished = gathered.finish_paging(&[], Duration::ZERO).unwrap();
        assert!(finished.is_none() && !directory.path().join(DIRECTORY).exists());
    }
}
