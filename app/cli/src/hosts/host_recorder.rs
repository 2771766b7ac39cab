//! What is done beside a program that is recorded, on each of its hosts: its rings are emptied
//! into files there, and what these files grow by goes to the launcher.
//!
//! Programs know one name for the directory of their rings, for that where their interposer meets its
//! collector, for that of what they access, and for the file that says what is to be noted of
//! their loops, which have to be the same on all hosts, byte for byte; agents of one machine must
//! not share them. So they are those of inherited descriptors.

use crate::host;
use crate::launch;
use crate::paging::{self, Session};
use crate::recording::drain::{self, Drain, Drained};
use fathomp_hosts::{Begun, Job, Sidecar, Tell};
use fathomp_trace::live;
use fathomp_trace::model::Machine;
use nix::sys::resource::Resource;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt::Display;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tempfile::TempDir;

/// The descriptor of the directory of rings, and its name in programs.
const RINGS_DESCRIPTOR: i32 = 201;
pub(super) const RINGS: &str = "/proc/self/fd/201";
/// The same of the plan of what is noted.
const PLAN_DESCRIPTOR: i32 = 202;
pub(super) const PLAN: &str = "/proc/self/fd/202";
/// The same of the directory where interposers and their collector meet.
const INTERPOSERS_DESCRIPTOR: i32 = 203;
pub(super) const INTERPOSERS: &str = "/proc/self/fd/203";
/// The same of the directory where nodes write what they access.
const ACCESSES_DESCRIPTOR: i32 = 204;
pub(super) const ACCESSES: &str = "/proc/self/fd/204";

/// How often the launcher is told of what has come.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);
/// Most bytes told at once.
const PIECE: usize = 256 << 10;

/// What the launcher tells this part of its agents.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Asked {
    pub(super) limit_bytes: u64,
    pub(super) library: PathBuf,
    /// What the program's runtime notes of loops, as [`fathomp_trips::Plan`] has it.
    pub(super) plan: Option<Vec<u8>>,
    /// What to record of paging, if that is to be.
    pub(super) paging: Option<paging::Plan>,
    /// Whether nodes write what they access.
    pub(super) accesses: bool,
}

/// Files that grow while a program is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Kind {
    /// What a process's threads recorded.
    Regions,
    /// A stream of a recording of paging.
    Paging,
    /// What a node accessed.
    Accesses,
}

impl Kind {
    /// Where they are on a host.
    fn directory(self, spool: &Path) -> PathBuf {
        spool.join(match self {
            Self::Regions => "processes",
            Self::Paging => paging::DIRECTORY,
            Self::Accesses => "accesses",
        })
    }

    /// What a file there is called by to the launcher, if it is one of these.
    fn name(self, path: &Path) -> Option<&str> {
        let is = |extension: &str| path.extension().is_some_and(|its| its == extension);
        let stem = path.file_stem()?.to_str()?;
        match self {
            Self::Regions => Some(stem),
            Self::Paging => is(paging::EXTENSION).then_some(stem),
            Self::Accesses => is("part").then_some(stem)?.strip_prefix("accesses."),
        }
    }
}

/// What this part of an agent tells the launcher.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Told {
    /// A file has grown by these bytes.
    Grown {
        kind: Kind,
        /// Its name without the extension; of what a node accessed, the node's number.
        name: String,
        /// Where, from its begin.
        at: u64,
        bytes: Vec<u8>,
    },
    /// The circumstances of recording paging there, as JSON: when it begins, and when no more
    /// of it will come.
    Paging(Vec<u8>),
    /// There will be no more.
    End(End),
}

/// What an agent tells last.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct End {
    pub(super) machine: Box<Machine>,
    pub(super) records: u64,
    pub(super) runtimes: Vec<PathBuf>,
    pub(super) problems: Vec<String>,
}

