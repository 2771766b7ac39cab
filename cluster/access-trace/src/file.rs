//! Accesses as a file: JSON, a line for each thing. The first line says what it is
//! and which memory is shared; each thread begins with its number, then come its
//! sets of runs, numbered from 0, each before its first use, and its intervals.
//!
//! ```text
//! {"schema":"fathomp.accesses","version":1,"threads":2,"areas":[{"pages":64,"home":{"at":0}}]}
//! {"thread":0}
//! {"set":[{"r":[0,4]},{"w":[4,2,520]}]}
//! {"step":{"set":0,"work_ns":125000,"end":"barrier"}}
//! {"step":{"set":0,"work_ns":0,"end":"exit"}}
//! {"thread":1}
//! ...
//! ```
//!
//! `r` is the first page read and the number of pages, `w` the first page written,
//! the number of pages and the bytes of each page's diff. Pages of another size than that of
//! the machine's are so many `page_bytes` in the first line.

use crate::accesses::{Accesses, Run, Step, Thread};
use crate::check::AccessError;
use fathomp_protocols::{Access, Area, PageRange, Placement};
use fathomp_types::{NodeId, PageId};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

/// Name of the schema.
pub const SCHEMA: &str = "fathomp.accesses";
/// The version that is written and understood.
pub const VERSION: u32 = 1;

/// The file of accesses in a recording.
#[must_use]
pub fn of_recording(recording: &Path) -> PathBuf {
    recording.join("accesses.jsonl")
}

/// Accesses cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The medium fails, or it is no text.
    #[error("cannot read line {line}: {source}")]
    Io {
        /// Where, from 1.
        line: usize,
        /// Why.
        source: io::Error,
    },
    /// A line is no JSON, or no line of ours.
    #[error("line {line} makes no sense: {source}")]
    Line {
        /// Where, from 1.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
    /// It is something else.
    #[error("this is no file of accesses: it does not begin with the schema \"{SCHEMA}\"")]
    Schema,
    /// It is of another version.
    #[error(
        "these accesses have version {0}, and only version {VERSION} is understood: record them anew"
    )]
    Version(u64),
    /// A line stands in the wrong place.
    #[error("line {line}: {what}")]
    Place {
        /// Where, from 1.
        line: usize,
        /// Why.
        what: String,
    },
    /// Threads are missing.
    #[error("it ends before thread {thread} of {threads}: it is cut off")]
    Cut {
        /// The first thread that is missing.
        thread: usize,
        /// How many there should be.
        threads: usize,
    },
    /// They make no sense.
    #[error("no program has such accesses: {0}")]
    Access(#[from] AccessError),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    schema: String,
    version: u32,
    threads: usize,
    #[serde(default)]
    loads_acquire: bool,
    #[serde(default = "of_the_machine", skip_serializing_if = "is_of_the_machine")]
    page_bytes: u32,
    areas: Vec<AreaLine>,
}

