//! One recording of paging, from before the program starts to after it has ended.

use crate::collector::{Collector, CollectorError};
use crate::plan::{Plan, new_key};
use fathomp_console::args::SampleInterval;
use fathomp_paging::reader::{OpenError, Recording};
use fathomp_paging::setup::{Setup, SetupError, Writer};
use fathomp_paging::{DIRECTORY, MetaError, PagingMeta, TaskKind};
use fathomp_sys::{clock, shm};
use fathomp_trace::live;
use fathomp_types::Clock;
use fathomp_types::size::Size;
use fathomp_types::units::{duration, plural};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the length of a tick is measured; ten microseconds of error in a second.
const MEASURED: Duration = Duration::from_millis(2);

/// Size of the file that a process's records pass through, about.
const RINGS_BYTES: u64 = 132 << 20;
/// Room that a process with one thread needs there.
const ROOM_BYTES_MIN: u64 = 1 << 20;

/// Paging cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A directory cannot be made.
    #[error("cannot make {}: {source}; choose another place for the recording", path.display())]
    Directory {
        /// Where it was to be.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The kernel has no random numbers for keys.
    #[error("cannot get random numbers: {0}; is there a /dev/urandom?")]
    Random(io::Error),
    /// What programs are told cannot be written.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The collector cannot be used.
    #[error(transparent)]
    Collector(#[from] CollectorError),
    /// The circumstances cannot be written.
    #[error(transparent)]
    Meta(#[from] MetaError),
    /// What was recorded cannot be read.
    #[error("what was recorded of paging cannot be read: {0}")]
    Read(#[from] OpenError),
}

/// A recording of paging that is being made.
#[derive(Debug)]
pub struct Session {
    live: Live,
    streams: PathBuf,
    collector: Collector,
    writer: Writer,
    meta: PagingMeta,
}

/// The live directory, removed when dropped: all of value has been collected by then.
#[derive(Debug)]
struct Live(PathBuf);

impl Drop for Live {
    fn drop(&mut self) {
        let _ = live::remove(&self.0);
    }
}

/// A recording of paging that was made.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Tasks that it tells of.
    pub tasks: usize,
    /// Their processes.
    pub processes: usize,
    /// Where the recording is, if not here.
    pub elsewhere: Option<String>,
    /// I/O calls that were seen, of those that the kernel counted.
    pub io_calls: Option<(u64, u64)>,
    /// What should be known of it.
    pub problems: Vec<String>,
}

impl Session {
    /// Prepares everything but the program: the live directory and the collector.
    pub fn begin(plan: &Plan, recording: &Path, limit_bytes: u64) -> Result<Self, SessionError> {
        let directory = recording.join(DIRECTORY);
        let unusable = |path: &Path| {
            let path = path.to_owned();
            move |source| SessionError::Directory { path, source }
        };
        fs::create_dir_all(&directory).map_err(unusable(&directory))?;
        let streams = directory.canonicalize().map_err(unusable(&directory))?;
        let live = live::create(&streams)
            .map_err(unusable(&streams))
            .map(Live)?;
        let clock = clock();
        let setup = Setup {
            streams: streams.clone(),
            writer: made_absolute(&plan.writer)?,
            limit_bytes,
            clock: Some(clock),
            counters: match plan.selection.counters {
                Some(counters) => counters.iter().collect(),
                None => Vec::new(),
            },
            activities: plan.activities(),
            tasks: plan.selection.tasks.clone(),
            from_ns: plan.selection.from_ns,
            to_ns: plan.selection.to_ns,
            boot: fathomp_console::host::line("/proc/sys/kernel/random/boot_id")
                .unwrap_or_default(),
            key: match (&plan.writer, &plan.key) {
                (Writer::Remote(_), Some(key)) => key.clone(),
                _ => new_key().map_err(SessionError::Random)?,
            },
            ..Setup::default()
        };
        setup.write(&live.0)?;
        let meta = PagingMeta {
            started_unix_ns: clock.zero_unix_ns,
            clock: Some(clock),
            ..plan.circumstances(limit_bytes, vec![fathomp_console::host::machine().host])
        };
        // Before anything else is there: a recording that is cut off can be read, too.
        meta.write(&streams)?;
        let mut options = vec![format!("--limit-bytes={limit_bytes}")];
        options.extend(plan.sample.map(|one| match one.as_nanos() {
            0 => format!("--sample={}", SampleInterval::NEVER),
            ns => format!("--sample={ns}ns"),
        }));
        options.extend(plan.every_fault.then(|| "--every-fault".to_owned()));
        let collector = Collector::begin(&live.0, &options)?;
        Ok(Self {
            live,
            streams,
            collector,
            writer: plan.writer.clone(),
            meta,
        })
    }

    /// The live directory, which the program is to know.
    pub fn live(&self) -> PathBuf {
        self.live.0.clone()
    }

    /// Number of the collector's process.
    pub fn collector(&self) -> u32 {
        self.collector.process()
    }

    /// A process is about to become the program.
    pub fn watch(&mut self, process: u32) {
        self.collector.watch(process);
    }

    /// The circumstances, as far as they are known.
    pub fn circumstances(&self) -> &PagingMeta {
        &self.meta
    }

    /// The program has ended: collects what is left.
    pub fn finish(self, wall_ns: u64) -> Result<Recorded, SessionError> {
        let elsewhere = match &self.writer {
            Writer::Remote(address) => Some(address.clone()),
            _ => None,
        };
        let mut ended = self.end(Some(wall_ns))?;
        if elsewhere.is_some() {
            // What was seen from outside is here, but for the rest nothing is.
            ended.problems.extend(ended.meta.problems);
            return Ok(Recorded {
                processes: ended.processes,
                elsewhere,
                problems: ended.problems,
                ..Recorded::default()
            });
        }
        let recording = Recording::open(&ended.streams)?;
        let mut recorded = Recorded::of(&recording);
        recorded.problems.splice(0..0, ended.problems);
        let why = match recorded.tasks {
            0 => Some(nothing_recorded(
                [&ended.live.0, &ended.streams],
                shm::file_size_limit(),
            )),
            _ => nothing_chosen(&recording, wall_ns),
        };
        if let Some(why) = why {
            recorded.problems.push(why.clone());
            ended.meta.problems.push(why);
            ended.meta.write(&ended.streams)?;
        }
        Ok(recorded)
    }

    /// The same where streams are part of a recording that comes together elsewhere, of a program
    /// whose files may have so many bytes: the circumstances, with what should be known of them
    /// that streams do not tell.
    pub fn finish_part(self, most: u64) -> Result<PagingMeta, SessionError> {
        let mut ended = self.end(None)?;
        ended.meta.problems.extend(ended.problems);
        if Recorded::of(&Recording::open(&ended.streams)?).tasks == 0 {
            let why = nothing_recorded([&ended.live.0, &ended.streams], most);
            ended.meta.problems.push(why);
        }
        Ok(ended.meta)
    }

    /// Has the collector write what is left, and completes the circumstances.
    fn end(mut self, wall_ns: Option<u64>) -> Result<Ended, SessionError> {
        let finished = self.collector.finish();
        self.meta.problems = finished.problems;
        self.meta.wall_ns = wall_ns;
        if let (Some(clock), Some(measured)) = (&mut self.meta.clock, finished.nanos_per_tick) {
            clock.nanos_per_tick = measured;
        }
        self.meta.write(&self.streams)?;
        Ok(Ended {
            problems: self.collector.close(),
            processes: usize::try_from(finished.processes).unwrap_or(usize::MAX),
            live: self.live,
            streams: self.streams,
            meta: self.meta,
        })
    }
}

/// What there is when the collector has ended.
struct Ended {
    live: Live,
    streams: PathBuf,
    meta: PagingMeta,
    processes: usize,
    /// What should be known, beside what the circumstances say.
    problems: Vec<String>,
}

/// Why no thread of a program whose files may have so many bytes told anything, as far as that
/// shows from outside; `places`: where its records pass through, and where they go.
fn nothing_recorded(places: [&Path; 2], most: u64) -> String {
    if most < RINGS_BYTES {
        return format!(
            "Nothing was recorded of paging: no file may be larger than {} bytes here (ulimit -f), but what records pass through is a file of {}, mostly holes; raise that limit.",
            Size(most),
            Size(RINGS_BYTES)
        );
    }
    let is_full = |place: &&Path| shm::free_bytes(place).is_ok_and(|free| free < ROOM_BYTES_MIN);
    if let Some(full) = places.iter().find(|place| is_full(place)) {
        return format!(
            "Nothing was recorded of paging: there is no room in {}; free some there.",
            full.display()
        );
    }
    "Nothing was recorded of paging: no process of the program loaded fathomp's library, which static programs and those with privileges cannot.".to_owned()
}

/// Why nothing of the tasks' states was recorded, if what was chosen leaves none.
fn nothing_chosen(recording: &Recording, wall_ns: u64) -> Option<String> {
    let part = &recording.meta().selection;
    let from_ns = part.from_ns;
    let threads = recording.tasks().iter();
    let threads = threads.filter(|task| task.kind == TaskKind::Thread);
    let begin = threads.map(|task| task.begin).min()?;
    if let Some(to_ns) = part.to_ns.filter(|to_ns| *to_ns <= begin) {
        return Some(format!(
            "Only totals were recorded of paging: the part to record, which counts from when recording began, was over after {}, but the program began after {}; give another --window.",
            duration(to_ns as f64),
            duration(begin as f64)
        ));
    }
    if from_ns >= wall_ns.saturating_add(begin) {
        return Some(format!(
            "Only totals were recorded of paging: the part to record begins at {}, but the program ended after {}; give another --window.",
            duration(from_ns as f64),
            duration(wall_ns as f64)
        ));
    }
    let part = recording
        .part()
        .filter(|part| part.recorded() == 0 && part.of() > 0)?;
    Some(format!(
        "Only totals were recorded of paging: --tasks chooses none of {}; give others.",
        plural(part.of(), "task")
    ))
}

/// The same writer, whose directories are there and are the same wherever the program goes.
fn made_absolute(writer: &Writer) -> Result<Writer, SessionError> {
    let Writer::Striped(directories) = writer else {
        return Ok(writer.clone());
    };
    let absolute = directories.iter().map(|directory| {
        fs::create_dir_all(directory)
            .and_then(|()| directory.canonicalize())
            .map_err(|source| SessionError::Directory {
                path: directory.clone(),
                source,
            })
    });
    Ok(Writer::Striped(absolute.collect::<Result<_, _>>()?))
}

/// The recording's clock: its time 0 is now.
fn clock() -> Clock {
    let pair = clock::pair();
    Clock {
        zero: pair.ticks,
        zero_unix_ns: clock::unix_ns(),
        nanos_per_tick: clock::measure(&pair, MEASURED),
    }
}

/// I/O calls that were seen and made, of the processes of which both are known.
fn io_calls(recording: &Recording) -> Option<(u64, u64)> {
    let both = recording
        .processes()
        .iter()
        .filter_map(|process| Some((process.io_calls_seen?, process.io_calls_made?)));
    both.reduce(|(seen, made), (more_seen, more_made)| {
        (
            seen.saturating_add(more_seen),
            made.saturating_add(more_made),
        )
    })
}

impl Recorded {
    /// What a recording tells.
    pub fn of(recording: &Recording) -> Self {
        // Of the machine and of whole processes there are only samples; a process that
        // becomes another program is still one.
        let threads = recording.tasks().iter();
        let threads = threads.filter(|task| task.kind == TaskKind::Thread);
        let threads: BTreeSet<_> = threads
            .map(|task| (&task.host, task.process, task.os_id))
            .collect();
        let processes = threads.iter().map(|(host, process, _)| (host, process));
        let processes: BTreeSet<_> = processes.collect();
        Self {
            tasks: threads.len(),
            processes: processes.len(),
            elsewhere: None,
            io_calls: io_calls(recording),
            problems: recording.problems().to_vec(),
        }
    }

    /// Whether there is anything to look at.
    pub fn is_something(&self) -> bool {
        self.tasks > 0 || (self.elsewhere.is_some() && self.processes > 0)
    }

    /// How much I/O was seen, in words.
    pub fn coverage(&self) -> Option<String> {
        let (seen, made) = self.io_calls.filter(|(_, made)| *made > 0)?;
        // The kernel does not count all calls that wait for I/O.
        let part = (seen as f64 / made as f64).min(1.0);
        Some(format!("{:.1} % of {made} I/O calls seen", part * 100.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coverage_is_a_part_of_all_calls() {
        let of = |io_calls| Recorded {
            io_calls,
            ..Recorded::default()
        };
        let said = of(Some((5203, 5293))).coverage();
        assert_eq!(said.unwrap(), "98.3 % of 5293 I/O calls seen");
        assert_eq!(of(Some((0, 0))).coverage(), None);
        assert_eq!(of(None).coverage(), None);
    }
}
