//! The drainer: moves what programs record from their rings to the recording,
//! from another process, so that a program never waits for a disk.

mod budget;
mod merge;
mod output;
mod process;
mod source;

pub(crate) use budget::Budget;
pub use budget::Limits;
pub(crate) use output::Output;
pub(crate) use process::{Slot, Stream};
pub(crate) use source::Source;

use crate::live::EXTENSION;
use crate::stream;
use crate::witness::Witness;
use fathomp_ring::file;
use fathomp_sys::shm;
use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often to see whether processes are alive.
const CHECK_EVERY: Duration = Duration::from_millis(20);
/// How often to look for new processes even if the directory seems unchanged.
const SCAN_EVERY: Duration = Duration::from_millis(100);
/// How often to write sums, at first.
const SUMS_EVERY: Duration = Duration::from_secs(1);
/// Kept free by a file of this size, for the end of a recording on a full disk.
const RESERVE_BYTES: usize = 256 << 10;

/// Moves records from a live directory to a recording.
#[derive(Debug)]
pub struct Drainer {
    live: PathBuf,
    processes: PathBuf,
    reserve: PathBuf,
    reserved: bool,
    budget: Budget,
    streams: Vec<Stream>,
    known: HashSet<OsString>,
    scanned: Option<Instant>,
    checked: Instant,
    sums_due: Instant,
    /// When executions began to be summed.
    summing: Option<Instant>,
    summary: Summary,
}

/// What polling once came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Processes seen so far that use OpenMP.
    pub processes: u64,
    /// Of these, processes not known to have ended.
    pub running: u64,
    /// Records taken so far.
    pub records: u64,
    /// Bytes written so far.
    pub bytes: u64,
    /// When to poll again.
    pub pause: Duration,
}

/// What a recording came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Processes that used OpenMP.
    pub processes: u64,
    /// Records taken.
    pub records: u64,
    /// Bytes written.
    pub bytes: u64,
    /// The runtimes that processes used.
    pub observed: Vec<Observed>,
    /// What went wrong, each as one sentence for the user.
    pub problems: Vec<String>,
}

/// The OpenMP runtime that a process used.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// Name and version.
    pub runtime: String,
    /// What the recorder says of itself, if it is not part of the runtime.
    pub witness: Option<Witness>,
}

