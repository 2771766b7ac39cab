//! Recordings made up for tests: written as real ones are, and read back.

use crate::pack::{MarkPacker, SamplePacker, TaskPacker};
use crate::reader::Recording;
use crate::stream::{
    self, BY_INTERPOSER, EndNote, Kind, NamesNote, PROCESS, ProcessNote, TaskNote, Totals,
};
use crate::{Cause, Counts, Ending, MarkKind, PagingMeta, State, TaskKind};
use fathomp_types::{Clock, Ticks};

/// Builds a recording. Its ticks are nanoseconds.
///
/// ```
/// use fathomp_paging::{Activity, Counter, Counts, State, testing::Builder};
/// let mut builder = Builder::new();
/// let mut faults = Counts::ZERO;
/// faults[Counter::MinorFaults] = 12;
/// let cause = builder.name("read");
/// builder
///     .task()
///     .stay(1_000, State::active(Activity::Compute), faults)
///     .stay_in(1_500, State::active(Activity::Io), cause, Counts::ZERO);
/// let recording = builder.build();
/// let task = recording.tasks()[0].id;
/// let mut lengths = Vec::new();
/// recording.visit(task, |stay| lengths.push(stay.end - stay.begin)).unwrap();
/// assert_eq!(lengths, [1_000, 500]);
/// ```
#[derive(Debug, Default)]
pub struct Builder {
    meta: PagingMeta,
    names: Vec<String>,
    tasks: Vec<TaskBuilder>,
}

/// Builds a task: the first thread of a process of its own, unless it is told
/// otherwise.
#[derive(Debug)]
pub struct TaskBuilder {
    number: u32,
    process: ProcessNote,
    note: TaskNote,
    totals: Totals,
    packer: TaskPacker,
    marks: MarkPacker,
    samples: SamplePacker,
    blocks: Vec<u8>,
}

impl Builder {
    /// A recording without tasks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The circumstances, to be changed.
    pub fn meta(&mut self) -> &mut PagingMeta {
        &mut self.meta
    }

    /// The number of a name, for causes and marks of all tasks.
    pub fn name(&mut self, text: &str) -> Cause {
        if self.names.is_empty() {
            self.names.push(String::new());
        }
        let known = self.names.iter().position(|name| name == text);
        let number = known.unwrap_or_else(|| {
            self.names.push(text.to_owned());
            self.names.len() - 1
        });
        Cause(number as u32)
    }

    /// Adds a task that begins at 0. Its number is that of the calls before.
    pub fn task(&mut self) -> &mut TaskBuilder {
        let number = self.tasks.len();
        self.tasks.push(TaskBuilder::new(number as u32));
        &mut self.tasks[number]
    }

    /// The streams' names and bytes: one of each task.
    #[must_use]
    pub fn streams(self) -> Vec<(String, Vec<u8>)> {
        let names = NamesNote {
            first: 0,
            names: self.names,
        };
        let build = |task: TaskBuilder| task.stream(&names);
        self.tasks.into_iter().map(build).collect()
    }

    /// The recording, as read back from memory.
    ///
    /// # Panics
    /// If what was built cannot be read: a fault of this crate.
    #[must_use]
    pub fn build(self) -> Recording {
        let meta = PagingMeta {
            format: crate::FORMAT,
            clock: Some(Clock::NANOS),
            ..self.meta.clone()
        };
        let json = serde_json::to_vec(&meta).unwrap_or_default();
        match Recording::from_bytes(Some(&json), self.streams()) {
            Ok(recording) => recording,
            Err(error) => panic!("a recording that was just built cannot be read: {error}"),
        }
    }
}

impl TaskBuilder {
    fn new(number: u32) -> Self {
        let pid = 1000 + number;
        Self {
            number,
            process: ProcessNote {
                pid: Some(pid),
                program: Some("test".to_owned()),
                host: Some("host".to_owned()),
                clock: Some(Clock::NANOS),
                begin: Some(Ticks(0)),
                ending: Some(Ending::Exit),
                ..ProcessNote::default()
            },
            note: TaskNote {
                os_id: Some(pid),
                begin: Some(Ticks(0)),
                ..TaskNote::default()
            },
            totals: Totals::default(),
            packer: TaskPacker::new(0, Ticks(0)),
            marks: MarkPacker::new(0, Ticks(0)),
            samples: SamplePacker::new(BY_INTERPOSER, 0, Ticks(0)),
            blocks: Vec::new(),
        }
    }

