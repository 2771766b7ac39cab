//! What `fathomp skyline` prints.

mod faults;
mod gang;
mod options;
mod profile;
mod relations;
mod tasks;

pub use gang::gang;
pub use options::SkylineOptions;

use crate::facts::{Circumstances, PagingFacts};
use crate::section::{choice, words};
use fathomp_report::text::{WIDTH_MIN, printable, wrapped};
use fathomp_skyline::{CounterFacts, Fact, Finding, Shape};
use fathomp_types::units::{self, duration, percent};
use options::INDENT;

/// What a paging recording shows: what follows from it first, then numbers and curves.
#[must_use]
pub fn skyline(paging: &PagingFacts, options: &SkylineOptions) -> String {
    let options = SkylineOptions {
        width: options.width.max(WIDTH_MIN),
        ..options.clone()
    };
    let places: Vec<usize> = match &options.tasks {
        Some(tasks) => tasks
            .iter()
            .filter_map(|task| paging.place(*task))
            .collect(),
        None => choice::tasks(paging, SkylineOptions::TASKS_MAX),
    };
    let width = options.width;
    let mut text = wrapped(&headline(paging), width, "");
    findings(&mut text, paging, width);
    let (mut chosen, few) = choice::counters(paging, options.states);
    let left_out = if options.all_counters {
        Vec::new()
    } else {
        let (matter, others) = choice::those_that_matter(paging, chosen);
        chosen = matter;
        let mut more = chosen.split_off(chosen.len().min(SkylineOptions::COUNTERS_MAX));
        more.extend(others);
        more
    };
    text.push('\n');
    text.push_str(&tasks::table(paging, &places, &options));
    for one in &chosen {
        text.push('\n');
        text.push_str(&profile::show(paging, *one, &places, &options));
    }
    let sampled = paging.recording.sampling_ns.is_some();
    let others = others(&left_out, &few, sampled);
    if !others.is_empty() {
        text.push('\n');
        text.push_str(&wrapped(&others, width, ""));
    }
    for part in [
        relations::correlations(paging, &chosen, width),
        relations::periods(&chosen, width),
        relations::synchronisation(&chosen, width),
        relations::servers(paging, width),
        relations::loads(paging, width),
        faults::show(paging, width),
        faults::memory(paging, width),
    ]
    .into_iter()
    .flatten()
    {
        text.push('\n');
        text.push_str(&part);
    }
    trust(&mut text, paging, width);
    text
}

fn headline(paging: &PagingFacts) -> String {
    let analysis = &paging.analysis;
    let window = &analysis.window;
    let part = if window.is_whole {
        String::new()
    } else {
        format!(" from {} on", duration(window.from_ns as f64))
    };
    let alive = analysis.tasks.iter().filter(|task| choice::is_alive(task));
    let mut processes: Vec<u32> = alive.map(|task| task.process).collect();
    processes.sort_unstable();
    processes.dedup();
    format!(
        "{}: {} of {} over {}{part}, in {} of {}.",
        printable(&paging.program),
        units::plural(choice::alive(paging) as u64, "task"),
        match processes.len() as u64 {
            1 => "1 process".to_owned(),
            more => format!("{} processes", units::count(more)),
        },
        duration(window.ns() as f64),
        units::plural(window.bins as u64, "bin"),
        duration(window.bin_ns as f64)
    )
}

fn findings(text: &mut String, paging: &PagingFacts, width: usize) {
    // What is no picture is said in the place of the picture.
    let is_first = |finding: &&Finding| {
        let of_picture = matches!(finding.fact, Fact::ManyPeaks { .. } | Fact::TooFew { .. });
        !of_picture
    };
    let findings: Vec<&Finding> = paging.analysis.findings.iter().filter(is_first).collect();
    if !findings.is_empty() {
        text.push('\n');
    }
    for finding in findings {
        let mut say = |mark: &str, sentence: &str| {
            text.push_str(mark);
            text.push_str(&wrapped(&printable(sentence), width - INDENT.len(), INDENT));
        };
        say("* ", &finding.sentence);
        if !finding.evidence.is_empty() {
            say(INDENT, &finding.evidence);
        }
    }
}

/// What is not drawn.
fn others(left_out: &[choice::Chosen<'_>], few: &[&CounterFacts], sampled: bool) -> String {
    let named = |facts: &CounterFacts| {
        let amount = words::amount(facts.counter, facts.total);
        format!("{} ({amount})", words::counter(facts.counter))
    };
    let mut sentences = Vec::new();
    let is_unknown = |facts: &CounterFacts| {
        let first = facts.profiles.first();
        first.is_some_and(|profile| profile.shape == Shape::Unknown)
    };
    let listed = |unknown: bool| -> Vec<String> {
        let some = few.iter().filter(|facts| is_unknown(facts) == unknown);
        some.map(|facts| named(facts)).collect()
    };
    let (too_few, unknown) = (listed(false), listed(true));
    if !too_few.is_empty() {
        sentences.push(format!("Too few for a picture: {}.", too_few.join(", ")));
    }
    if !unknown.is_empty() {
        sentences.push(format!(
            "Counted over long stretches only, so that the moments are not known: {}{}.",
            unknown.join(", "),
            match sampled {
                true => "",
                false => " (`fathomp record --sample 1ms` tells)",
            }
        ));
    }
    if !left_out.is_empty() {
        let names: Vec<String> = left_out.iter().map(|one| named(one.facts)).collect();
        sentences.push(format!(
            "Also counted: {} (--counter NAME shows them).",
            names.join(", ")
        ));
    }
    sentences.join(" ")
}

/// How far it can be trusted.
fn trust(text: &mut String, paging: &PagingFacts, width: usize) {
    let Circumstances {
        part,
        deviations,
        io_calls,
        merged,
        lost,
        problems,
        ..
    } = &paging.recording;
    let mut doubts: Vec<String> = problems.clone();
    let said = paging.analysis.problems.iter();
    doubts.extend(said.map(|problem| problem.sentence.clone()));
    doubts.extend(deviations.iter().cloned());
    doubts.dedup();
    let mut facts = Vec::new();
    if !part.is_empty() {
        facts.push(format!("recorded: {part}"));
    }
    if let Some((seen, made)) = io_calls.filter(|(_, made)| *made > 0) {
        facts.push(format!(
            "I/O calls seen: {}",
            percent(seen as f64 / made as f64)
        ));
    }
    if *merged > 0 {
        facts.push(format!("stays merged: {}", units::count(*merged)));
    }
    if *lost > 0 {
        facts.push(format!("changes lost: {}", units::count(*lost)));
    }
    if facts.is_empty() && doubts.is_empty() {
        return;
    }
    text.push('\n');
    if !facts.is_empty() {
        let mut line = facts.join("; ");
        if let Some(first) = line.get(..1) {
            line = first.to_uppercase() + &line[1..];
        }
        text.push_str(&wrapped(&(line + "."), width, ""));
    }
    for doubt in doubts {
        text.push_str("! ");
        text.push_str(&wrapped(&printable(&doubt), width - INDENT.len(), INDENT));
    }
}
