//! Samples on their way into the streams of a recording: a stream for each process of
//! which anything was seen to rise.

use super::{SampleSink, Sampled};
use fathomp_paging::pack::{Budget, SamplePacker};
use fathomp_paging::stream::{self, BY_SAMPLER, Kind, PROCESS, ProcessNote, TaskNote};
use fathomp_paging::{CounterSet, Counts, Ending, TaskKind};
use fathomp_sys::clock::{self, Pair};
use fathomp_types::{Clock, Ticks};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

/// Bytes that are gathered before they are written.
const WRITE_BYTES: usize = 64 << 10;
/// Once the recording has reached its limit, samples this much closer are joined.
const SPACING_NS: f64 = 1e8;

/// Why samples are missing, as a sentence.
pub(crate) fn unwritten(error: &io::Error) -> String {
    format!("Samples are missing: cannot write them: {error}; free some space and record again.")
}

/// Streams of samples.
#[derive(Debug)]
pub(crate) struct Streams {
    directory: PathBuf,
    clock: Clock,
    /// When these streams began, by which the clock gets more exact.
    began: Pair,
    host: String,
    budget: Budget,
    processes: HashMap<u32, Stream>,
    failed: Option<io::Error>,
}

/// The stream of one process.
#[derive(Debug)]
struct Stream {
    path: PathBuf,
    file: Option<File>,
    /// What is not written yet.
    bytes: Vec<u8>,
    tasks: HashMap<Sampled, (u32, SamplePacker)>,
    numbered: u32,
    notes: u64,
    /// Whether anything rose: otherwise there is nothing to tell.
    is_worth_it: bool,
}

impl Streams {
    /// Streams in `directory`, in time of `clock`, which may have about `limit_bytes`.
    pub(crate) fn new(directory: PathBuf, clock: Clock, limit_bytes: u64) -> Self {
        Self {
            directory,
            clock,
            began: clock::pair(),
            host: fathomp_console::host::machine().host,
            budget: Budget::new(limit_bytes),
            processes: HashMap::new(),
            failed: None,
        }
    }

    /// Writes what is left. The error is the first there was.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let left: Vec<u32> = self.processes.keys().copied().collect();
        for process in left {
            self.close(process);
        }
        self.failed.map_or(Ok(()), Err)
    }

    fn close(&mut self, process: u32) {
        let clock = self.clock();
        if let Some(mut stream) = self.processes.remove(&process) {
            stream.close(clock);
            let written = stream.write(&self.budget);
            self.remember(written);
        }
    }

    /// The clock, as well as it is known by now.
    fn clock(&self) -> Clock {
        let measured = self.began.nanos_per_tick(&clock::pair());
        Clock {
            nanos_per_tick: measured.unwrap_or(self.clock.nanos_per_tick),
            ..self.clock
        }
    }

    fn remember(&mut self, written: io::Result<()>) {
        if let (Err(error), None) = (written, &self.failed) {
            self.failed = Some(error);
        }
    }

    fn spacing(&self) -> Ticks {
        match self.budget.is_spent() {
            true => Ticks((SPACING_NS / self.clock.nanos_per_tick.max(1e-3)) as u64),
            false => Ticks(0),
        }
    }
}

impl SampleSink for Streams {
    fn sample(&mut self, of: Sampled, at: Ticks, rose: &Counts) {
        if self.failed.is_some() {
            return;
        }
        let spacing = self.spacing();
        let process = of.process();
        let stream = self.processes.entry(process).or_insert_with(|| {
            let name = stream::file_name(process, at, None);
            Stream::new(
                self.directory.join(name),
                process,
                &self.host,
                self.clock,
                at,
            )
        });
        stream.sample(of, at, rose, spacing);
        if stream.bytes.len() >= WRITE_BYTES {
            let written = stream.write(&self.budget);
            self.remember(written);
        }
    }

    fn end(&mut self, of: Sampled, at: Ticks) {
        let Some(stream) = self.processes.get_mut(&of.process()) else {
            return;
        };
        stream.end(of, at);
        if stream.tasks.is_empty() {
            self.close(of.process());
        }
    }
}

impl Stream {
    fn new(path: PathBuf, process: u32, host: &str, clock: Clock, begin: Ticks) -> Self {
        let mut stream = Self {
            path,
            file: None,
            bytes: stream::start().to_vec(),
            tasks: HashMap::new(),
            numbered: 0,
            notes: 0,
            is_worth_it: false,
        };
        let note = ProcessNote {
            pid: Some(process),
            program: program(process),
            host: Some(host.to_owned()),
            clock: Some(clock),
            begin: Some(begin),
            exact: Some(CounterSet::NONE),
            ..ProcessNote::default()
        };
        stream.note(Kind::Process, PROCESS, &note);
        stream
    }

