//! Whether a recording can be believed.

use super::parse::Parsed;
use crate::model::{Meta, Process};
use crate::record::{Instance, Record};
use crate::state::State;
use fathomp_launch::names::{RING_KIB, RING_THREADS};
use fathomp_types::text::one_line;
use fathomp_types::{Clock, Ticks};

/// What was found wrong with the records of a process.
#[derive(Default)]
struct Findings {
    /// Records from outside the life of the process.
    misdated: u64,
    /// Executions whose waits are longer than themselves.
    overfull: u64,
}

/// Completes and checks a process; adds what is wrong to `problems`.
pub(super) fn check(parsed: Parsed, problems: &mut Vec<String>) -> Process {
    let sentences = sentences_before(&parsed);
    let Parsed {
        mut process, note, ..
    } = parsed;
    let clock = &mut process.clock;
    let sane = clock.nanos_per_tick.is_finite() && clock.nanos_per_tick > 0.0;
    if !sane {
        *clock = Clock {
            nanos_per_tick: 1.0,
            ..*clock
        };
    }
    // A stream that breaks off does not say until when its process lived.
    let limit = if note.complete {
        latest(&process, note.last_seen)
    } else {
        Ticks(u64::MAX)
    };
    let mut findings = Findings::default();
    for thread in &mut process.threads {
        thread.records.retain_mut(|record| {
            let (begin, end) = record.span();
            let dated = begin >= process.begin && begin <= end && end <= limit;
            if !dated {
                findings.misdated += 1;
            } else if let Record::Instance(instance) = record {
                findings.overfull += u64::from(!fill_compute(instance));
            }
            dated
        });
        let spans = thread.records.iter().filter_map(|record| match record {
            Record::Instance(instance) => Some((instance.begin, instance.end)),
            _ => None,
        });
        let (first, last) = spans.fold((Ticks(u64::MAX), Ticks(0)), |(first, last), span| {
            (first.min(span.0), last.max(span.1))
        });
        if thread.begin < process.begin || thread.begin > limit {
            thread.begin = first.min(limit).max(process.begin);
        }
        thread.end = if thread.end > limit {
            last
        } else {
            thread.end.max(last)
        };
        thread.end = thread.end.max(thread.begin);
    }
    let name = process.executable.file_name().unwrap_or_default();
    let of = format!(
        "process {} ({})",
        process.pid,
        one_line(&name.to_string_lossy())
    );
    let mut tell = |sentence: String| {
        let sentence = sentence
            .replacen("{process}", &of, 1)
            .replace("{RING_KIB}", RING_KIB.name)
            .replace("{RING_THREADS}", RING_THREADS.name);
        problems.push(sentence);
    };
    sentences.into_iter().for_each(&mut tell);
    if !sane {
        tell("The clock of {process} is unknown: times are in ticks, not nanoseconds.".to_owned());
    }
    let dropped = process.threads.iter().map(|thread| thread.dropped);
    let dropped = dropped.fold(0, u64::saturating_add);
    let counted = [
        (
            dropped,
            "records of {process} were dropped because the recorder could not keep up: waits and \
             loops are missing from the timeline, rarely an execution from the totals. Larger \
             buffers help: set {RING_KIB}=8192.",
        ),
        (
            findings.misdated,
            "records of {process} carry times outside its life and were left out: the program may \
             have overwritten memory that is not its own.",
        ),
        (
            findings.overfull,
            "executions in {process} waited longer than they lasted: their states are not to be \
             trusted.",
        ),
    ];
    for (count, sentence) in counted {
        if count > 0 {
            tell(format!("{count} {sentence}"));
        }
    }
    process
}

/// The last moment at which anything can have happened in a process.
fn latest(process: &Process, last_seen: Ticks) -> Ticks {
    let known = process.threads.iter().map(|thread| thread.end);
    let last = known
        .chain(process.end)
        .chain([last_seen])
        .max()
        .unwrap_or_default();
    // Threads may run on a little after the end was noted; without any such
    // mark nothing can be ruled out.
    let second = (1e9 / process.clock.nanos_per_tick) as u64;
    if last == Ticks(0) {
        Ticks(u64::MAX)
    } else {
        Ticks(last.0.saturating_add(second))
    }
}