/// Why a live directory cannot be drained.
#[derive(Debug, thiserror::Error)]
pub enum DrainError {
    /// The recording's directory of streams could not be made.
    #[error("cannot make {path}: {source}; check the space and the permissions there")]
    Recording {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The live directory could not be read.
    #[error("cannot look for running programs in {path}: {source}; record again")]
    Live {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Drainer {
    /// A drainer from the live directory to the recording.
    ///
    /// # Errors
    /// If the recording cannot be written to.
    pub fn new(live: &Path, recording: &Path, limits: Limits) -> Result<Self, DrainError> {
        let processes = recording.join("processes");
        std::fs::create_dir_all(&processes).map_err(|source| DrainError::Recording {
            path: processes.clone(),
            source,
        })?;
        let reserve = recording.join("reserve");
        // Where it does not fit, trying would leave the program's own files no room meanwhile.
        let fits = shm::free_bytes(recording).is_ok_and(|free| free >= RESERVE_BYTES as u64);
        let reserved = fits && std::fs::write(&reserve, vec![0; RESERVE_BYTES]).is_ok();
        if !reserved {
            // What found room of it would only take that from the streams.
            let _ = std::fs::remove_file(&reserve);
        }
        let now = Instant::now();
        Ok(Self {
            live: live.to_owned(),
            processes,
            reserved,
            reserve,
            budget: Budget::new(limits),
            streams: Vec::new(),
            known: HashSet::new(),
            scanned: None,
            checked: now,
            sums_due: now + SUMS_EVERY,
            summing: None,
            summary: Summary::default(),
        })
    }

    /// Looks once for new processes and new records. Wait for
    /// [`Progress::pause`] before the next call, or [until called](Self::wait).
    ///
    /// # Errors
    /// If the live directory cannot be read. The drainer can still be used.
    pub fn poll(&mut self) -> Result<Progress, DrainError> {
        let scanned = self.scan(false);
        let now = Instant::now();
        let mut fullest = 0.0_f64;
        for stream in &mut self.streams {
            let drained = stream.drain(&mut self.budget, false);
            fullest = fullest.max(drained.fullest);
            self.summary.bytes += drained.bytes;
        }
        if now.duration_since(self.checked) >= CHECK_EVERY {
            self.checked = now;
            self.retire();
        }
        if now >= self.sums_due {
            self.write_sums(now);
        }
        scanned?;
        Ok(Progress {
            processes: self.known.len() as u64,
            running: self.streams.len() as u64,
            records: self.records(),
            bytes: self.summary.bytes,
            pause: process::pause_after(fullest),
        })
    }

    /// Sleeps until records have to be taken, if that can be told: a single process calls when a
    /// ring is half full and when it ends. A look now and then costs a busy machine more than it
    /// takes, as a thread that lost its processor for it keeps all others waiting at a barrier.
    ///
    /// Sleeps no longer than `longest`. Says whether it slept; otherwise wait for
    /// [`Progress::pause`].
    pub fn wait(&self, longest: Duration) -> bool {
        match &self.streams[..] {
            [only] => only.source().wait(longest),
            _ => false,
        }
    }

    /// Takes everything that is there and completes all streams. Processes
    /// that are still running are recorded up to now.
    ///
    /// # Errors
    /// If the live directory cannot be read.
    pub fn finish(mut self) -> Result<Summary, DrainError> {
        let scanned = self.scan(true);
        for stream in std::mem::take(&mut self.streams) {
            let running = !stream.source().has_ended();
            self.complete(stream, running);
        }
        self.give_reserve_up();
        scanned?;
        self.summary.processes = self.known.len() as u64;
        Ok(self.summary)
    }

    fn records(&self) -> u64 {
        let current: u64 = self.streams.iter().map(Stream::records).sum();
        self.summary.records + current
    }

    /// Looks for ring files of new processes.
    fn scan(&mut self, now: bool) -> Result<(), DrainError> {
        let due = self.scanned.is_none_or(|at| at.elapsed() >= SCAN_EVERY);
        if !(now || due || self.streams.is_empty()) {
            return Ok(());
        }
        self.scanned = Some(Instant::now());
        let error = |source| DrainError::Live {
            path: self.live.clone(),
            source,
        };
        let names = file::unknown(&self.live, EXTENSION, &self.known).map_err(error)?;
        for name in names {
            self.take_up(&name);
            self.known.insert(name);
        }
        Ok(())
    }

    /// Begins the stream of a new process.
    fn take_up(&mut self, name: &OsString) {
        let path = self.live.join(name);
        let source = match Source::open(&path) {
            Ok(source) => source,
            Err(error) => {
                let name = name.to_string_lossy();
                self.note(format!("The records in {name} were not taken: {error}."));
                return;
            }
        };
        let pid = source.pid();
        let target = self.processes.join(name).with_extension(stream::EXTENSION);
        let begun = Output::create(&target)
            .or_else(|_| {
                // One more try with the room kept for the end.
                self.give_reserve_up();
                let _ = std::fs::remove_file(&target);
                Output::create(&target)
            })
            .and_then(|output| Stream::begin(source, output));
        match begun {
            Ok(stream) => self.streams.push(stream),
            Err(error) => self.note(format!(
                "Process {pid} was not recorded because {} could not be written: {error}.",
                target.display()
            )),
        }
    }

    /// Completes the streams of processes that have ended.
    fn retire(&mut self) {
        let (ended, mut running): (Vec<_>, Vec<_>) = std::mem::take(&mut self.streams)
            .into_iter()
            .partition(|stream| stream.source().has_ended());
        running.iter_mut().for_each(|stream| stream.alive());
        self.streams = running;
        for stream in ended {
            self.complete(stream, false);
        }
    }

    fn complete(&mut self, mut stream: Stream, running: bool) {
        stream.close(&mut self.budget, running);
        if stream.failure().is_some() {
            self.give_reserve_up();
        }
        let sealed = stream.seal(&mut self.budget, running).or_else(|_| {
            self.give_reserve_up();
            stream.seal(&mut self.budget, running)
        });
        let pid = stream.source().pid();
        if let Err(error) = sealed {
            self.note(format!(
                "The end of the recording of process {pid} could not be written: {error}. \
                 Free some space and record again."
            ));
        } else if let Some(error) = stream.failure() {
            self.note(format!(
                "Part of the recording of process {pid} could not be written: {error}. Totals \
                 are complete, single executions and details are missing."
            ));
        }
        self.summary.records += stream.records();
        let note = stream.source().process();
        self.summary.observed.push(Observed {
            runtime: note.runtime,
            witness: note.witness,
        });
        if !running {
            // What cannot be removed now goes with the live directory.
            let _ = std::fs::remove_file(stream.source().path());
        }
    }

    /// Writes the sums, ever less often so that they stay small: 5 % of the
    /// time they have been kept.
    fn write_sums(&mut self, now: Instant) {
        let mut any = false;
        for stream in &mut self.streams {
            if stream.has_sums() {
                any = true;
                self.summary.bytes += stream.write_sums(&mut self.budget);
            }
        }
        if any {
            self.summing.get_or_insert(now);
        }
        let kept = self.summing.map_or(Duration::ZERO, |since| now - since);
        self.sums_due = now + SUMS_EVERY.max(kept / 20);
    }

    /// Frees the room that was kept for the end.
    fn give_reserve_up(&mut self) {
        if std::mem::take(&mut self.reserved) {
            let _ = std::fs::remove_file(&self.reserve);
        }
    }

    fn note(&mut self, problem: String) {
        /// Sentences beyond this many help nobody.
        const ENOUGH: usize = 100;
        let problems = &mut self.summary.problems;
        if problems.len() < ENOUGH && !problems.contains(&problem) {
            problems.push(problem);
        }
    }
}
