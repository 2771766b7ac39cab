//! Doubts about a recording, in sentences.

use crate::facts::{Analysis, Confidence, Problem, Severity};
use crate::symbols::Symbols;
use fathomp_trace::model::{Recording, SiteKind};
use fathomp_types::Ending;
use std::path::Path;

/// Recording that costs more than this fraction of a region is worth a word.
const INTRUSIVE: f64 = 0.05;

/// All doubts, worst first; `symbols` have named the places.
pub(crate) fn find(recording: &Recording, analysis: &Analysis, symbols: &Symbols) -> Vec<Problem> {
    let mut list = List(Vec::new());
    for sentence in &recording.problems {
        let severity = if sentence.starts_with("No process") {
            Severity::Error
        } else {
            Severity::Warning
        };
        list.add(severity, sentence.clone());
    }
    existence(&mut list, recording, analysis);
    foreign_recorders(&mut list, analysis);
    completeness(&mut list, analysis);
    circumstances(&mut list, analysis);
    places(&mut list, recording, analysis, symbols);
    list.0.sort_by_key(|problem| problem.severity);
    list.0
}

struct List(Vec<Problem>);

impl List {
    fn add(&mut self, severity: Severity, sentence: String) {
        let known = self.0.iter().any(|problem| problem.sentence == sentence);
        if !known {
            self.0.push(Problem { severity, sentence });
        }
    }
}

fn existence(list: &mut List, recording: &Recording, analysis: &Analysis) {
    if let Some(overflow) = &analysis.program.stack_overflow {
        let mut sentence = overflow.to_string();
        if let Some(first) = sentence.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        list.add(
            Severity::Error,
            format!("{sentence}. What was done until then is shown."),
        );
    }
    match recording.meta.outcome {
        Some(Ending::Signalled(_)) if analysis.program.stack_overflow.is_some() => {}
        Some(killed @ Ending::Signalled(_)) => list.add(
            Severity::Warning,
            format!("The program was ended by {killed}; what it did until then is shown."),
        ),
        Some(left @ Ending::Exited(code)) if code != 0 => {
            list.add(Severity::Note, format!("The program left with {left}."));
        }
        _ => {}
    }
    if recording.processes.is_empty() {
        // The reader has said so, unless the recording is no file's.
        if recording.problems.is_empty() {
            list.add(
                Severity::Error,
                "No process used OpenMP through fathomp's runtime, so there is nothing to show."
                    .to_owned(),
            );
        }
    } else if analysis.regions.len() <= 1 {
        list.add(
            Severity::Error,
            "The program never entered a parallel region, so all its time is serial.".to_owned(),
        );
    }
}

/// What recorders outside of the runtime did not see, or were told wrongly.
fn foreign_recorders(list: &mut List, analysis: &Analysis) {
    for foreign_recorder in &analysis.program.foreign_recorders {
        let runtime = &foreign_recorder.runtime;
        for limit in &foreign_recorder.limits {
            list.add(Severity::Note, format!("{limit} (Watching {runtime}.)"));
        }
        for lapse in &foreign_recorder.lapses {
            list.add(Severity::Note, format!("{lapse} (Watching {runtime}.)"));
        }
    }
    let intrusion = &analysis.intrusion;
    if analysis
        .program
        .foreign_recorders
        .iter()
        .any(|one| one.events > 0)
    {
        list.add(
            Severity::Note,
            format!(
                "Watching took {:.0} ns for each of {} events, {:.2} % of the time of all threads.",
                intrusion.event_cost_ns,
                intrusion.events,
                100.0 * intrusion.fraction
            ),
        );
    }
}

fn completeness(list: &mut List, analysis: &Analysis) {
    let named = |confidence: Confidence| {
        let names: Vec<&str> = analysis
            .regions
            .iter()
            .filter(|region| region.kind != SiteKind::Serial && region.confidence == confidence)
            .map(|region| region.name.as_str())
            .collect();
        (!names.is_empty()).then(|| listed(&names))
    };
    if let Some(names) = named(Confidence::Incomplete) {
        list.add(
            Severity::Warning,
            format!(
                "Some threads left no record of some executions of {names}; their waits were completed from the threads that did."
            ),
        );
    }
    if let Some(names) = named(Confidence::Merged) {
        list.add(
            Severity::Note,
            format!(
                "Executions of {names} were recorded as sums: single lengths, fork times and imbalance that moves between threads are averages."
            ),
        );
    }
    if let Some(omitted) = Some(analysis.timeline.threads_omitted).filter(|n| *n > 0) {
        list.add(
            Severity::Note,
            format!(
                "The timeline leaves out the {omitted} {} that spent least time in regions.",
                plural(u64::from(omitted), "thread", "threads")
            ),
        );
    }
    let intrusion = &analysis.intrusion;
    if intrusion.fraction.max(intrusion.worst_region_fraction) > INTRUSIVE {
        list.add(
            Severity::Warning,
            format!(
                "Recording took about {:.1} % of the time of all threads, and {:.0} % in the region it disturbed most; very short regions look longer than they are.",
                100.0 * intrusion.fraction,
                100.0 * intrusion.worst_region_fraction
            ),
        );
    }
}

