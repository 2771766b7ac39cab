//! From what streams hold to tasks with their blocks in order.

use super::Process;
use super::adopt::adopt;
use super::gather::{BlockAt, Gathered, GatheredTask, complete};
use super::problems::Problems;
use super::time::{Timeline, aligned, offset_of_day, offset_of_ticks};
use crate::stream::{BY_INTERPOSER, EndNote, ProcessNote, TaskNote, Totals};
use crate::{CounterSet, Ending, PagingMeta, Task, TaskId, TaskKind};
use fathomp_types::{Clock, Ticks};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The blocks of a task, each kind in order, and what goes with them.
#[derive(Debug)]
pub(super) struct Content {
    /// Place of its process in the recording.
    pub(super) process: usize,
    pub(super) timeline: Timeline,
    /// The recording's number of each of the process's names.
    pub(super) names: Arc<[u32]>,
    pub(super) intervals: Vec<BlockAt>,
    pub(super) bins: Option<BlockAt>,
    pub(super) marks: Vec<BlockAt>,
    pub(super) samples: Vec<BlockAt>,
    /// Counters that the intervals count exactly.
    pub(super) exact: CounterSet,
    /// Time of which the samples are of this task.
    pub(super) sampled: (u64, u64),
    /// The part of the run that was to be recorded, in nanoseconds of the recording.
    pub(super) window: (u64, u64),
    /// Samples after the last interval tell what no interval does.
    pub(super) outlived: bool,
    pub(super) selected: bool,
    /// Its writer did not say so or otherwise.
    pub(super) is_undecided: bool,
    pub(super) totals: Option<Totals>,
    pub(super) end: EndNote,
}

/// A recording's parts.
#[derive(Debug, Default)]
pub(super) struct Assembled {
    pub(super) processes: Vec<Process>,
    pub(super) tasks: Vec<Task>,
    pub(super) contents: Vec<Content>,
    pub(super) names: Vec<String>,
}

/// A process whose notes are read.
pub(super) struct Noted {
    stem: String,
    pub(super) note: ProcessNote,
    pub(super) gathered: Gathered,
    pub(super) process: Process,
    pub(super) timeline: Timeline,
    /// The interposer says something of it.
    pub(super) has_interposer: bool,
}

pub(super) fn assemble(
    meta: &PagingMeta,
    streams: BTreeMap<String, Gathered>,
    problems: &mut Problems,
) -> Assembled {
    let mut noted = noted(meta, streams, problems);
    adopt(&mut noted, problems);
    noted.retain(|one| !one.gathered.tasks.is_empty() || one.has_interposer);
    let mut assembled = Assembled {
        names: vec![String::new()],
        ..Assembled::default()
    };
    let mut known = HashMap::from([(String::new(), 0)]);
    for mut one in noted {
        let first = assembled.tasks.len();
        let tasks = std::mem::take(&mut one.gathered.tasks);
        let names = one.gathered.names.iter().map(|name| {
            *known.entry(name.clone()).or_insert_with(|| {
                assembled.names.push(name.clone());
                (assembled.names.len() - 1) as u32
            })
        });
        let names: Arc<[u32]> = names.collect();
        for ((source, _), task) in tasks {
            if is_left_out(meta, source, &task) {
                continue;
            }
            let id = TaskId(assembled.tasks.len() as u32);
            let process = assembled.processes.len();
            let names = names.clone();
            let (task, mut content) = of_task(id, process, &one, task, names, problems);
            content.window = window(meta);
            // Whoever never learnt whether it was chosen, such as `mpirun` of a choice by ranks, has
            // recorded nothing.
            let is_undecided = meta.selection.tasks.is_some() && content.is_undecided;
            let has_stays = !content.intervals.is_empty() || content.bins.is_some();
            content.selected &= has_stays || source != BY_INTERPOSER || !is_undecided;
            let has_intervals = !content.intervals.is_empty() || content.bins.is_some();
            if source != BY_INTERPOSER && !has_intervals && task.kind == TaskKind::Thread {
                problems.strangers += 1;
            }
            assembled.tasks.push(task);
            assembled.contents.push(content);
        }
        let process = one.close(&assembled.tasks[first..], problems);
        assembled.processes.push(process);
    }
    assembled
}

