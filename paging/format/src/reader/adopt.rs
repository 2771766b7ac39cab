//! Gives what samplers saw to the tasks and processes that they saw.
//!
//! A sampler looks from outside: it knows processes and threads by the kernel's
//! numbers, which the kernel gives out again, and does not see that a process becomes
//! another program. The interposer knows that. So samples are matched by host, process,
//! thread and time.

use super::assemble::{Noted, extent, read};
use super::gather::GatheredTask;
use super::problems::Problems;
use crate::TaskKind;
use crate::stream::{BY_INTERPOSER, TaskNote};
use std::collections::HashMap;

/// Number of a task: its source, and its number there.
type Key = (u32, u32);

/// Longer than the kernel takes to begin or to end a thread, in nanoseconds.
const EDGE_NS: u64 = 100_000_000;

/// A task of the interposer.
struct InterposerTask {
    process: usize,
    key: Key,
    span: Span,
}

/// Moves the samples of samplers to the tasks of the interposer that they are of, and what
/// else samplers saw of a process to that process.
pub(super) fn adopt(noted: &mut [Noted], problems: &mut Problems) {
    let mut hosts = HashMap::<(u32, u32), Vec<InterposerTask>>::new();
    let mut guests = Vec::new();
    for (process, one) in noted.iter().enumerate() {
        for (&key, task) in &one.gathered.tasks {
            let note: TaskNote = read(task.notes.clone());
            let Some(os_id) = note.os_id else { continue };
            let thread = (one.process.pid, os_id);
            let span = Span::of(&note, task, one);
            if key.0 == BY_INTERPOSER {
                let host = InterposerTask { process, key, span };
                hosts.entry(thread).or_default().push(host);
            } else if note.kind.unwrap_or(TaskKind::Thread) == TaskKind::Thread {
                guests.push((process, key, thread, span));
            }
        }
    }
    for (from, key, thread, span) in guests {
        let candidates = hosts.get(&thread).into_iter().flatten();
        let known: Vec<&InterposerTask> = candidates
            .filter(|host| are_neighbours(&noted[from], &noted[host.process]))
            .collect();
        let met: Vec<&&InterposerTask> = known
            .iter()
            .filter(|host| host.span.overlap(&span) > 0)
            .collect();
        if met.is_empty() && !known.iter().any(|host| host.span.gap(&span) < EDGE_NS) {
            continue;
        }
        // Without a task that it met, the sampler looked while the kernel began or ended the
        // thread, which no interposer sees: that is no task of its own, and nothing of one.
        let Some(guest) = noted[from].gathered.tasks.remove(&key) else {
            continue;
        };
        problems.add_end(guest.end);
        for host in met {
            if let Some(task) = noted[host.process].gathered.tasks.get_mut(&host.key) {
                take_samples(task, &guest, host.span, problems);
            }
        }
    }
    move_processes(noted);
}

fn take_samples(
    task: &mut GatheredTask,
    guest: &GatheredTask,
    span: Span,
    problems: &mut Problems,
) {
    if task.samples.is_empty() {
        task.samples.clone_from(&guest.samples);
        task.sampled = Some((span.0, span.1));
    } else {
        problems.other_samples += guest.samples.len() as u64;
    }
}

/// Moves what is left of processes that only samplers know to those that the interposer knows,
/// where they are the same.
fn move_processes(noted: &mut [Noted]) {
    for from in 0..noted.len() {
        if noted[from].has_interposer {
            continue;
        }
        let span = Span::of_process(&noted[from]);
        let to = (0..noted.len())
            .filter(|&to| noted[to].has_interposer)
            .filter(|&to| noted[to].process.pid == noted[from].process.pid)
            .filter(|&to| are_neighbours(&noted[from], &noted[to]))
            .max_by_key(|&to| Span::of_process(&noted[to]).overlap(&span));
        let Some(to) = to else { continue };
        for (key, task) in std::mem::take(&mut noted[from].gathered.tasks) {
            let known = &mut noted[to].gathered.tasks;
            let number = (key.1..=u32::MAX).find(|&number| !known.contains_key(&(key.0, number)));
            if let Some(number) = number {
                known.insert((key.0, number), task);
            }
        }
    }
}

/// Whether two processes are on one host, as far as known.
fn are_neighbours(a: &Noted, b: &Noted) -> bool {
    let (a, b) = (&a.process.host, &b.process.host);
    a == b || a.is_empty() || b.is_empty()
}

/// When something lived: begin and end in nanoseconds of the recording.
#[derive(Clone, Copy)]
struct Span(u64, u64);

impl Span {
    fn of(note: &TaskNote, task: &GatheredTask, process: &Noted) -> Self {
        let (begin, last) = extent(note, task);
        // Of a task that was killed, nobody knows the end.
        let has_ended = note.ending.or(process.note.ending).is_some();
        let end = note.end.or(process.note.end).or(last.filter(|_| has_ended));
        Self(
            begin.map_or(0, |begin| process.timeline.at(begin)),
            end.map_or(u64::MAX, |end| process.timeline.at(end)),
        )
    }

    fn of_process(process: &Noted) -> Self {
        let end = process.note.end.map(|end| process.timeline.at(end));
        Self(process.process.begin, end.unwrap_or(u64::MAX))
    }

    fn overlap(&self, other: &Self) -> u64 {
        self.1.min(other.1).saturating_sub(self.0.max(other.0))
    }

    /// What lies between the two, if they do not overlap.
    fn gap(&self, other: &Self) -> u64 {
        self.0.max(other.0).saturating_sub(self.1.min(other.1))
    }
}