fn circumstances(list: &mut List, analysis: &Analysis) {
    let processes = &analysis.processes;
    if !processes.is_empty() && processes.iter().all(|process| !process.hardware_counters) {
        list.add(
            Severity::Note,
            "Cycles and instructions were not counted because this machine does not let programs count them (perf_event_paranoid, or no counters in a virtual machine).".to_owned(),
        );
    }
    let machine = &analysis.program.machine;
    if let Some(crowded) = analysis.program.crowded(analysis.team_size) {
        let host = crowded.host.map(|name| format!(" of host {name}"));
        list.add(
            Severity::Warning,
            format!(
                "{} threads shared {} {}{}: waits include time without a processor.",
                crowded.threads,
                crowded.processors,
                plural(u64::from(crowded.processors), "processor", "processors"),
                host.unwrap_or_default(),
            ),
        );
    }
    if let Some(governor) = &machine.governor
        && governor != "performance"
    {
        list.add(
            Severity::Note,
            format!(
                "The frequency governor is \"{governor}\": the clock may differ between runs and thread counts."
            ),
        );
    }
    let unlike: Vec<&str> = analysis
        .regions
        .iter()
        .filter(|region| region.kind != SiteKind::Serial)
        .filter(|region| {
            region
                .threads
                .windows(2)
                .any(|two| two[0].floats != two[1].floats)
        })
        .map(|region| region.name.as_str())
        .collect();
    if !unlike.is_empty() {
        list.add(
            Severity::Warning,
            format!(
                "Threads executed {} with different floating-point environments (rounding, flush-to-zero): results depend on which thread computes what. Programs of gcc hand on an environment only when threads are created.",
                listed(&unlike)
            ),
        );
    }
    let concurrent: Vec<&str> = analysis
        .regions
        .iter()
        .filter(|region| region.concurrent)
        .map(|region| region.name.as_str())
        .collect();
    if !concurrent.is_empty() {
        list.add(
            Severity::Note,
            format!(
                "Several threads executed {} at the same time: its times may add up to more than the program's.",
                listed(&concurrent)
            ),
        );
    }
}

fn places(list: &mut List, recording: &Recording, analysis: &Analysis, symbols: &Symbols) {
    let without_lines = symbols.without_lines();
    let (there, gone): (Vec<&Path>, Vec<&Path>) =
        without_lines.iter().partition(|path| path.exists());
    let names = |paths: &[&Path]| {
        let names: Vec<String> = paths
            .iter()
            .map(|path| path.file_name().unwrap_or(path.as_os_str()))
            .map(|name| name.to_string_lossy().into_owned())
            .filter(|name| !name.is_empty())
            .collect();
        let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
        (!names.is_empty()).then(|| (listed(&borrowed), names.len() as u64))
    };
    if let Some((names, count)) = names(&there) {
        list.add(
            Severity::Note,
            format!(
                "{names} {} no debug information, so regions in {} are named by function and address; compile with -g to see lines.",
                plural(count, "has", "have"),
                plural(count, "it", "them")
            ),
        );
    }
    if let Some((names, count)) = names(&gone) {
        list.add(
            Severity::Warning,
            format!(
                "{names} {} no longer where {} when the program ran, so regions in {} are named by address alone.",
                plural(count, "is", "are"),
                plural(count, "it was", "they were"),
                plural(count, "it", "them")
            ),
        );
    }
    let started = analysis.program.started_unix_ns;
    let mut modules: Vec<&Path> = recording
        .processes
        .iter()
        .flat_map(|process| &process.sites)
        .map(|site| site.module.as_path())
        .filter(|module| !module.as_os_str().is_empty())
        .collect();
    modules.sort();
    modules.dedup();
    for module in modules {
        if symbols.is_changed(module) {
            list.add(
                Severity::Note,
                format!(
                    "{} is no longer the program that ran: its regions have the names that they had then, and other places in it have addresses.",
                    module.display()
                ),
            );
            continue;
        }
        let changed = std::fs::metadata(module)
            .and_then(|metadata| metadata.modified())
            .ok()
            .and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        if started > 0 && changed.is_some_and(|at| at.as_nanos() > u128::from(started)) {
            list.add(
                Severity::Warning,
                format!(
                    "{} was changed after the recording was made, so lines and functions may be wrong.",
                    module.display()
                ),
            );
        }
    }
}

fn plural(count: u64, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

/// "a", "a and b", "a, b, c and 4 more".
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] if names.len() <= 4 => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", names[..3].join(", "), names.len() - 3),
    }
}
