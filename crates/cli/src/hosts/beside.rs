//! What is done beside a program that is recorded, on each of its hosts: its rings are emptied
//! into files there, and what these files grow by goes to the launcher.
//!
//! Programs know one name for the directory of their rings, and for the file that says what is
//! to be noted of their loops, which have to be the same on all hosts, byte for byte; agents of
//! one machine must not share them. So they are those of inherited descriptors.

use crate::host;
use crate::recording::drain::{self, Drain, Drained};
use fathomp_hosts::{Beside, Job, Tell};
use fathomp_trace::live;
use fathomp_trace::model::Machine;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt::Display;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// The descriptor of the directory of rings, and its name in programs.
const RINGS_DESCRIPTOR: i32 = 201;
pub(super) const RINGS: &str = "/proc/self/fd/201";
/// The same of the plan of what is noted.
const PLAN_DESCRIPTOR: i32 = 202;
pub(super) const PLAN: &str = "/proc/self/fd/202";

/// How often the launcher is told of what has come.
const EVERY: Duration = Duration::from_millis(100);
/// Most bytes told at once.
const PIECE: usize = 256 << 10;

/// What the launcher tells this part of its agents.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Asked {
    pub(super) limit_bytes: u64,
    pub(super) library: PathBuf,
    /// What the program's runtime notes of loops, as [`fathomp_trips::Plan`] has it.
    pub(super) plan: Option<Vec<u8>>,
}

/// What this part of an agent tells the launcher.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Told {
    /// A stream has grown by these bytes.
    Grown {
        /// Its name without the extension.
        name: String,
        /// Where, from its begin.
        at: u64,
        bytes: Vec<u8>,
    },
    /// There will be no more.
    End {
        machine: Box<Machine>,
        records: u64,
        processes: u64,
        runtimes: Vec<PathBuf>,
        problems: Vec<String>,
    },
}

/// Begins it, if the launcher asks for it.
pub(super) fn begin(job: &Job, tell: Tell) -> Result<Beside, String> {
    let asked = job.beside.as_ref().map_or(&[][..], |bytes| &bytes.0);
    let asked: Asked = serde_json::from_slice(asked)
        .map_err(|error| format!("its agent does not understand what to record: {error}"))?;
    let no_room = |error: std::io::Error| {
        format!(
            "there is no room for what is recorded in {}: {error}: free some, or set TMPDIR",
            std::env::temp_dir().display()
        )
    };
    let spool = tempfile::Builder::new().prefix("fathomp-host-").tempdir();
    let spool = spool.map_err(no_room)?;
    let rings = live::create(spool.path()).map_err(no_room)?;
    let opened = File::open(&rings).map_err(|error| taken(RINGS_DESCRIPTOR, &error))?;
    let mut inherited = vec![inherit(&opened, RINGS_DESCRIPTOR)?];
    if let Some(plan) = &asked.plan {
        inherited.push(inherit(&in_memory(plan)?, PLAN_DESCRIPTOR)?);
    }
    let drain = drain::start(drain::Job {
        live: rings.clone(),
        recording: spool.path().to_owned(),
        limit_bytes: asked.limit_bytes,
        pid: std::process::id(),
        library: asked.library,
    });
    let drain = drain.map_err(|error| error.to_string())?;
    let (open, closed) = mpsc::channel::<()>();
    let work = Work {
        spool,
        rings,
        drain,
        tell,
        sent: HashMap::new(),
        _inherited: inherited,
    };
    let thread = thread::Builder::new().name("records".to_owned());
    let thread = thread.spawn(move || work.until(&closed));
    let thread = thread.map_err(|error| format!("nothing can be recorded: {error}"))?;
    Ok(Box::new(move || {
        drop(open);
        // What it could not do it has told.
        let _ = thread.join();
    }))
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

fn taken(number: i32, why: &dyn Display) -> String {
    format!("descriptor {number} cannot be had for recording: {why}")
}

struct Work {
    spool: TempDir,
    rings: PathBuf,
    drain: Drain,
    tell: Tell,
    /// How much of each stream has been told.
    sent: HashMap<PathBuf, u64>,
    _inherited: Vec<OwnedFd>,
}

impl Work {
    /// Tells what comes until `closed`, and then the rest.
    fn until(mut self, closed: &mpsc::Receiver<()>) {
        while closed.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
            pass_on(self.spool.path(), &mut self.sent, &self.tell);
        }
        let Drained {
            records,
            processes,
            runtimes,
            problems,
            // Other runtimes are watched on one machine only.
            observed: _,
        } = self.drain.finish();
        pass_on(self.spool.path(), &mut self.sent, &self.tell);
        // What is left there was not understood, and was told.
        let _ = live::remove(&self.rings);
        let end = Told::End {
            machine: Box::new(host::machine()),
            records,
            processes,
            runtimes: runtimes.into_iter().collect(),
            problems,
        };
        say(&self.tell, &end);
    }
}

/// Tells what streams have grown by.
fn pass_on(spool: &Path, sent: &mut HashMap<PathBuf, u64>, tell: &Tell) {
    let Ok(entries) = std::fs::read_dir(spool.join("processes")) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else {
            continue;
        };
        let at = sent.entry(path.clone()).or_default();
        let Ok(mut file) = File::open(&path) else {
            continue;
        };
        if file.seek(SeekFrom::Start(*at)).is_err() {
            continue;
        }
        loop {
            let mut bytes = Vec::new();
            let read = (&mut file).take(PIECE as u64).read_to_end(&mut bytes);
            if read.is_err() || bytes.is_empty() {
                break;
            }
            let length = bytes.len() as u64;
            let name = name.to_owned();
            say(
                tell,
                &Told::Grown {
                    name,
                    at: *at,
                    bytes,
                },
            );
            *at += length;
        }
    }
}

fn say(tell: &Tell, told: &Told) {
    // Numbers and bytes can always be written so.
    if let Ok(bytes) = postcard::to_allocvec(told) {
        tell(bytes);
    }
}