    /// The last note counts.
    fn close(&mut self, clock: Clock) {
        let note = ProcessNote {
            clock: Some(clock),
            end: Some(clock::now()),
            // How it ended is the interposer's to tell; that nothing is sampled any more is no loss.
            ending: Some(Ending::Exit),
            ..ProcessNote::default()
        };
        self.note(Kind::Process, PROCESS, &note);
    }

    fn sample(&mut self, of: Sampled, at: Ticks, rose: &Counts, spacing: Ticks) {
        if !self.tasks.contains_key(&of) {
            self.begin(of, at);
        }
        let Some((_, packer)) = self.tasks.get_mut(&of) else {
            return;
        };
        self.is_worth_it |= !rose.is_zero();
        packer.space(spacing);
        packer.sample(at, rose);
        if packer.is_full() {
            self.bytes.extend(packer.seal().unwrap_or_default());
        }
    }

    fn begin(&mut self, of: Sampled, at: Ticks) {
        let number = self.numbered;
        self.numbered += 1;
        self.tasks
            .insert(of, (number, SamplePacker::new(BY_SAMPLER, number, at)));
        let (kind, os_id) = match of {
            Sampled::Thread { thread, .. } => (TaskKind::Thread, thread),
            Sampled::Process(process) => (TaskKind::Sampled, process),
            Sampled::System => (TaskKind::Sampled, 0),
        };
        let note = TaskNote {
            kind: Some(kind),
            os_id: Some(os_id),
            begin: Some(at),
            ..TaskNote::default()
        };
        self.note(Kind::Task, number, &note);
    }

    fn end(&mut self, of: Sampled, at: Ticks) {
        let Some((number, mut packer)) = self.tasks.remove(&of) else {
            return;
        };
        packer.finish(at);
        self.bytes.extend(packer.seal().unwrap_or_default());
        let note = TaskNote {
            end: Some(at),
            ..TaskNote::default()
        };
        self.note(Kind::Task, number, &note);
        self.note(Kind::End, number, &packer.end_note());
    }

    fn note(&mut self, kind: Kind, owner: u32, note: &impl serde::Serialize) {
        self.notes += 1;
        stream::put_note(&mut self.bytes, kind, BY_SAMPLER, owner, self.notes, note);
    }

    /// Writes what has gathered, if there is anything to tell.
    fn write(&mut self, budget: &Budget) -> io::Result<()> {
        if !self.is_worth_it {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(File::create(&self.path)?),
        };
        file.write_all(&self.bytes)?;
        budget.spend(self.bytes.len() as u64);
        self.bytes.clear();
        Ok(())
    }
}

impl Sampled {
    /// The number of its process; 0 for the machine.
    fn process(self) -> u32 {
        match self {
            Self::System => 0,
            Self::Process(process) | Self::Thread { process, .. } => process,
        }
    }
}

/// The name of a process's program.
fn program(process: u32) -> Option<String> {
    if process == 0 {
        return Some("system".to_owned());
    }
    let path = format!("/proc/{process}/exe");
    let executable = std::fs::read_link(path).ok()?;
    let name = executable.file_name()?.to_string_lossy();
    Some(name.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_paging::Counter;
    use fathomp_paging::reader::Recording;

    fn rose(counter: Counter, by: u64) -> Counts {
        let mut counts = Counts::ZERO;
        counts[counter] = by;
        counts
    }

    #[test]
    fn what_was_sampled_can_be_read() {
        let directory = tempfile::tempdir().unwrap();
        let mut streams = Streams::new(directory.path().to_owned(), Clock::NANOS, u64::MAX);
        let me = std::process::id();
        let (process, thread) = (me, me);
        let of = Sampled::Thread { process, thread };
        for at in 1..=3 {
            streams.sample(
                Sampled::System,
                Ticks(at * 100),
                &rose(Counter::SystemSwapIns, 5),
            );
            streams.sample(of, Ticks(at * 100), &rose(Counter::MinorFaults, at));
            // Of this nothing is to be told.
            streams.sample(Sampled::Process(1), Ticks(at * 100), &Counts::ZERO);
        }
        streams.end(of, Ticks(400));
        streams.finish().unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
        // Threads that only samples tell of are told of where samples were asked for.
        let meta = fathomp_paging::PagingMeta {
            sampling_ns: Some(100),
            ..fathomp_paging::PagingMeta::default()
        };
        meta.write(directory.path()).unwrap();
        let recording = Recording::open(directory.path()).unwrap();
        let labels: Vec<_> = recording.tasks().iter().map(|task| task.label()).collect();
        assert_eq!(labels.len(), 2, "{labels:?}");
        assert!(labels.contains(&"system[0]".to_owned()), "{labels:?}");
    }

    #[test]
    fn a_directory_that_is_gone_is_an_error_once() {
        let gone = PathBuf::from("/no/such/directory");
        let mut streams = Streams::new(gone, Clock::NANOS, u64::MAX);
        for at in 0..100_000 {
            streams.sample(
                Sampled::System,
                Ticks(at),
                &rose(Counter::SystemSwapIns, at),
            );
        }
        assert_eq!(
            streams.finish().unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }
}