/// Puts what is left of an execution down to the application. False if nothing
/// would be left because the other states take more than there is.
fn fill_compute(instance: &mut Instance) -> bool {
    instance.states[State::Compute] = Ticks(0);
    let other: Ticks = instance.states.0.into_iter().sum();
    instance.states[State::Compute] = instance.busy.since(other);
    // Time stamps of neighbouring events are taken one after the other;
    // overhead is extrapolated from samples.
    let estimated = instance.states[State::Overhead];
    let tolerance = estimated + Ticks(instance.busy.0 / 50) + Ticks(10_000);
    other <= instance.busy + tolerance
}

/// What the stream itself and its drainer have to say.
fn sentences_before(parsed: &Parsed) -> Vec<String> {
    let Parsed {
        note,
        open,
        damage,
        process,
    } = parsed;
    let counted = [
        (
            damage.damaged_bytes as u64,
            "bytes of the recording of {process} are damaged; what they held is missing.",
        ),
        (
            damage.cut_bytes as u64,
            "bytes at the end of the recording of {process} are an unfinished block and were left \
             out.",
        ),
        (
            damage.malformed,
            "parts of the recording of {process} could not be understood and were left out.",
        ),
        (
            damage.unknown,
            "parts of the recording of {process} are of a kind that only a newer fathomp knows.",
        ),
        (
            damage.words_lost / 8,
            "or so executions in {process} were lost with the recorder when it was killed.",
        ),
        (
            note.damaged,
            "times the buffers of {process} held what cannot be: the program overwrites memory \
             that is not its own, and its recording is not to be trusted.",
        ),
        (
            note.sites_lost,
            "times a construct of {process} found no more room in the table of places; all such \
             constructs appear as one.",
        ),
        (
            note.threads_lost,
            "threads of {process} were not recorded because too many ran at the same time or \
             memory was short; set {RING_THREADS} to record more, or {RING_KIB}=64 to \
             take less memory.",
        ),
        (
            note.too_deep,
            "executions in {process} were nested more than eight levels deep and count as part of \
             the region around them.",
        ),
        (
            note.executions_merged,
            "executions of regions in {process} were summed per region and thread to keep the \
             recording small: totals are exact, single executions are not shown.",
        ),
        (
            note.executions_lost,
            "executions of regions in {process} were lost because it has too many regions.",
        ),
        (
            note.details_left_out,
            "short waits and loops of {process} were left out of the timeline to keep the \
             recording small; totals include them.",
        ),
    ];
    let mut sentences: Vec<_> = counted
        .into_iter()
        .filter(|&(count, _)| count > 0)
        .map(|(count, sentence)| format!("{count} {sentence}"))
        .collect();
    let mut tell = |sentence: &str| sentences.push(sentence.to_owned());
    if note.disk_full {
        tell(
            "The disk could not take all of the recording of {process}: totals are complete, \
             single executions and details are missing.",
        );
    }
    if damage.salvaged {
        tell(
            "The recorder was killed while it recorded {process}; its last records were found in \
             memory.",
        );
    } else if !note.complete {
        tell("The recording of {process} breaks off before its end.");
    } else if process.end.is_some() {
        // It may take a while to go after it said that it would.
    } else if note.running {
        tell("The {process} was still running when recording ended; it is recorded up to then.");
    } else if note.stack_overflow.is_some() {
        // Said by itself, and why.
    } else if note.forked && *open == 0 {
        // Children of a fork leave by `_exit`, of which nobody is told, and should:
        // what their parent has set up for the end is not theirs to do.
    } else {
        tell(
            "The {process} did not end properly; what it was doing is counted up to its last sign \
             of life.",
        );
    }
    if *open > 0 && process.end.is_some() {
        sentences.push(format!(
            "{open} executions in {{process}} were still going on when it ended and are counted \
             up to then."
        ));
    }
    sentences
}

/// What concerns the recording as a whole.
pub(super) fn check_whole(meta: &Meta, processes: &[Process], problems: &mut Vec<String>) {
    if processes.is_empty() {
        problems.push(
            "No process used OpenMP through fathomp's runtime, so there is nothing to show."
                .to_owned(),
        );
    }
    if meta.outcome.is_none() && meta.format != 0 {
        problems.push(
            "The recorder was stopped before it could note how the program ended.".to_owned(),
        );
    }
}
