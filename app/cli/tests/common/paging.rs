//! Recording paging with the built command, and looking at what was recorded.
#![allow(dead_code, reason = "every test file uses a part of this")]

use crate::common::{Ended, compile, fathomp, finish};
use fathomp_paging::reader::Recording;
use fathomp_paging::{Activity, Counter, Counts, Ending, MarkKind, Task, TaskKind};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The command that records paging of a program, with options, to `recording` in that
/// directory.
pub(crate) fn recorder(
    directory: &Path,
    options: &[&str],
    command: &[&str],
) -> std::process::Command {
    let mut recorder = fathomp(directory);
    recorder.args(["record", "--paging", "-o", "recording"]);
    recorder.args(options).arg("--").args(command);
    recorder
}

/// Records to the end.
pub(crate) fn record(directory: &Path, options: &[&str], command: &[&str]) -> Ended {
    finish(&mut recorder(directory, options, command))
}

/// A source file of a program whose paging is recorded.
pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/paging")
        .join(name)
}

/// Builds one of these programs with gcc and these options; gives its path.
pub(crate) fn build(directory: &Path, name: &str, options: &[&str]) -> PathBuf {
    let text = std::fs::read_to_string(source(&format!("{name}.c"))).unwrap();
    compile(directory, name, &text, options)
}

/// Text that compresses as text does, the same every time.
pub(crate) fn text(bytes: usize) -> String {
    let words = ["page", "fault", "barrier", "thread", "swap", "node", "\n"];
    let mut random = 1_u64;
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        text += words[(random >> 33) as usize % words.len()];
        text += " ";
    }
    text.truncate(bytes);
    text
}

/// A recording, summed up.
pub(crate) struct Seen {
    pub(crate) tasks: Vec<SeenTask>,
    /// Samples of the machine and of processes.
    pub(crate) sampled: Counts,
    pub(crate) problems: Vec<String>,
    /// I/O calls that were seen, and made.
    pub(crate) io_calls: (u64, u64),
}

/// A task, summed up.
pub(crate) struct SeenTask {
    pub(crate) task: Task,
    pub(crate) program: String,
    pub(crate) process: u32,
    pub(crate) parent: u32,
    ns: [u64; Activity::ALL.len()],
    counts: [Counts; Activity::ALL.len()],
    /// Stays by the call and the activity.
    stays: BTreeMap<(String, &'static str), u64>,
    pub(crate) intervals: u64,
    pub(crate) marks: Vec<MarkKind>,
    /// What is wrong with the sums, if anything.
    wrong: Vec<String>,
}

impl Seen {
    pub(crate) fn of(directory: &Path) -> Self {
        let recording = Recording::open(directory).unwrap();
        let (threads, others): (Vec<&Task>, Vec<&Task>) = recording
            .tasks()
            .iter()
            .partition(|task| task.kind == TaskKind::Thread);
        let mut sampled = Counts::ZERO;
        for task in others {
            let add = |interval: &fathomp_paging::Interval| sampled += &interval.counts;
            recording.visit(task.id, add).unwrap();
        }
        Self {
            tasks: threads
                .into_iter()
                .map(|task| SeenTask::gather(&recording, task))
                .collect(),
            sampled,
            problems: recording.problems().to_vec(),
            io_calls: recording.io_calls(),
        }
    }

    /// Part of the I/O calls that were seen.
    pub(crate) fn coverage(&self) -> f64 {
        let (seen, made) = self.io_calls;
        assert!(made > 0, "no call was counted: {self:?}");
        seen as f64 / made as f64
    }

    /// Intervals of each task follow each other, fill its life, and sum up to what was
    /// counted altogether.
    pub(crate) fn adds_up(&self) {
        assert!(!self.tasks.is_empty(), "{self:?}");
        for task in &self.tasks {
            assert!(
                task.wrong.is_empty(),
                "{}: {:?}: {self:?}",
                task.task.label(),
                task.wrong
            );
        }
    }

    /// The only task of a program, or the busiest of several.
    pub(crate) fn program(&self, name: &str) -> &SeenTask {
        let of_program = self.tasks.iter().filter(|task| task.program == name);
        let busiest = of_program.max_by_key(|task| task.intervals);
        busiest.unwrap_or_else(|| panic!("nothing of {name}: {self:?}"))
    }

    /// The task with most intervals.
    pub(crate) fn busiest(&self) -> &SeenTask {
        let busiest = self.tasks.iter().max_by_key(|task| task.intervals);
        busiest.unwrap_or_else(|| panic!("no tasks: {self:?}"))
    }

    /// The first thread of a rank; MPI's own threads wait for messages as long as it.
    pub(crate) fn rank(&self, rank: u32) -> &SeenTask {
        let mut of_rank = self.tasks.iter().filter(|one| one.task.rank == Some(rank));
        let found = of_rank.find(|one| one.task.os_id == one.task.process);
        found.unwrap_or_else(|| panic!("nothing of rank {rank}: {self:?}"))
    }

