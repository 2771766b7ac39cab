//! What comes from the hosts of a recorded run, and where it goes in the recording.

use super::host_recorder::{End, Kind, Told};
use crate::console::complain;
use crate::failure::Failure;
use crate::paging::{self, OfHosts, Readings};
use fathomp_cluster_commands::accesses;
use fathomp_hosts::Caller;
use fathomp_trace::model::Machine;
use fathomp_types::text::one_line;
use std::cell::RefCell;
use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What comes from the hosts.
pub(super) struct Gathered {
    recording: PathBuf,
    nodes: u16,
    hosts: RefCell<Vec<OfHost>>,
    /// The recording of paging, if there is one.
    paging: Option<RefCell<OfHosts>>,
}

/// What has come from one of them.
#[derive(Default)]
pub(super) struct OfHost {
    pub(super) machine: Option<Box<Machine>>,
    pub(super) records: u64,
    pub(super) runtimes: Vec<PathBuf>,
    pub(super) problems: Vec<String>,
    pub(super) complete: bool,
}

impl Gathered {
    /// Has a place for all that so many hosts, with so many nodes together, will tell.
    pub(super) fn begin(recording: &Path, (hosts, nodes): (usize, u16)) -> Result<Self, Failure> {
        let processes = recording.join("processes");
        fs::create_dir_all(&processes).map_err(|error| Failure::unwritable(&processes, &error))?;
        Ok(Self {
            recording: recording.to_owned(),
            nodes,
            hosts: RefCell::new((0..hosts).map(|_| OfHost::default()).collect()),
            paging: None,
        })
    }

    /// Takes what they tell of paging, too.
    pub(super) fn with_paging(self, paging: OfHosts) -> Self {
        Self {
            paging: Some(RefCell::new(paging)),
            ..self
        }
    }

    /// Completes the recording of paging, if there is one; what it came to.
    pub(super) fn finish_paging(
        &self,
        readings: &[Readings],
        wall: Duration,
    ) -> Result<Option<paging::Recorded>, Failure> {
        let finish = |paging: &RefCell<OfHosts>| paging.borrow().finish_all(readings, wall);
        self.paging.as_ref().map(finish).transpose()
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
            Kind::Paging if is_of("-.") => {
                let paging = self.paging.as_ref()?;
                Some(paging.borrow().file(host, name))
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
        match (told, &self.paging) {
            (
                Told::Grown {
                    kind,
                    name,
                    at,
                    bytes,
                },
                _,
            ) => self.grow(host, kind, &name, (at, &bytes)),
            (Told::Paging(json), Some(paging)) => {
                let heard = paging.borrow_mut().hear(host, &json);
                heard.map_err(|error| match error {
                    Some(failure) => format!("{}.", failure.sentence),
                    None => nonsense(),
                })
            }
            // Nobody asked for it.
            (Told::Paging(_), None) => Ok(()),
            (Told::End(end), _) => {
                if let Some(of) = self.hosts.borrow_mut().get_mut(usize::from(host)) {
                    of.end(end);
                }
                Ok(())
            }
        }
    }
}

impl OfHost {
    fn end(&mut self, end: End) {
        self.complete = true;
        self.machine = Some(end.machine);
        self.records = end.records;
        self.runtimes = end.runtimes;
        self.problems.extend(end.problems);
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

    #[test]
    fn files_of_hosts_have_names_of_their_own() {
        let directory = tempfile::tempdir().unwrap();
        let gathered = Gathered::begin(directory.path(), (3, 4)).unwrap();
        let write =
            |host, kind, name: &str, at, bytes: &[u8]| gathered.grow(host, kind, name, (at, bytes));
        write(0, Kind::Regions, "12-ab", 0, b"one").unwrap();
        write(0, Kind::Regions, "12-ab", 3, b"two").unwrap();
        write(2, Kind::Regions, "12-ab", 0, b"x").unwrap();
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
        assert_eq!(read("accesses.3.part"), "w");
    }

    #[test]
    fn what_makes_no_sense_is_a_problem_of_its_host() {
        let directory = tempfile::tempdir().unwrap();
        let gathered = Gathered::begin(directory.path(), (2, 2)).unwrap();
        gathered.hear(1, vec![0xff; 9]);
        gathered.hear(1, vec![0xff; 9]);
        let hosts = gathered.into_hosts();
        assert_eq!(hosts[1].problems, [nonsense()]);
        assert!(hosts[0].problems.is_empty());
    }

    #[test]
    fn without_paging_asked_for_no_host_brings_any() {
        let directory = tempfile::tempdir().unwrap();
        let gathered = Gathered::begin(directory.path(), (1, 1)).unwrap();
        assert!(gathered.grow(0, Kind::Paging, "1-a", (0, b"x")).is_err());
        let told = Told::Paging(b"{}".to_vec());
        gathered.hear(0, postcard::to_allocvec(&told).unwrap());
        let finished = gathered.finish_paging(&[], Duration::ZERO).unwrap();
        assert!(finished.is_none() && !directory.path().join(paging::DIRECTORY).exists());
    }
}
