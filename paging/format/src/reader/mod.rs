//! Reads a paging recording, however it ended.
//!
//! Whatever is damaged or missing costs as little as possible of the rest, and is
//! said in [`Recording::problems`]. No content makes the reader panic. Streams are
//! gone through once when a recording is opened, to find out what is where; their
//! contents are read when a task is visited, block by block.

mod adopt;
mod assemble;
mod gather;
mod join;
mod problems;
mod store;
mod time;
mod visit;

pub use problems::{VisitError, Visited};
pub use visit::View;

use crate::meta::{FORMAT, META, PagingMeta};
use crate::stream::{EXTENSION, EndNote, Totals};
use crate::{Cause, CounterSet, Deviation, Ending, Part, Task, TaskId, TaskKind, deviations};
use assemble::Content;
use fathomp_types::Clock;
use gather::Gathered;
use problems::Problems;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use store::{Place, Store};

/// Why a recording cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is nothing there.
    #[error("{0} does not exist; record with `fathomp record --paging -o DIR -- PROGRAM`")]
    Missing(PathBuf),
    /// It is something else.
    #[error(
        "{0} holds no paging recording; record with `fathomp record --paging -o DIR -- PROGRAM` \
         and name DIR"
    )]
    NotARecording(PathBuf),
    /// It was made by a later version.
    #[error(
        "{path} has format {found}, this fathomp reads up to {FORMAT}; use the fathomp that made it"
    )]
    Version {
        /// The recording.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// The system refused.
    #[error("cannot read {path}: {source}; check the permissions there")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A paging recording.
#[derive(Debug)]
pub struct Recording {
    meta: PagingMeta,
    processes: Vec<Process>,
    tasks: Vec<Task>,
    contents: Vec<Content>,
    names: Vec<String>,
    problems: Vec<String>,
    streams: Vec<Store>,
}

/// A process of a recording: a program's stay in it. One that became another
/// program by `exec` is two.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Number of the process that forked it; 0 if not known.
    pub parent: u32,
    /// Name of its program.
    pub program: String,
    /// Name of its host.
    pub host: String,
    /// What its ticks mean; as in the recording of regions, if there is one.
    pub clock: Clock,
    /// What to add to times of `clock` to get the recording's, in nanoseconds.
    pub offset_ns: i64,
    /// How far off that may be, if it was measured.
    pub offset_error_ns: Option<u64>,
    /// When it began: nanoseconds of the recording's clock.
    pub begin: u64,
    /// When its record ends.
    pub end: u64,
    /// How.
    pub ending: Ending,
    /// I/O calls that the interposer saw.
    pub io_calls_seen: Option<u64>,
    /// I/O calls that the kernel counted.
    pub io_calls_made: Option<u64>,
    /// Counters that its intervals count exactly.
    pub exact: CounterSet,
}

impl Recording {
    /// Opens the recording in `directory`: that of the paging recording itself, or
    /// the whole recording's, which holds it as `paging`.
    ///
    /// # Errors
    /// If there is none, or it is of a later version, or the system refuses.
    pub fn open(directory: &Path) -> Result<Self, OpenError> {
        let inner = directory.join(crate::meta::DIRECTORY);
        let directory = if inner.is_dir() { &inner } else { directory };
        let streams = streams(directory)?;
        let path = directory.join(META);
        let meta = match std::fs::read(&path) {
            Ok(json) => Some(json),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(OpenError::Unreadable { path, source }),
        };
        Self::assemble(directory, meta.as_deref(), streams)
    }