    /// Of all threads.
    pub(crate) fn total(&self, counter: &str) -> u64 {
        self.tasks.iter().map(|task| task.total(counter)).sum()
    }

    pub(crate) fn sampled(&self, counter: &str) -> u64 {
        self.sampled[named(counter)]
    }

    /// That a sentence among the problems has these words.
    pub(crate) fn says(&self, words: &str) {
        let found = self.problems.iter().any(|one| one.contains(words));
        assert!(found, "{words}: {self:?}");
    }
}

impl SeenTask {
    fn gather(recording: &Recording, task: &Task) -> Self {
        let process = recording.process_of(task.id).unwrap();
        let mut seen = Self {
            task: task.clone(),
            program: task.program.clone(),
            process: task.process,
            parent: task.parent,
            ns: [0; 3],
            counts: [Counts::ZERO; 3],
            stays: BTreeMap::new(),
            intervals: 0,
            marks: Vec::new(),
            wrong: Vec::new(),
        };
        let (mut at, mut last) = (task.begin, None);
        let visited = recording.visit(task.id, |interval| {
            let activity = interval.state.activity;
            if interval.begin < at || interval.end < interval.begin {
                seen.wrong.push(format!("{interval:?} begins before {at}"));
            }
            seen.ns[activity as usize] += interval.end - interval.begin;
            seen.counts[activity as usize] += &interval.counts;
            // A stay that was sampled comes in pieces.
            let piece_of = (interval.begin, interval.state, interval.cause);
            if last != Some(piece_of) {
                let name = recording.name(interval.cause).to_owned();
                *seen.stays.entry((name, activity.name())).or_default() += interval.merged;
            }
            last = Some((interval.end, interval.state, interval.cause));
            at = interval.end;
            seen.intervals += 1;
        });
        seen.wrong.extend(visited.unwrap().problems(&task.label()));
        seen.marks.extend(
            recording
                .marks(task.id)
                .unwrap()
                .iter()
                .map(|mark| mark.kind),
        );
        if let Some(totals) = recording
            .totals(task.id)
            .filter(|_| recording.is_selected(task.id))
        {
            for counter in Counter::ALL {
                let (sum, total) = (seen.counter(counter), totals.counts[counter]);
                if process.exact.contains(counter) && sum != total {
                    seen.wrong
                        .push(format!("{}: {sum} of {total}", counter.name()));
                }
            }
        }
        // What is begun before the first interval or ended after the last is no gap.
        let life = task.end.saturating_sub(task.begin);
        let known: u64 = seen.ns.iter().sum();
        if task.ending == Ending::Exit && known * 10 < life * 9 {
            seen.wrong.push(format!("{known} ns of {life} are known"));
        }
        seen
    }

    /// Time in an activity.
    pub(crate) fn ns(&self, activity: &str) -> u64 {
        self.ns[index(activity)]
    }

    /// Of a counter, in an activity.
    pub(crate) fn of(&self, activity: &str, counter: &str) -> u64 {
        self.counts[index(activity)][named(counter)]
    }

    pub(crate) fn total(&self, counter: &str) -> u64 {
        self.counter(named(counter))
    }

    fn counter(&self, counter: Counter) -> u64 {
        self.counts.iter().map(|counts| counts[counter]).sum()
    }

    /// Stays in a call.
    pub(crate) fn stays_in(&self, call: &str) -> u64 {
        let of_call = self.stays.iter().filter(|((name, _), _)| name == call);
        of_call.map(|(_, stays)| stays).sum()
    }

    pub(crate) fn activities_of(&self, call: &str) -> Vec<&'static str> {
        let of_call = self.stays.keys().filter(|(name, _)| name == call);
        of_call.map(|(_, activity)| *activity).collect()
    }
}

fn index(activity: &str) -> usize {
    let found = Activity::ALL.iter().position(|one| one.name() == activity);
    found.unwrap_or_else(|| panic!("no activity {activity}"))
}

fn named(counter: &str) -> Counter {
    Counter::from_name(counter).unwrap_or_else(|| panic!("no counter {counter}"))
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?} I/O calls, {:?}", self.io_calls, self.problems)?;
        for one in self.tasks.iter().take(20) {
            writeln!(
                f,
                "{} ({} intervals, {:?})",
                one.task.label(),
                one.intervals,
                one.task
            )?;
            for activity in Activity::ALL {
                let counts: Vec<_> = one.counts[activity as usize].nonzero().collect();
                let ns = one.ns[activity as usize];
                writeln!(f, "  {} {ns} ns {counts:?}", activity.name())?;
            }
            writeln!(f, "  {:?}", one.stays)?;
        }
        Ok(())
    }
}