/// Reads the notes of all processes, and puts them in the order of their begins.
fn noted(
    meta: &PagingMeta,
    streams: BTreeMap<String, Gathered>,
    problems: &mut Problems,
) -> Vec<Noted> {
    let notes: Vec<(String, ProcessNote, Gathered, bool)> = streams
        .into_iter()
        .map(|(stem, mut gathered)| {
            let [by_sampler, by_interposer] = std::mem::take(&mut gathered.notes);
            let has_interposer = !by_interposer.is_empty()
                || gathered.tasks.keys().any(|key| key.0 == BY_INTERPOSER);
            let mut note = complete(by_sampler);
            // What the interposer says of its own process is better known.
            note.extend(complete(by_interposer));
            let note = ProcessNote::deserialize(note).unwrap_or_default();
            (stem, note, gathered, has_interposer)
        })
        .collect();
    let first = notes
        .iter()
        .filter(|(stem, ..)| of_stem(stem).0.is_none_or(|place| place == 0))
        .filter(|(_, note, ..)| note.offset_ns.is_none())
        .filter_map(|(_, note, ..)| note.clock)
        .min_by_key(|clock| clock.zero);
    let reference = meta.clock.filter(is_true).or(first.filter(is_true));
    let mut noted: Vec<Noted> = notes
        .into_iter()
        .map(|(stem, note, gathered, has_interposer)| {
            let (place, pid, begin) = of_stem(&stem);
            let pid = note.pid.unwrap_or(pid);
            let told = note.clock.filter(is_true);
            let mut clock = told.or(reference).unwrap_or(Clock::NANOS);
            let mut error_ns = note.offset_error_ns;
            let has_blocks = !gathered.tasks.is_empty();
            if told.is_none() && has_blocks {
                problems.of_process("have times that are guessed", format!(
                    "What the ticks of process {pid} mean is not known; its times are guessed."
                ));
            }
            let compared = place
                .filter(|place| *place > 0)
                .and_then(|place| aligned(&clock, meta.clocks.get(place)?, &reference?));
            let offset_ns = if let Some((kept, offset_ns, error)) = compared {
                (clock, error_ns) = (kept, Some(error));
                offset_ns
            } else {
                note.offset_ns.unwrap_or_else(|| match reference {
                    Some(reference) if is_elsewhere(&note, place, meta) => {
                        problems.of_process("have times that are right to some milliseconds only", format!(
                            "The clock of process {pid} on another host was not compared; its times \
                             are right to some milliseconds only."
                        ));
                        offset_of_day(&clock, &reference)
                    }
                    Some(reference) => offset_of_ticks(&clock, &reference),
                    None => 0,
                })
            };
            let timeline = Timeline::new(&clock, offset_ns);
            let begin = note.begin.or(begin).unwrap_or(clock.zero);
            let process = Process {
                pid,
                parent: note.parent.unwrap_or(0),
                program: note.program.clone().unwrap_or_default(),
                host: host_of(&note, place, meta),
                clock,
                offset_ns,
                offset_error_ns: error_ns,
                begin: timeline.at(begin),
                end: 0,
                ending: note.ending.unwrap_or_default(),
                io_calls_seen: note.io_calls_seen,
                io_calls_made: note.io_calls_made,
                exact: note
                    .exact
                    .unwrap_or(CounterSet::ALL)
                    .without(CounterSet::SAMPLED_ONLY),
            };
            Noted {
                stem,
                note,
                gathered,
                process,
                timeline,
                has_interposer,
            }
        })
        .collect();
    noted.sort_by(|a, b| {
        let key = |one: &Noted| (one.process.begin, one.process.pid);
        key(a).cmp(&key(b)).then_with(|| a.stem.cmp(&b.stem))
    });
    noted
}

/// The part of the run that was to be recorded. Hosts count it from when each began to record,
/// which is not known so exactly.
fn window(meta: &PagingMeta) -> (u64, u64) {
    match meta.clocks.len() {
        0 | 1 => (
            meta.selection.from_ns,
            meta.selection.to_ns.unwrap_or(u64::MAX),
        ),
        _ => (0, u64::MAX),
    }
}