/// Begins it, if the launcher asks for it.
pub(super) fn begin(job: &Job, tell: Tell) -> Begun {
    let asked = job.sidecar.as_ref().map_or(&[][..], |bytes| &bytes.0);
    let asked: Asked = serde_json::from_slice(asked)
        .map_err(|error| format!("its agent does not understand what to record: {error}"))?;
    let no_room = |error: std::io::Error| {
        format!(
            "there is no room for what is recorded in {}: {error}: free some, or set TMPDIR",
            std::env::temp_dir().display()
        )
    };
    launch::survive_file_limits();
    let spool = tempfile::Builder::new().prefix("fathomp-host-").tempdir();
    let spool = spool.map_err(no_room)?;
    let rings = live::create(spool.path()).map_err(no_room)?;
    let mut inherited = vec![inherit_directory(&rings, RINGS_DESCRIPTOR)?];
    if let Some(plan) = &asked.plan {
        inherited.push(inherit(&in_memory(plan)?, PLAN_DESCRIPTOR)?);
    }
    let mut session = None;
    if let Some(plan) = &asked.paging {
        let begun = Session::begin(plan, spool.path(), asked.limit_bytes);
        let begun = begun.map_err(|error| error.to_string())?;
        inherited.push(inherit_directory(&begun.live(), INTERPOSERS_DESCRIPTOR)?);
        say_circumstances(&tell, begun.circumstances());
        session = Some(begun);
    }
    if asked.accesses {
        let directory = Kind::Accesses.directory(spool.path());
        std::fs::create_dir(&directory).map_err(no_room)?;
        inherited.push(inherit_directory(&directory, ACCESSES_DESCRIPTOR)?);
    }
    let drain = drain::start(drain::Job {
        live: rings.clone(),
        recording: spool.path().to_owned(),
        limit_bytes: asked.limit_bytes,
        pid: std::process::id(),
        library: asked.library,
    });
    let drain = drain.map_err(|error| error.to_string())?;
    let (ends, ended) = mpsc::channel();
    let work = Work {
        spool,
        rings,
        drain,
        tell,
        sent: HashMap::new(),
        _inherited: inherited,
    };
    let thread = thread::Builder::new().name("records".to_owned());
    let thread = thread.spawn(move || work.until(&ended));
    let thread = thread.map_err(|error| format!("nothing can be recorded: {error}"))?;
    Ok(Box::new(Records {
        session: session.map(|session| (session, file_bytes_max(job))),
        ends,
        thread,
    }))
}

/// The most bytes that a file of the program may have.
fn file_bytes_max(job: &Job) -> u64 {
    let is_of_files = |number: u8| i64::from(number) == Resource::RLIMIT_FSIZE as i64;
    let mut limits = job.limits.iter();
    let limit = limits.find(|(number, _)| is_of_files(*number));
    limit.and_then(|(_, limit)| *limit).unwrap_or(u64::MAX)
}

/// A recording of paging, of a program whose files may have so many bytes.
type Paged = (Session, u64);

/// What is recorded beside a program.
struct Records {
    session: Option<Paged>,
    /// Told when the program has ended.
    ends: Sender<Option<Paged>>,
    thread: JoinHandle<()>,
}

impl Sidecar for Records {
    fn watch(&mut self, starts: u32) {
        if let Some((session, _)) = &mut self.session {
            session.watch(starts);
        }
    }

    fn end(self: Box<Self>) {
        // What the thread could not do it has told.
        let _ = self.ends.send(self.session);
        let _ = self.thread.join();
    }
}

/// A file of these bytes that has no name.
fn in_memory(bytes: &[u8]) -> Result<File, String> {
    let made = memfd_create("fathomp-plan", MemfdFlags::CLOEXEC).map_err(std::io::Error::from);
    let filled = made.and_then(|file| {
        let mut file = File::from(file);
        file.write_all(bytes)?;
        Ok(file)
    });
    filled.map_err(|error| taken(PLAN_DESCRIPTOR, &error))
}

/// Has programs that are started from here find what is opened under this number.
fn inherit(opened: &File, number: i32) -> Result<OwnedFd, String> {
    let placed = fcntl_dupfd_cloexec(opened, number).map_err(|error| taken(number, &error))?;
    if placed.as_raw_fd() != number {
        return Err(taken(number, &"it is taken"));
    }
    fcntl_setfd(&placed, FdFlags::empty()).map_err(|error| taken(number, &error))?;
    Ok(placed)
}

/// The same of a directory.
fn inherit_directory(directory: &Path, number: i32) -> Result<OwnedFd, String> {
    let opened = File::open(directory).map_err(|error| taken(number, &error))?;
    inherit(&opened, number)
}

fn taken(number: i32, why: &dyn Display) -> String {
    format!("descriptor {number} cannot be had for recording: {why}")
}

struct Work {
    spool: TempDir,
    rings: PathBuf,
    drain: Drain,
    tell: Tell,
    /// How much of each file has been told.
    sent: HashMap<PathBuf, u64>,
    _inherited: Vec<OwnedFd>,
}

