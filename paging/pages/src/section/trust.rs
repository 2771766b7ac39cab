//! How far a paging recording can be trusted, and how it was made.

use crate::facts::PagingFacts;
use fathomp_report::section::Fact;
use fathomp_types::text::{list, shorten};
use fathomp_types::units::{self, count, duration, percent};

/// A smaller part of the I/O calls that were seen is a doubt.
const SEEN_MIN: f64 = 0.95;
/// Letters of a sentence.
const SENTENCE_CHARS: usize = 1_000;

/// Doubts, and facts beside them.
pub(crate) fn judge(paging: &PagingFacts) -> (Vec<String>, Vec<Fact>) {
    let recording = &paging.recording;
    let said = paging.analysis.problems.iter().map(|one| &one.sentence);
    let all = recording.problems.iter().chain(said);
    let all = all.chain(&recording.deviations);
    let mut doubts: Vec<String> = Vec::new();
    for sentence in all {
        let sentence = shorten(sentence, SENTENCE_CHARS);
        if !doubts.contains(&sentence) {
            doubts.push(sentence);
        }
    }
    let mut facts = Vec::new();
    if !recording.part.is_empty() {
        facts.push(Fact::new(
            "Tasks recorded",
            format!("{} (recorded_of all)", recording.part),
        ));
    }
    if let Some((seen, made)) = recording.io_calls.filter(|(_, made)| *made > 0) {
        let share = seen as f64 / made as f64;
        let doubt = if share < SEEN_MIN {
            "; what the others did counts as computing"
        } else {
            ""
        };
        facts.push(Fact::new(
            "I/O calls seen",
            format!(
                "{} of {} ({}){doubt}",
                count(seen),
                count(made),
                percent(share)
            ),
        ));
    }
    let none_or = |number: u64| match number {
        0 => "none".to_owned(),
        number => count(number),
    };
    facts.push(Fact::new("Stays merged", none_or(recording.merged)));
    facts.push(Fact::new("Changes of state lost", none_or(recording.lost)));
    (doubts, facts)
}

/// What was recorded where and how, of a page that has no other recording.
pub(crate) fn environment(paging: &PagingFacts) -> Vec<Fact> {
    let recording = &paging.recording;
    let mut facts = vec![
        Fact::code("Command", shorten(&recording.command.join(" "), 2_000)),
        Fact::new(
            "Started",
            match recording.started_unix_ns {
                0 => String::new(),
                at => units::date(at),
            },
        ),
        Fact::new("Hosts", shorten(&list(&recording.hosts), 400)),
    ];
    if let Some(machine) = &recording.machine {
        facts.extend([
            Fact::new("Processor", shorten(&machine.cpu_model, 200)),
            Fact::new("Processors", format!("{} online", machine.cpus_online)),
            Fact::new("Memory", units::bytes(machine.memory_bytes)),
            Fact::new("Kernel", shorten(&machine.kernel, 200)),
        ]);
    }
    facts.extend(how(paging));
    facts.retain(|fact| !fact.value.is_empty());
    facts
}

/// How paging was recorded.
fn how(paging: &PagingFacts) -> Vec<Fact> {
    let recording = &paging.recording;
    vec![
        Fact::new("Paging written by", shorten(&recording.writer, 200)),
        Fact::new(
            "Paging sampled every",
            recording
                .sampling_ns
                .map_or_else(String::new, |ns| duration(ns as f64)),
        ),
        Fact::new(
            "Recorded by",
            match &*recording.fathomp {
                "" => String::new(),
                version => format!("fathomp {}", shorten(version, 40)),
            },
        ),
    ]
}
