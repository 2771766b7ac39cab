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

use crate::foreign_recorder::ForeignRecorder;
use crate::live::EXTENSION;
use crate::stream;
use fathomp_ring::drain::{LiveDirectory, Reserve, note};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often to empty rings that are hardly filled.
const EMPTY_EVERY: Duration = Duration::from_secs(1);
/// How often to write sums, at first.
const SUMS_EVERY: Duration = Duration::from_secs(1);
/// Kept free by a file of this size, for the end of a recording on a full disk.
const RESERVE_BYTES: usize = 256 << 10;

/// Moves records from a live directory to a recording.
#[derive(Debug)]
pub struct Drainer {
    live: LiveDirectory,
    processes: PathBuf,
    reserve: Reserve,
    budget: Budget,
    streams: Vec<Stream>,
    /// When rings were last emptied that were hardly filled.
    emptied: Instant,
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
    pub foreign_recorder: Option<ForeignRecorder>,
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
        let now = Instant::now();
        Ok(Self {
            live: LiveDirectory::new(live, EXTENSION),
            processes,
            reserve: Reserve::keep(recording, RESERVE_BYTES),
            budget: Budget::new(limits),
            streams: Vec::new(),
            emptied: now,
            sums_due: now + SUMS_EVERY,
            summing: None,
            summary: Summary::default(),
        })
    }

    /// Looks once for new processes and new records. [Wait](Self::wait) before the next call.
    ///
    /// # Errors
    /// If the live directory cannot be read. The drainer can still be used.
    pub fn poll(&mut self) -> Result<Progress, DrainError> {
        let scanned = self.scan(false);
        let now = Instant::now();
        let all = now.duration_since(self.emptied) >= EMPTY_EVERY;
        if all {
            self.emptied = now;
        }
        for stream in &mut self.streams {
            self.summary.bytes += stream.drain(&mut self.budget, all);
        }
        if self.live.is_check_due(self.streams.len()) {
            self.retire();
        }
        if now >= self.sums_due {
            self.write_sums(now);
        }
        scanned?;
        Ok(Progress {
            processes: self.live.seen(),
            running: self.streams.len() as u64,
            records: self.records(),
            bytes: self.summary.bytes,
        })
    }

    /// Sleeps until a ring is half full, a process begins or ends, somebody else
    /// [rings](fathomp_ring::bell::Bell), or `longest` has passed.
    pub fn wait(&mut self, longest: Duration) {
        let files = self.streams.iter().map(|stream| &**stream.source());
        let _nothing = self.live.sleep(files, &[], longest);
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
        self.reserve.give_up();
        scanned?;
        self.summary.processes = self.live.seen();
        Ok(self.summary)
    }

    fn records(&self) -> u64 {
        let current: u64 = self.streams.iter().map(Stream::records).sum();
        self.summary.records + current
    }

    /// Looks for ring files of new processes.
    fn scan(&mut self, now: bool) -> Result<(), DrainError> {
        let arrivals = self.live.arrivals(now);
        let names = arrivals.map_err(|source| DrainError::Live {
            path: self.live.path().to_owned(),
            source,
        })?;
        names.iter().for_each(|name| self.take_up(name));
        Ok(())
    }

    /// Begins the stream of a new process.
    fn take_up(&mut self, name: &OsString) {
        let path = self.live.path().join(name);
        let source = match Source::open(&path) {
            Ok(source) => source,
            Err(error) => {
                let name = name.to_string_lossy();
                note(
                    &mut self.summary.problems,
                    format!("The records in {name} were not taken: {error}."),
                );
                return;
            }
        };
        let pid = source.pid();
        let target = self.processes.join(name).with_extension(stream::EXTENSION);
        let begun = Output::create(&target)
            .or_else(|_| {
                // One more try with the room kept for the end.
                self.reserve.give_up();
                let _ = std::fs::remove_file(&target);
                Output::create(&target)
            })
            .and_then(|output| Stream::begin(source, output));
        match begun {
            Ok(stream) => self.streams.push(stream),
            Err(error) => note(
                &mut self.summary.problems,
                format!(
                    "Process {pid} was not recorded because {} could not be written: {error}.",
                    target.display()
                ),
            ),
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
        if !running && stream.source().held().is_some() {
            // Its end has woken us.
            stream.alive();
        }
        stream.close(&mut self.budget, running);
        if stream.failure().is_some() {
            self.reserve.give_up();
        }
        let sealed = stream.seal(&mut self.budget, running).or_else(|_| {
            self.reserve.give_up();
            stream.seal(&mut self.budget, running)
        });
        let pid = stream.source().pid();
        if let Err(error) = sealed {
            note(
                &mut self.summary.problems,
                format!(
                    "The end of the recording of process {pid} could not be written: {error}. \
                 Free some space and record again."
                ),
            );
        } else if let Some(error) = stream.failure() {
            note(
                &mut self.summary.problems,
                format!(
                    "Part of the recording of process {pid} could not be written: {error}. Totals \
                 are complete, single executions and details are missing."
                ),
            );
        }
        self.summary.records += stream.records();
        let note = stream.source().process();
        self.summary.observed.push(Observed {
            runtime: note.runtime,
            foreign_recorder: note.foreign_recorder,
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
}