/// Whether a task is left out: samplers that nobody asked for tell of threads that are recorded,
/// and of machines and processes.
fn is_left_out(meta: &PagingMeta, source: u32, task: &GatheredTask) -> bool {
    let kind = || read::<TaskNote>(task.notes.clone()).kind;
    source != BY_INTERPOSER
        && meta.sampling_ns.is_none()
        && task.intervals.is_empty()
        && kind().is_none_or(|kind| kind == TaskKind::Thread)
}

/// First and last tick of a task, by its note or else its blocks.
pub(super) fn extent(note: &TaskNote, task: &GatheredTask) -> (Option<Ticks>, Option<Ticks>) {
    let blocks = || {
        let intervals = task.intervals.iter().chain(&task.bins);
        intervals.chain(&task.marks).chain(&task.samples)
    };
    let begin = blocks().map(|block| block.head.begin).min();
    let end = blocks().map(|block| block.head.end).max();
    (note.begin.or(begin), note.end.or(end))
}

fn of_task(
    id: TaskId,
    process: usize,
    of: &Noted,
    mut task: GatheredTask,
    names: Arc<[u32]>,
    problems: &mut Problems,
) -> (Task, Content) {
    let note: TaskNote = read(std::mem::take(&mut task.notes));
    for blocks in [&mut task.intervals, &mut task.marks, &mut task.samples] {
        in_order(blocks, problems);
    }
    let used = task.intervals.iter().chain(&task.marks);
    let used = used.map(|block| u64::from(block.head.names)).max();
    // Number 0 needs no name.
    let missing = used.unwrap_or(0).saturating_sub(names.len().max(1) as u64);
    problems.missing_names = problems.missing_names.max(missing);
    let end_note = task.end.map(|(_, note)| note).unwrap_or_default();
    let has_ended = matches!(of.note.ending, Some(Ending::Exit | Ending::Exec));
    if has_ended && task.end.is_none() && !task.intervals.is_empty() {
        problems.missing_ends += 1;
    }
    problems.compare(&end_note, &task);
    problems.add_end(task.end);
    if let Some(from) = end_note.binned_from {
        problems.binned_tasks += 1;
        let from = of.timeline.at(from);
        problems.binned_from = Some(problems.binned_from.map_or(from, |known| known.min(from)));
    }
    let kind = note.kind.unwrap_or(TaskKind::Thread);
    let (begin, end) = extent(&note, &task);
    let begin = begin.map_or(of.process.begin, |begin| of.timeline.at(begin));
    let end = end.or(of.note.end).map_or(begin, |end| of.timeline.at(end));
    let ending = note.ending.or(of.note.ending).unwrap_or_default();
    let content = Content {
        process,
        timeline: of.timeline,
        names,
        exact: match kind {
            TaskKind::Thread => of.process.exact,
            TaskKind::Sampled => CounterSet::NONE,
        },
        window: (0, u64::MAX),
        outlived: matches!(ending, Ending::Lost | Ending::Running),
        sampled: task.sampled.unwrap_or((0, u64::MAX)),
        selected: note.selected.unwrap_or(true),
        is_undecided: note.selected.is_none(),
        totals: note.totals,
        end: end_note,
        intervals: task.intervals,
        bins: task.bins,
        marks: task.marks,
        samples: task.samples,
    };
    let task = Task {
        id,
        kind,
        process: of.process.pid,
        parent: of.process.parent,
        os_id: note.os_id.unwrap_or(0),
        program: of.process.program.clone(),
        rank: note.rank.or(of.note.rank),
        node: note.node.or(of.note.node),
        openmp_thread: note.openmp_thread,
        host: of.process.host.clone(),
        begin,
        end: end.max(begin),
        ending,
    };
    (task, content)
}

/// Puts blocks in the order of their positions, and looks whether all are there.
fn in_order(blocks: &mut Vec<BlockAt>, problems: &mut Problems) {
    blocks.sort_by_key(|block| block.position);
    let all = blocks.len();
    blocks.dedup_by_key(|block| block.position);
    problems.doubles += (all - blocks.len()) as u64;
    let Some(last) = blocks.last() else { return };
    let missing = last.position.saturating_sub(blocks.len() as u64);
    problems.missing_blocks = problems.missing_blocks.saturating_add(missing);
    let overlaps = blocks
        .windows(2)
        .filter(|pair| pair[1].head.begin < pair[0].head.end);
    problems.overlaps += overlaps.count() as u64;
}

