//! What is wrong with a recording, in sentences.

use crate::TaskId;
use crate::stream::EndNote;
use fathomp_blocks::StartError;
use fathomp_types::units::{count, duration, percent, plural};
use std::collections::BTreeMap;

/// Problems of one kind that are told one by one; of more only the number.
const TOLD_MAX: usize = 20;
/// A smaller share of a process's I/O calls that were seen is worth saying.
const COVERAGE: f64 = 0.95;

/// What was found, to be told.
#[derive(Debug, Default)]
pub(super) struct Problems {
    sentences: Vec<String>,
    /// What processes' notes say, and how often.
    repeated: BTreeMap<String, u64>,
    /// Of streams and processes, by what is true of them.
    alike: BTreeMap<&'static str, Vec<String>>,
    pub(super) unknown_blocks: u64,
    pub(super) malformed_blocks: u64,
    /// What packers counted, of all.
    pub(super) end: EndNote,
    /// Tasks with merged stays, and the earliest time of merging.
    pub(super) binned_tasks: u64,
    pub(super) binned_from: Option<u64>,
    /// Blocks that do not follow the one before in time.
    pub(super) overlaps: u64,
    /// Blocks that were there twice.
    pub(super) doubles: u64,
    /// Blocks of tasks that are missing between others.
    pub(super) missing_blocks: u64,
    /// Intervals that were written and are not there.
    pub(super) missing_intervals: u64,
    /// Merged stays that were written and are not there.
    pub(super) missing_stays: u64,
    /// Tasks that ended without a note of what was lost of them.
    pub(super) missing_ends: u64,
    /// Names that intervals use and no block gives.
    pub(super) missing_names: u64,
    /// Samples of a second sampler.
    pub(super) other_samples: u64,
    /// Tasks of a sampler that belong to none.
    pub(super) strangers: u64,
    /// I/O calls seen and made, of processes that know both.
    pub(super) io_calls: (u64, u64),
}

impl Problems {
    pub(super) fn say(&mut self, sentence: String) {
        self.sentences.push(sentence);
    }

    /// The same of several processes is said once.
    pub(super) fn say_once(&mut self, sentence: &str) {
        *self.repeated.entry(sentence.to_owned()).or_default() += 1;
    }

    pub(super) fn left_out(&mut self, stream: &str, why: &StartError) {
        self.of_process("were left out", format!("{stream} was left out: {why}."));
    }

    pub(super) fn empty(&mut self, stream: &str) {
        let sentence =
            format!("{stream} holds nothing: its process ended before anything was written.");
        self.of_process("hold nothing", sentence);
    }

    pub(super) fn damaged(&mut self, stream: &str, bytes: u64) {
        let sentence = format!(
            "{stream} is damaged: {} bytes of it were left out.",
            count(bytes)
        );
        self.of_process("are damaged", sentence);
    }

    pub(super) fn cut(&mut self, stream: &str, bytes: u64) {
        let sentence = format!(
            "{stream} ends in the middle of a block: its last {} bytes were left out.",
            count(bytes)
        );
        self.of_process("end in the middle of a block", sentence);
    }

    pub(super) fn killed(&mut self, process: &str, at: u64) {
        let sentence = format!(
            "{process} was killed, or left in a way that could not be seen, after {}: what it \
             did since its last change of state is not known.",
            duration(at as f64)
        );
        self.of_process("were killed", sentence);
    }

    /// A sentence about one stream or process, and what is true of several.
    pub(super) fn of_process(&mut self, kind: &'static str, sentence: String) {
        self.alike.entry(kind).or_default().push(sentence);
    }