    /// Makes a recording of `meta.json` and the bytes of streams with their names.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_bytes(
        meta: Option<&[u8]>,
        streams: impl IntoIterator<Item = (String, Vec<u8>)>,
    ) -> Result<Self, OpenError> {
        let streams = streams.into_iter().map(|(name, bytes)| Store {
            name,
            place: Place::Memory(bytes),
        });
        Self::assemble(Path::new("memory"), meta, streams.collect())
    }

    fn assemble(
        directory: &Path,
        meta: Option<&[u8]>,
        streams: Vec<Store>,
    ) -> Result<Self, OpenError> {
        let mut found = Problems::default();
        let meta = circumstances(directory, meta, !streams.is_empty(), &mut found)?;
        let mut processes = BTreeMap::<String, Gathered>::new();
        for (number, store) in streams.iter().enumerate() {
            // PID-BEGIN.fthp, PID-BEGIN.PART.fthp
            let stem = Path::new(&store.name).file_name().unwrap_or_default();
            let stem = stem.to_string_lossy();
            let stem = stem.split('.').next().unwrap_or_default();
            let gathered = processes.entry(stem.to_owned()).or_default();
            gathered
                .stream(number as u32, store, &mut found)
                .map_err(|source| OpenError::Unreadable {
                    path: PathBuf::from(&store.name),
                    source,
                })?;
        }
        let assembled = assemble::assemble(&meta, processes, &mut found);
        let mut problems = meta.problems.clone();
        problems.extend(found.sentences());
        Ok(Self {
            meta,
            processes: assembled.processes,
            tasks: assembled.tasks,
            contents: assembled.contents,
            names: assembled.names,
            problems,
            streams,
        })
    }

    /// The circumstances of the run.
    #[must_use]
    pub fn meta(&self) -> &PagingMeta {
        &self.meta
    }

    /// The processes, in the order of their begins.
    #[must_use]
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// The tasks, each at the place of its number: those of a process stand
    /// together, in the order in which it numbered them.
    #[must_use]
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// The process that a task belongs to.
    #[must_use]
    pub fn process_of(&self, task: TaskId) -> Option<&Process> {
        self.processes.get(self.content(task)?.process)
    }

    /// Whether the task's intervals were recorded.
    #[must_use]
    pub fn is_selected(&self, task: TaskId) -> bool {
        self.content(task).is_some_and(|content| content.selected)
    }

    /// All that happened to a task, recorded or not, if its process ended in a
    /// way that could be seen. Its ticks are those of the process's clock.
    #[must_use]
    pub fn totals(&self, task: TaskId) -> Option<&Totals> {
        self.content(task)?.totals.as_ref()
    }

    /// How much of a task there is, and what of it is not.
    #[must_use]
    pub fn end_note(&self, task: TaskId) -> Option<EndNote> {
        Some(self.content(task)?.end)
    }

    /// Names of calls and constructs, by the number of their [`Cause`]; of marks,
    /// too. The first is empty.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The name of a cause; empty for none.
    #[must_use]
    pub fn name(&self, cause: Cause) -> &str {
        self.names.get(cause.0 as usize).map_or("", String::as_str)
    }

    /// What is wrong with the recording, in sentences.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// How many of how many threads were recorded.
    #[must_use]
    pub fn part(&self) -> Option<Part> {
        let of_files = || {
            let recorded = self.threads().filter(|content| content.selected);
            Part::new(recorded.count() as u64, self.threads().count() as u64)
        };
        self.meta.part.or_else(of_files)
    }

    /// How far the recorded threads are from all threads, by the totals of those of
    /// which they are known. Nothing if all were recorded.
    #[must_use]
    pub fn deviations(&self) -> Vec<Deviation> {
        let totals = self.threads().filter_map(|content| {
            let totals = content.totals.as_ref()?;
            Some((content.selected, totals.counts))
        });
        deviations(&totals.collect::<Vec<_>>())
    }

    /// The threads' contents; machines and processes as a whole are none.
    fn threads(&self) -> impl Iterator<Item = &Content> {
        let both = self.tasks.iter().zip(&self.contents);
        both.filter(|(task, _)| task.kind == TaskKind::Thread)
            .map(|(_, content)| content)
    }

    /// I/O calls that were seen and that were made, by the processes that know
    /// both.
    #[must_use]
    pub fn io_calls(&self) -> (u64, u64) {
        let both = self.processes.iter().filter_map(|process| {
            let made = process.io_calls_made?;
            Some((process.io_calls_seen?.min(made), made))
        });
        both.fold((0, 0), |sum: (u64, u64), (seen, made)| {
            (sum.0.saturating_add(seen), sum.1.saturating_add(made))
        })
    }

    fn content(&self, task: TaskId) -> Option<&Content> {
        self.contents.get(task.0 as usize)
    }
}

/// The circumstances. If they are lost but there are streams, those are still
/// worth reading.
fn circumstances(
    directory: &Path,
    json: Option<&[u8]>,
    has_streams: bool,
    found: &mut Problems,
) -> Result<PagingMeta, OpenError> {
    let mut lost = |why: String| {
        if !has_streams {
            return Err(OpenError::NotARecording(directory.to_owned()));
        }
        found.say(format!(
            "{} {why}, so the circumstances of the run are unknown.",
            directory.join(META).display()
        ));
        Ok(PagingMeta::default())
    };
    let Some(json) = json else {
        return lost("is missing".to_owned());
    };
    let object: Map<String, Value> = match serde_json::from_slice(json) {
        Ok(object) => object,
        Err(error) => return lost(format!("is damaged ({error})")),
    };
    match object.get("format").and_then(Value::as_u64) {
        None | Some(0) => lost("does not name its format".to_owned()),
        Some(found) if found > u64::from(FORMAT) => Err(OpenError::Version {
            path: directory.to_owned(),
            found: u32::try_from(found).unwrap_or(u32::MAX),
        }),
        // The recording of regions has a file of that name, too.
        Some(_) if !has_streams && !object.contains_key("writer") => {
            lost("is of something else".to_owned())
        }
        Some(_) => match serde_json::from_value(Value::Object(object)) {
            Ok(meta) => Ok(meta),
            Err(error) => lost(format!("is damaged ({error})")),
        },
    }
}

/// The streams in a directory, in the order of their names.
fn streams(directory: &Path) -> Result<Vec<Store>, OpenError> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => {
            let path = directory.to_owned();
            return Err(match error.kind() {
                io::ErrorKind::NotFound => OpenError::Missing(path),
                io::ErrorKind::NotADirectory => OpenError::NotARecording(path),
                _ => OpenError::Unreadable {
                    path,
                    source: error,
                },
            });
        }
    };
    let mut streams = Vec::new();
    for entry in entries {
        let path = match entry {
            Ok(entry) => entry.path(),
            Err(source) => {
                return Err(OpenError::Unreadable {
                    path: directory.to_owned(),
                    source,
                });
            }
        };
        let is_stream = path
            .extension()
            .is_some_and(|extension| extension == EXTENSION);
        if is_stream && path.is_file() {
            streams.push(Store {
                name: path.display().to_string(),
                place: Place::File(path),
            });
        }
    }
    streams.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(streams)
}