impl Problems {
    pub(super) fn add_end(&mut self, note: Option<(u64, EndNote)>) {
        if let Some((_, note)) = note {
            self.end = self.end.and(&note);
        }
    }

    /// Compares what was written of a task with what is there.
    fn compare(&mut self, end: &EndNote, task: &GatheredTask) {
        let sum = |blocks: &[BlockAt]| {
            let entries = blocks.iter().map(|block| block.entries);
            entries.fold(0, u64::saturating_add)
        };
        let missing = end.intervals.saturating_sub(sum(&task.intervals));
        self.missing_intervals = self.missing_intervals.saturating_add(missing);
        let stays = task.bins.map_or(0, |bins| bins.entries);
        let missing = end.binned.saturating_sub(stays);
        self.missing_stays = self.missing_stays.saturating_add(missing);
    }
}

impl Noted {
    /// What is to be said of the process, whose tasks these are.
    fn close(self, tasks: &[Task], problems: &mut Problems) -> Process {
        let mut process = self.process;
        let last = tasks.iter().map(|task| task.end).max();
        let end = self.note.end.map(|end| self.timeline.at(end));
        process.end = end.or(last).unwrap_or(0).max(process.begin);
        for (_, note) in self.gathered.ends.values() {
            problems.end = problems.end.and(note);
        }
        for problem in &self.note.problems {
            problems.say_once(problem);
        }
        // Of what was only sampled, no end is to be seen.
        if process.ending == Ending::Lost && self.has_interposer {
            let name = match process.program.as_str() {
                "" => format!("Process {}", process.pid),
                program => format!("{program} (process {})", process.pid),
            };
            problems.killed(&name, process.end);
        }
        if let (Some(seen), Some(made)) = (process.io_calls_seen, process.io_calls_made) {
            let sum = &mut problems.io_calls;
            sum.0 = sum.0.saturating_add(seen.min(made));
            sum.1 = sum.1.saturating_add(made);
        }
        process
    }
}

/// The note that notes together are. Each was understood alone.
pub(super) fn read<T: DeserializeOwned + Default>(notes: Vec<(u64, super::gather::Note)>) -> T {
    T::deserialize(complete(notes)).unwrap_or_default()
}

/// Place of the host among those of the run, if the launcher started the program on several,
/// process number and begin, by the name of its streams: `PID-BEGIN` or `hN-PID-BEGIN`.
fn of_stem(stem: &str) -> (Option<usize>, u32, Option<Ticks>) {
    let placed = stem
        .strip_prefix('h')
        .and_then(|rest| rest.split_once('-'))
        .and_then(|(place, rest)| Some((place.parse().ok()?, rest)));
    let (place, stem) = match placed {
        Some((place, rest)) => (Some(place), rest),
        None => (None, stem),
    };
    let (pid, begin) = stem.split_once('-').unwrap_or((stem, ""));
    let begin = u64::from_str_radix(begin, 16).ok().map(Ticks);
    (place, pid.parse().unwrap_or(0), begin)
}

/// What its host is called: as the user does, if the launcher started it there.
fn host_of(note: &ProcessNote, place: Option<usize>, meta: &PagingMeta) -> String {
    let called = place.and_then(|place| meta.hosts.get(place)).cloned();
    called.or_else(|| note.host.clone()).unwrap_or_default()
}

/// Whether a clock's ticks have a length.
fn is_true(clock: &Clock) -> bool {
    clock.nanos_per_tick.is_finite() && clock.nanos_per_tick > 0.0
}

/// Whether a process ran on another host than that of the recording's clock.
fn is_elsewhere(note: &ProcessNote, place: Option<usize>, meta: &PagingMeta) -> bool {
    if let Some(place) = place {
        return place > 0;
    }
    match (&note.host, meta.hosts.first()) {
        (Some(host), Some(first)) => host != first,
        _ => false,
    }
}