    /// Everything, in sentences.
    pub(super) fn sentences(self) -> Vec<String> {
        let mut told = self.sentences;
        for (sentence, times) in self.repeated {
            told.push(match times {
                1 => sentence,
                times => format!("{sentence} (So of {} processes.)", count(times)),
            });
        }
        for (kind, mut sentences) in self.alike {
            let more = sentences.len().saturating_sub(TOLD_MAX);
            sentences.truncate(TOLD_MAX);
            told.append(&mut sentences);
            if more > 0 {
                told.push(format!(
                    "Of {} more the same is true: they {kind}.",
                    count(more as u64)
                ));
            }
        }
        let mut of = |number: u64, tell: &dyn Fn(u64) -> String| {
            if number > 0 {
                told.push(tell(number));
            }
        };
        of(self.unknown_blocks, &|n| {
            format!(
                "{} of a kind that this fathomp does not know; a later one wrote them.",
                skipped(n, "block")
            )
        });
        of(self.malformed_blocks, &|n| {
            format!("{} whose contents make no sense.", skipped(n, "block"))
        });
        of(self.doubles, &|n| {
            format!("{} that were there twice.", skipped(n, "block"))
        });
        of(self.missing_blocks, &|n| {
            format!(
                "{} between others {} missing; what happened then is not known.",
                plural(n, "block"),
                are(n)
            )
        });
        of(self.missing_intervals, &|n| {
            format!("Of written intervals {} {} missing.", count(n), are(n))
        });
        of(self.missing_stays, &|n| {
            format!("Of merged stays {} {} missing.", count(n), are(n))
        });
        of(self.missing_ends, &|n| {
            format!(
                "How much was lost of {} is not known: the note about it is missing.",
                plural(n, "task")
            )
        });
        of(self.overlaps, &|n| {
            format!(
                "The clock seems to have run backwards between blocks, {}; what would have \
                 overlapped was cut.",
                times(n)
            )
        });
        of(self.missing_names, &|n| {
            format!("The names of up to {} are missing.", plural(n, "call"))
        });
        of(self.other_samples, &|n| {
            format!(
                "{} of a second sampler of the same task.",
                skipped(n, "block")
            )
        });
        of(self.strangers, &|n| {
            format!(
                "{} sampled of which nothing else is known.",
                match n {
                    1 => "1 thread was".to_owned(),
                    n => format!("{} threads were", count(n)),
                }
            )
        });
        let end = &self.end;
        of(end.binned, &|n| {
            let from = self.binned_from.map_or(String::new(), |from| {
                format!(" from {} on", duration(from as f64))
            });
            format!(
                "The recording reached its limit, so {} of {} were merged{from}: totals are \
                 exact, times within a bin are not known. A higher limit keeps them.",
                plural(n, "stay"),
                plural(self.binned_tasks, "task")
            )
        });
        of(end.merged_early, &|n| {
            format!(
                "{} merged with others because a ring was full: totals are exact. Larger rings \
                 keep them apart.",
                was(n, "stay")
            )
        });
        of(end.marks_left_out, &|n| {
            format!(
                "{} left out because the recording had reached its limit.",
                was(n, "mark")
            )
        });
        of(end.samples_joined, &|n| {
            format!("{} joined with the next to save room.", was(n, "sample"))
        });
        of(end.changes_lost, &|n| {
            format!("{} of state lost.", was(n, "change"))
        });
        of(end.clock_went_back, &|n| {
            format!(
                "The clock seemed to run backwards {}; what ended before it began was taken to \
                 have lasted no time.",
                times(n)
            )
        });
        of(end.counters_went_back, &|n| {
            format!(
                "A counter seemed to run backwards {}; nothing was counted then.",
                times(n)
            )
        });
        of(end.disk_full.into(), &|_| {
            "The disk was full for a while; intervals of that time were merged or lost.".to_owned()
        });
        let (seen, made) = self.io_calls;
        if made > 0 && (seen as f64) < COVERAGE * made as f64 {
            told.push(format!(
                "{} of {} I/O calls were seen ({}); the others were made in ways that cannot be \
                 watched, and what they did counts as compute.",
                count(seen),
                count(made),
                percent(seen as f64 / made as f64)
            ));
        }
        told
    }
}

fn are(number: u64) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

fn was(number: u64, noun: &str) -> String {
    let verb = if number == 1 { "was" } else { "were" };
    format!("{} {verb}", plural(number, noun))
}

fn skipped(number: u64, noun: &str) -> String {
    format!("{} left out", was(number, noun))
}

fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{} times", count(number)),
    }
}

/// What came of a visit to a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Visited {
    /// Intervals handed out.
    pub intervals: u64,
    /// Blocks of which a part could not be understood, and was left out.
    pub malformed_blocks: u64,
    /// Counts that were too large to be true, taken for zero.
    pub implausible: u64,
    /// Marks of kinds from later versions, left out.
    pub unknown_marks: u64,
}

impl Visited {
    /// Whether all was understood.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        (self.malformed_blocks, self.implausible, self.unknown_marks) == (0, 0, 0)
    }

    /// What was not understood of the task that people know as `label`, in
    /// sentences.
    #[must_use]
    pub fn problems(&self, label: &str) -> Vec<String> {
        let mut problems = Vec::new();
        if self.malformed_blocks > 0 {
            problems.push(format!(
                "Of {label}, parts of {} make no sense and were left out.",
                plural(self.malformed_blocks, "block")
            ));
        }
        if self.implausible > 0 {
            problems.push(format!(
                "Of {label}, {} too large to be true and taken for zero: a counter went back.",
                was(self.implausible, "count")
            ));
        }
        if self.unknown_marks > 0 {
            problems.push(format!(
                "Of {label}, {} of a kind that this fathomp does not know left out.",
                was(self.unknown_marks, "mark")
            ));
        }
        problems
    }
}

/// Why a task could not be visited.
#[derive(Debug, thiserror::Error)]
pub enum VisitError {
    /// There is none of that number.
    #[error("the recording has no task number {}; choose one of those that it lists", .0.0)]
    NoTask(TaskId),
    /// The system refused.
    #[error("cannot read {stream}: {source}; check that the recording is still there")]
    Unreadable {
        /// The stream.
        stream: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A block that was sound when the recording was opened is not any more.
    #[error("{stream} has changed since it was opened; wait until recording has ended")]
    Changed {
        /// The stream.
        stream: String,
    },
}
