//! The result as text for a terminal.

use super::document::{Counted, Document, Percent, Row};
use super::published::{PublishedRow, published_range_percent};
use fathomp_tables::Grid;
use fathomp_types::text::{NO_TERMINAL, one_line, shorten};
use std::fmt::Write as _;

/// Characters of the longest writer, program and arguments; longer ones are shortened.
const WORDS_MAX: [usize; 3] = [24, 16, 20];

/// The table as published, what was measured first, and what makes it doubtful.
#[must_use]
pub fn table(document: &Document) -> String {
    let mut out = String::new();
    let machine = &document.machine;
    let load = machine
        .load_one_minute
        .map_or_else(String::new, |load| format!(", load {load:.1}"));
    let rounds = document.rounds.len();
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(
        out,
        "intrusion: {}, {} usable processors, Linux {}{load}; {rounds} round{} in random order (seed {})",
        machine.processor,
        machine.processors,
        machine.kernel,
        if rounds == 1 { "" } else { "s" },
        document.seed,
    );
    let named = Grid::new("writer").words("program", 0).words("class", 0);
    let mut grid = named.columns(TITLES);
    let published = document.published.iter().map(published);
    for (name, cells) in document.rows.iter().map(measured).chain(published) {
        grid.row(name, cells);
    }
    for (index, line) in grid.render(NO_TERMINAL).lines().enumerate() {
        if index == 0 || index == document.rows.len() + 1 {
            out.push('\n');
        }
        let _ = writeln!(out, "{line}");
    }
    remarks(&mut out, document);
    out
}

/// Of the columns of numbers.
const TITLES: [&str; 12] = [
    "nodes",
    "profiled",
    "without",
    "with",
    "bytes/node",
    "intrusion",
    "95 %",
    "user",
    "user with",
    "changes",
    "merged",
    "lost",
];

/// The name of a row, and its cells.
type Cells = (String, Vec<String>);

fn measured(row: &Row) -> Cells {
    let words = |text: &str, most: usize| shorten(&one_line(text), most);
    let cells = vec![
        words(&row.benchmark, WORDS_MAX[1]),
        words(&row.class, WORDS_MAX[2]),
        row.nodes.to_string(),
        row.nodes_profiled.to_string(),
        seconds(row.seconds_without),
        seconds(row.seconds_with),
        row.trace_bytes_per_node.to_string(),
        percent(row.intrusion.value),
        range(&row.intrusion),
        seconds(row.user_seconds_without),
        seconds(row.user_seconds_with),
        row.state_changes.to_string(),
        row.merged.to_string(),
        row.lost.to_string(),
    ];
    (words(&row.writer, WORDS_MAX[0]), cells)
}

fn published(row: &PublishedRow) -> Cells {
    let mut cells = vec![
        row.benchmark.clone(),
        row.class.clone(),
        row.nodes.to_string(),
        row.nodes_profiled.to_string(),
        seconds(row.seconds_without),
        seconds(row.seconds_with),
        row.trace_bytes_per_node.to_string(),
        percent(row.intrusion_percent()),
    ];
    // Nothing else was published.
    cells.resize(2 + TITLES.len(), "-".to_owned());
    ("published".to_owned(), cells)
}

fn remarks(out: &mut String, document: &Document) {
    out.push('\n');
    let _ = writeln!(
        out,
        "Times are medians in seconds, user those in user mode of all of the program's processes; intrusion is the median of the rounds' ratios with its 95 % bootstrap interval."
    );
    let counted = document.rows.first().map(|row| row.counted);
    let nodes = match counted {
        Some(Counted::Nodes) => "nodes of the program",
        Some(Counted::Ranks) => "ranks of the program",
        Some(Counted::Tasks) | None => "threads of all processes",
    };
    let _ = writeln!(
        out,
        "Nodes: {nodes}; each node of the Paragon ran one task."
    );
    for row in document
        .rows
        .iter()
        .filter(|row| row.intrusion.may_be_none())
    {
        let _ = writeln!(
            out,
            "{}: {} cannot be distinguished from no cost in {} round{}.",
            row.writer,
            percent(row.intrusion.value),
            row.pairs,
            if row.pairs == 1 { "" } else { "s" },
        );
    }
    let quicker = |row: &&Row| {
        let interval = row.intrusion.interval;
        interval.is_some_and(|interval| interval.high < 0.0)
    };
    for row in document.rows.iter().filter(quicker) {
        let _ = writeln!(
            out,
            "{}: it took less time with recording: how threads are placed, or the like, makes more of a difference to so short runs; measure longer ones.",
            row.writer
        );
    }
    if let Some((least, most)) = published_range_percent(&document.published) {
        let _ = writeln!(
            out,
            "Published (Wang and Marinescu 1995, Intel Paragon): {} to {}.",
            percent(least),
            percent(most)
        );
    }
    if !document.skipped.is_empty() {
        let _ = writeln!(out, "\nSkipped:");
        for what in &document.skipped {
            let _ = writeln!(out, "  {what}");
        }
    }
    for warning in &document.warnings {
        let _ = writeln!(out, "\n{warning}");
    }
}

fn seconds(value: f64) -> String {
    match value {
        value if value >= 10.0 => format!("{value:.2}"),
        value => format!("{value:.3}"),
    }
}

fn percent(value: f64) -> String {
    format!("{value:+.1} %")
}

fn range(percent: &Percent) -> String {
    percent.interval.map_or_else(
        || "-".to_owned(),
        |interval| format!("{:+.1} to {:+.1}", interval.low, interval.high),
    )
}

#[cfg(test)]
mod tests {
    use super::super::document::tests::{document, rounds};
    use super::*;

    #[test]
    fn what_was_measured_stands_above_the_published_rows() {
        let mut document = document(rounds(), &["shared", "task"]);
        document.warnings.push("The machine was busy.".into());
        let text = table(&document);
        let at = |words: &str| {
            let line = text.lines().position(|line| line.contains(words));
            line.unwrap_or_else(|| panic!("{words}:\n{text}"))
        };
        let ours = text.lines().nth(at("shared  ")).unwrap();
        assert!(ours.contains("prog") && ours.contains("+10.0 %"), "{ours}");
        assert!(ours.contains("--size 7") && ours.contains("1500"), "{ours}");
        assert!(at("shared  ") < at("published  EP"));
        assert!(at("published  SP") < at("+0.6 % to +184.1 %"));
        assert!(at("Skipped:") < at("task: "));
        at("The machine was busy.");
        assert!(!text.contains("cannot be told"), "{text}");
        let lines = text.lines().filter(|line| line.starts_with("published "));
        assert_eq!(lines.count(), document.published.len());
    }

    #[test]
    fn columns_stand_below_their_titles() {
        let document = document(rounds(), &["shared"]);
        let text = table(&document);
        let of = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap();
        let end = |line: &str, word: &str| line.find(word).unwrap() + word.len();
        let (titles, ours) = (of("writer"), of("shared"));
        assert_eq!(end(titles, "bytes/node"), end(ours, "1500"));
        assert_eq!(end(titles, "intrusion"), end(ours, "+10.0 %"));
    }
}