impl Work {
    /// Tells what comes until the program has `ended`, and then the rest.
    fn until(mut self, ended: &Receiver<Option<Paged>>) {
        let session = loop {
            match ended.recv_timeout(REPORT_INTERVAL) {
                Err(RecvTimeoutError::Timeout) => {
                    pass_on(self.spool.path(), &mut self.sent, &self.tell);
                }
                Ok(session) => break session,
                Err(RecvTimeoutError::Disconnected) => break None,
            }
        };
        let paging = session.map(|(session, most)| session.finish_part(most));
        let Drained {
            records,
            runtimes,
            mut problems,
            // Processes tell themselves whether they found the recorder.
            processes: _,
            // Other runtimes are watched on one machine only.
            observed: _,
        } = self.drain.finish();
        pass_on(self.spool.path(), &mut self.sent, &self.tell);
        match paging {
            None => {}
            Some(Ok(circumstances)) => say_circumstances(&self.tell, &circumstances),
            Some(Err(error)) => problems.push(format!("{error}.")),
        }
        // What is left there was not understood, and was told.
        let _ = live::remove(&self.rings);
        let end = End {
            machine: Box::new(host::machine()),
            records,
            runtimes: runtimes.into_iter().collect(),
            problems,
        };
        say(&self.tell, &Told::End(end));
    }
}

/// Tells what files have grown by.
fn pass_on(spool: &Path, sent: &mut HashMap<PathBuf, u64>, tell: &Tell) {
    for kind in [Kind::Regions, Kind::Paging, Kind::Accesses] {
        let Ok(entries) = std::fs::read_dir(kind.directory(spool)) else {
            continue;
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            if let Some(name) = kind.name(&path) {
                let at = sent.entry(path.clone()).or_default();
                pass_file_on(&path, at, |at, bytes| {
                    let name = name.to_owned();
                    let grown = Told::Grown {
                        kind,
                        name,
                        at,
                        bytes,
                    };
                    say(tell, &grown);
                });
            }
        }
    }
}

/// The same of one, from `at` on.
fn pass_file_on(path: &Path, at: &mut u64, tell: impl Fn(u64, Vec<u8>)) {
    let Ok(mut file) = File::open(path) else {
        return;
    };
    if file.seek(SeekFrom::Start(*at)).is_err() {
        return;
    }
    loop {
        let mut bytes = Vec::new();
        let read = (&mut file).take(PIECE as u64).read_to_end(&mut bytes);
        if read.is_err() || bytes.is_empty() {
            return;
        }
        let length = bytes.len() as u64;
        tell(*at, bytes);
        *at += length;
    }
}

fn say_circumstances(tell: &Tell, circumstances: &impl Serialize) {
    // Numbers and words can always be written so.
    if let Ok(json) = serde_json::to_vec(circumstances) {
        say(tell, &Told::Paging(json));
    }
}

fn say(tell: &Tell, told: &Told) {
    // Numbers and bytes can always be written so.
    if let Ok(bytes) = postcard::to_allocvec(told) {
        tell(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn files_that_grow_are_told_of_once() {
        let spool = tempfile::tempdir().unwrap();
        let write = |path: &str, bytes: &str| {
            let path = spool.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        };
        let heard = Arc::new(Mutex::new(Vec::<Told>::new()));
        let hears = heard.clone();
        let tell: Tell = Box::new(move |bytes| {
            hears
                .lock()
                .unwrap()
                .push(postcard::from_bytes(&bytes).unwrap());
        });
        let grown = |kind, name: &str, at, bytes: &str| Told::Grown {
            kind,
            name: name.to_owned(),
            at,
            bytes: bytes.into(),
        };
        let mut sent = HashMap::new();
        let mut told = || {
            pass_on(spool.path(), &mut sent, &tell);
            std::mem::take(&mut *heard.lock().unwrap())
        };
        assert!(told().is_empty());
        write("processes/1-a.fthr", "one");
        write("paging/1-b.2.fthp", "three");
        // Neither the circumstances nor what keeps room for the end grows.
        write("paging/meta.json", "{}");
        write("paging/reserve", "xxx");
        write("accesses/accesses.12.part", "seven");
        write("accesses/other.part", "no");
        assert_eq!(
            told(),
            [
                grown(Kind::Regions, "1-a", 0, "one"),
                grown(Kind::Paging, "1-b.2", 0, "three"),
                grown(Kind::Accesses, "12", 0, "seven"),
            ]
        );
        write("paging/1-b.2.fthp", "three four");
        assert_eq!(told(), [grown(Kind::Paging, "1-b.2", 5, " four")]);
        assert!(told().is_empty());
    }
}