    /// What is known of its process, to be changed.
    pub fn process(&mut self) -> &mut ProcessNote {
        &mut self.process
    }

    /// What is known of the task, to be changed.
    pub fn note(&mut self) -> &mut TaskNote {
        &mut self.note
    }

    /// It is only sampled.
    pub fn sampled(&mut self) -> &mut Self {
        self.note.kind = Some(TaskKind::Sampled);
        self
    }

    /// It stays in `state` until `end`.
    pub fn stay(&mut self, end: u64, state: State, counts: Counts) -> &mut Self {
        self.stay_in(end, state, Cause::NONE, counts)
    }

    /// It stays in `state` until `end`, for a cause.
    pub fn stay_in(&mut self, end: u64, state: State, cause: Cause, counts: Counts) -> &mut Self {
        let ticks = end.saturating_sub(self.packer.position().0);
        self.totals.add(state, ticks, 1, &counts);
        self.packer.change(Ticks(end), state, cause, &counts);
        self.write();
        self
    }

    /// Nothing is known until `until`.
    pub fn gap(&mut self, until: u64) -> &mut Self {
        self.packer.gap(Ticks(until));
        self
    }

    /// A mark.
    pub fn mark(&mut self, at: u64, kind: MarkKind, name: Cause) -> &mut Self {
        self.marks.mark(Ticks(at), kind, name.0);
        self
    }

    /// A sample: what rose since the one before.
    pub fn sample(&mut self, at: u64, rise: Counts) -> &mut Self {
        self.samples.sample(Ticks(at), &rise);
        self.write();
        self
    }

    /// From now on stays are merged, into bins `width` wide at first.
    pub fn merge(&mut self, width: u64) -> &mut Self {
        self.packer.merge(Ticks(width));
        self
    }

    /// Ends the blocks under construction: what follows goes into others.
    pub fn cut(&mut self) -> &mut Self {
        for block in [self.packer.seal(), self.marks.seal(), self.samples.seal()] {
            self.blocks.extend(block.unwrap_or_default());
        }
        self
    }

    fn write(&mut self) {
        if self.packer.is_full() || self.samples.is_full() || self.marks.is_full() {
            self.cut();
        }
    }

    fn stream(mut self, names: &NamesNote) -> (String, Vec<u8>) {
        self.cut();
        let end = self.packer.position();
        self.note.totals.get_or_insert(self.totals);
        self.note.end.get_or_insert(end);
        self.process.end.get_or_insert(end);
        let mut bytes = stream::start().to_vec();
        let at_first = ProcessNote {
            end: None,
            ending: None,
            ..self.process.clone()
        };
        stream::put_note(
            &mut bytes,
            Kind::Process,
            BY_INTERPOSER,
            PROCESS,
            1,
            &at_first,
        );
        stream::put_note(&mut bytes, Kind::Names, BY_INTERPOSER, PROCESS, 1, names);
        stream::put_note(&mut bytes, Kind::Task, BY_INTERPOSER, 0, 1, &self.note);
        bytes.append(&mut self.blocks);
        self.packer.put_bins(&mut bytes);
        let notes = [self.marks.end_note(), self.samples.end_note()];
        let note: EndNote = notes
            .iter()
            .fold(self.packer.end_note(), |sum, note| sum.and(note));
        stream::put_note(&mut bytes, Kind::End, BY_INTERPOSER, 0, 1, &note);
        stream::put_note(
            &mut bytes,
            Kind::Process,
            BY_INTERPOSER,
            PROCESS,
            2,
            &self.process,
        );
        // In the order of their numbers, which are those of the processes, too.
        let name = stream::file_name(1000 + self.number, Ticks(0), None);
        (name, bytes)
    }
}