fn of_the_machine() -> u32 {
    Accesses::PAGE_BYTES
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_of_the_machine(bytes: &u32) -> bool {
    *bytes == Accesses::PAGE_BYTES
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AreaLine {
    pages: u32,
    home: HomeLine,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HomeLine {
    Block,
    Cyclic(u32),
    At(u16),
    Pinned(u16),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Thread(usize),
    Set(Vec<RunLine>),
    Step(Step),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RunLine {
    R(u32, u32),
    W(u32, u32, u32),
}

impl From<&Area> for AreaLine {
    fn from(area: &Area) -> Self {
        Self {
            pages: area.pages,
            home: match area.home {
                Placement::Block => HomeLine::Block,
                Placement::Cyclic(pages) => HomeLine::Cyclic(pages),
                Placement::At(node) => HomeLine::At(node.0),
                Placement::Pinned(node) => HomeLine::Pinned(node.0),
            },
        }
    }
}

impl From<AreaLine> for Area {
    fn from(area: AreaLine) -> Self {
        Self {
            pages: area.pages,
            home: match area.home {
                HomeLine::Block => Placement::Block,
                HomeLine::Cyclic(pages) => Placement::Cyclic(pages),
                HomeLine::At(node) => Placement::At(NodeId(node)),
                HomeLine::Pinned(node) => Placement::Pinned(NodeId(node)),
            },
        }
    }
}

impl From<&Run> for RunLine {
    fn from(run: &Run) -> Self {
        let (first, pages) = (run.pages.first().0, run.pages.len());
        match run.access {
            Access::Read => Self::R(first, pages),
            Access::Write => Self::W(first, pages, run.diff_bytes),
        }
    }
}

impl RunLine {
    fn run(self) -> Option<Run> {
        let (access, first, pages, diff_bytes) = match self {
            Self::R(first, pages) => (Access::Read, first, pages, 0),
            Self::W(first, pages, bytes) => (Access::Write, first, pages, bytes),
        };
        Some(Run {
            access,
            pages: PageRange::new(PageId(first), pages)?,
            diff_bytes,
        })
    }
}

/// Writes accesses, a line after the other. Each thread's lines may be written by
/// themselves, to be put one behind the other later.
#[derive(Debug)]
pub struct Writer<W>(pub W);

impl<W: Write> Writer<W> {
    /// The first line, of accesses whose `threads` are so many and come next.
    ///
    /// # Errors
    /// If the medium fails, as everywhere here.
    pub fn header(&mut self, threads: usize, of: &Accesses) -> io::Result<()> {
        self.put(&Header {
            schema: SCHEMA.to_owned(),
            version: VERSION,
            threads,
            loads_acquire: of.loads_acquire,
            page_bytes: of.page_bytes,
            areas: of.areas.iter().map(AreaLine::from).collect(),
        })
    }

    /// The next thread begins.
    ///
    /// # Errors
    /// See [`Self::header`].
    pub fn thread(&mut self, number: usize) -> io::Result<()> {
        self.put(&Line::Thread(number))
    }

    /// The thread's next set.
    ///
    /// # Errors
    /// See [`Self::header`].
    pub fn set(&mut self, runs: &[Run]) -> io::Result<()> {
        self.put(&Line::Set(runs.iter().map(RunLine::from).collect()))
    }

    /// The thread's next interval.
    ///
    /// # Errors
    /// See [`Self::header`].
    pub fn step(&mut self, step: Step) -> io::Result<()> {
        self.put(&Line::Step(step))
    }

    fn put(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.0, line)?;
        self.0.write_all(b"\n")
    }
}

/// Writes accesses.
///
/// # Errors
/// If the medium fails.
pub fn write(accesses: &Accesses, out: impl Write) -> io::Result<()> {
    let mut out = Writer(out);
    out.header(accesses.threads.len(), accesses)?;
    for (number, thread) in accesses.threads.iter().enumerate() {
        out.thread(number)?;
        thread.sets.iter().try_for_each(|set| out.set(set))?;
        thread.steps.iter().try_for_each(|step| out.step(*step))?;
    }
    Ok(())
}

/// Reads accesses that can be replayed. Threads that waited for work when the first one ended end
/// where they began to wait.
///
/// # Errors
/// If they cannot be read, are cut off, or make no sense.
pub fn read(from: impl BufRead) -> Result<Accesses, ReadError> {
    let mut accesses = parse(from)?;
    accesses.check()?;
    accesses.end_at_last_wait();
    Ok(accesses)
}

/// Reads accesses of a program that ended in its midst: up to the last barrier that all
/// threads came to. Returns how many barriers there are.
///
/// # Errors
/// If they cannot be read, threads are missing, or they make no sense up to there.
pub fn read_cut(from: impl BufRead) -> Result<(Accesses, usize), ReadError> {
    let mut accesses = parse(from)?;
    let barriers = accesses.end_at_last_barrier();
    accesses.check()?;
    Ok((accesses, barriers))
}

fn parse(from: impl BufRead) -> Result<Accesses, ReadError> {
    let mut lines = (1..).zip(from.lines()).map(|(line, text)| match text {
        Ok(text) => Ok((line, text)),
        Err(source) => Err(ReadError::Io { line, source }),
    });
    let (_, first) = lines.next().transpose()?.ok_or(ReadError::Schema)?;
    let header = header(&first)?;
    let mut accesses = Accesses {
        page_bytes: header.page_bytes,
        areas: header.areas.into_iter().map(Area::from).collect(),
        loads_acquire: header.loads_acquire,
        threads: Vec::new(),
    };
    for found in lines {
        let (line, text) = found?;
        let parsed = serde_json::from_str(&text);
        let parsed = parsed.map_err(|source| ReadError::Line { line, source })?;
        take(&mut accesses.threads, parsed, header.threads)
            .map_err(|what| ReadError::Place { line, what })?;
    }
    if accesses.threads.len() < header.threads {
        return Err(ReadError::Cut {
            thread: accesses.threads.len(),
            threads: header.threads,
        });
    }
    Ok(accesses)
}

fn header(text: &str) -> Result<Header, ReadError> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|_| ReadError::Schema)?;
    if value.get("schema").and_then(|schema| schema.as_str()) != Some(SCHEMA) {
        return Err(ReadError::Schema);
    }
    match value.get("version").and_then(serde_json::Value::as_u64) {
        Some(version) if version != u64::from(VERSION) => Err(ReadError::Version(version)),
        _ => serde_json::from_value(value).map_err(|source| ReadError::Line { line: 1, source }),
    }
}

fn take(threads: &mut Vec<Thread>, line: Line, expected: usize) -> Result<(), String> {
    let number = threads.len();
    match (line, threads.last_mut()) {
        (Line::Thread(thread), _) if thread != number || number >= expected => Err(format!(
            "thread {thread} begins where thread {number} of {expected} should"
        )),
        (Line::Thread(_), _) => {
            threads.push(Thread::default());
            Ok(())
        }
        (_, None) => Err("it belongs to no thread".to_owned()),
        (Line::Set(runs), Some(thread)) => {
            let runs: Option<Vec<_>> = runs.into_iter().map(RunLine::run).collect();
            let runs = runs.ok_or("a run has no pages, or more than there can be")?;
            thread.sets.push(runs);
            Ok(())
        }
        (Line::Step(step), Some(thread)) => {
            thread.steps.push(step);
            Ok(())
        }
    }
}
