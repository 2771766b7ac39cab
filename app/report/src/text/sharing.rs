//! What threads share, as tables and sentences.

use super::{Grid, WIDTH_MIN, printable, wrapped};
use crate::units::{NOTHING, count, duration, plural};
use fathomp_shared_lines::{Findings, Kind, SharedLine, Site};

/// Before explanations.
const INDENT: &str = "  ";
/// Findings of a kind that are explained.
const EXPLAINED_MAX: usize = 10;

/// What was found, in at most `width` columns; what is only read if `reads`.
#[must_use]
pub fn sharing(findings: &Findings, reads: bool, width: usize) -> String {
    let width = width.max(WIDTH_MIN);
    let mut text = wrapped(
        &format!(
            "{} on nodes of their own, {} between barriers.",
            plural(findings.threads.into(), "thread"),
            plural(findings.phases, "phase")
        ),
        width,
        "",
    );
    for (kind, title) in [(Kind::False, "False sharing"), (Kind::True, "True sharing")] {
        part(&mut text, findings, kind, title, width);
    }
    let read = findings.of(Kind::ReadMostly).count() as u64;
    if reads {
        part(&mut text, findings, Kind::ReadMostly, "Only read", width);
    } else if read > 0 {
        text.push('\n');
        let line = format!(
            "{} read by several threads and written by none meanwhile (--reads lists them).",
            plural(read, "variable")
        );
        text.push_str(&wrapped(&line, width, ""));
    }
    atomics(&mut text, findings, width);
    text
}

fn part(text: &mut String, findings: &Findings, kind: Kind, title: &'static str, width: usize) {
    text.push('\n');
    let lines: Vec<_> = findings.of(kind).collect();
    if lines.is_empty() {
        text.push_str(&format!("{title}: none was seen.\n"));
        return;
    }
    let mut grid = Grid::new(title)
        .column("Lines", 0)
        .column("Phases", 2)
        .column("Threads", 1)
        .column("Accesses", 1)
        .column("Costs", 0)
        .words("Accessed at", 3);
    for line in &lines {
        let at = line.accesses_at.first().or(line.regions.first());
        let threads = line.writers.len() + line.readers.len();
        grid.row(
            printable(&line.name),
            vec![
                count(line.lines),
                count(line.phases),
                count(threads as u64),
                match line.kind {
                    Kind::ReadMostly => NOTHING.to_owned(),
                    _ => format!("≥ {}", count(line.accesses)),
                },
                cost(line),
                at.map_or(String::new(), short),
            ],
        );
    }
    text.push_str(&grid.render(width));
    if kind == Kind::ReadMostly {
        return;
    }
    for (number, line) in (1..).zip(lines.iter().take(EXPLAINED_MAX)) {
        explain(text, number, line, width);
    }
}

fn cost(line: &SharedLine) -> String {
    match line.est_cost_ns {
        // It was measured to be nothing: a note says why.
        Some(ns) if ns < 0.5 => NOTHING.to_owned(),
        Some(ns) => format!("≥ {}", duration(ns)),
        None => NOTHING.to_owned(),
    }
}

/// `file.c:12`, without the function.
fn short(site: &Site) -> String {
    let label = site.label.split(" (").next().unwrap_or(&site.label);
    printable(label)
}

fn places(sites: &[Site]) -> String {
    let labels: Vec<_> = sites.iter().map(|site| printable(&site.label)).collect();
    labels.join(", ")
}

fn explain(text: &mut String, number: u64, line: &SharedLine, width: usize) {
    text.push('\n');
    let mut say = |sentence: String| {
        text.push_str(INDENT);
        text.push_str(&wrapped(&sentence, width - INDENT.len(), INDENT));
    };
    let what = format!("{number}. {}.", printable(&line.sentence));
    say(what);
    let mut also = |title: &str, sites: &[Site]| {
        if !sites.is_empty() {
            say(format!("{title}: {}.", places(sites)));
        }
    };
    also("Accessed at", &line.accesses_at);
    also("Region", &line.regions);
    also("Allocated at", &line.allocation);
    if let Some(declared) = &line.declared {
        also("Declared at", std::slice::from_ref(declared));
    }
    say(format!("Mend: {}.", printable(&line.mend)));
}

fn atomics(text: &mut String, findings: &Findings, width: usize) {
    if findings.atomics.is_empty() {
        return;
    }
    text.push('\n');
    let mut grid = Grid::new("Atomic instructions")
        .words("Instruction", 0)
        .column("Executed", 0)
        .words("Region", 1);
    for region in &findings.atomics {
        for one in &region.instructions {
            grid.row(
                short(&one.site),
                vec![
                    printable(&one.instruction),
                    count(one.executed),
                    short(&region.region),
                ],
            );
        }
    }
    text.push_str(&grid.render(width));
}
