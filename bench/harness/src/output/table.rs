//! The summary as text for a terminal.

use crate::summary::{
    ColumnFacts, Estimate, LIMIT, OverTeams, Point, Quantity, Ratio, Summary, Value, Verdict, size,
};
use fathomp_tables::Grid;
use fathomp_types::text::NO_TERMINAL;
use std::fmt::Write as _;

/// One table per suite, team size and quantity, what they add up to, and what
/// makes them doubtful.
#[must_use]
pub fn table(summary: &Summary) -> String {
    let mut out = String::new();
    for source in &summary.sources {
        let machine = &source.machine;
        if machine.simulated {
            // Writing to a String cannot fail, here and below.
            let _ = writeln!(
                out,
                "{}: calculated for {}: {}; that took {:.0} s",
                source.suite.name(),
                machine.host,
                machine.processor,
                source.took_ns as f64 * 1e-9,
            );
            continue;
        }
        let _ = writeln!(
            out,
            "{}: {}, {} usable processors, Linux {}, governor {}; {} samples in each of {} runs, {:.0} s",
            source.suite.name(),
            machine.processor,
            machine.processors,
            machine.kernel,
            machine.governor.as_deref().unwrap_or("not known"),
            source.settings.samples,
            source.settings.runs,
            source.took_ns as f64 * 1e-9,
        );
        let clocks = &source.clocks;
        let cycles = clocks
            .cycles_per_ns()
            .map_or_else(String::new, |(rate, of)| {
                format!("; {rate:.2} cycles per ns ({of})")
            });
        let _ = writeln!(
            out,
            "clock: steps of {:.0} ns, {:.0} ns to read{cycles}",
            clocks.resolution_ns, clocks.cost_ns
        );
    }
    for points in sets(summary) {
        if points.iter().any(|point| summary.is_measured(point)) {
            out.push('\n');
            set(&mut out, summary, &points);
        }
    }
    for column in 0..summary.columns.len() {
        if let Some(teams) = OverTeams::of(summary, column) {
            over_teams(&mut out, &teams);
        }
    }
    for finding in &summary.caches {
        out.push('\n');
        let _ = writeln!(
            out,
            "Effective cache sizes by {} with {}:",
            finding.row, summary.columns[finding.column].name
        );
        for level in &finding.plateaus {
            let _ = writeln!(
                out,
                "  {:>8.2} ns per access up to {}{}",
                level.access_ns,
                size(level.bytes),
                if level.open {
                    " and beyond (where the sweep ended)"
                } else {
                    ""
                }
            );
        }
    }
    consistency(&mut out, summary);
    remarks(&mut out, summary);
    out
}

/// What costs of consistency follow.
fn consistency(out: &mut String, summary: &Summary) {
    for (column, facts) in summary.columns.iter().enumerate() {
        let protocol = facts.column.protocol.as_deref();
        let laws = summary.laws.iter().filter(|law| law.column == column);
        let laws = laws.map(|law| law.sentence(protocol));
        let units = summary.units.iter().filter(|unit| unit.column == column);
        let lines: Vec<String> = laws
            .chain(units.map(|unit| unit.sentence(protocol)))
            .collect();
        if lines.is_empty() {
            continue;
        }
        let _ = writeln!(
            out,
            "\nCosts of consistency with {}, n threads or nodes:",
            facts.name
        );
        for line in lines {
            let _ = writeln!(out, "  {line}");
        }
    }
}

/// A table of what was calculated for a column: a line for each size of a team.
fn over_teams(out: &mut String, teams: &OverTeams) {
    let _ = writeln!(out, "\n{}", teams.title);
    let columns = teams.cases.iter();
    let mut grid = columns.fold(Grid::new(teams.members), |grid, case| grid.column(case, 0));
    for (team, values) in &teams.rows {
        let cell = |value: &Value| match value {
            Value::Of(value) => number(Some(*value)),
            Value::Failed => "failed".to_owned(),
            Value::Absent => "-".to_owned(),
        };
        grid.row(team.to_string(), values.iter().map(cell).collect());
    }
    out.push_str(&grid.render(NO_TERMINAL));
}

/// Points that share a table: suite, team size and quantity.
pub(super) fn sets(summary: &Summary) -> Vec<Vec<&Point>> {
    let mut sets: Vec<Vec<&Point>> = Vec::new();
    for point in &summary.points {
        let fits = |set: &&mut Vec<&Point>| {
            set.first().is_some_and(|first| {
                (first.suite, first.threads, first.quantity)
                    == (point.suite, point.threads, point.quantity)
            })
        };
        match sets.iter_mut().find(fits) {
            Some(set) => set.push(point),
            None => sets.push(vec![point]),
        }
    }
    sets.sort_by_key(|set| {
        set.first()
            .map(|one| (one.suite, one.threads, one.quantity))
    });
    sets
}

/// What the numbers of a table are, whose first point is that.
pub(super) fn title(summary: &Summary, first: &Point, columns: &[usize]) -> String {
    let crowded = columns
        .iter()
        .any(|index| !summary.columns[*index].has_room(first.threads));
    format!(
        "{}, {}{}: {} in {}",
        first.suite.name(),
        summary.team(first.threads, columns),
        if crowded {
            ", more than processors"
        } else {
            ""
        },
        first.quantity.title(),
        first.quantity.unit(),
    )
}

fn set(out: &mut String, summary: &Summary, points: &[&Point]) {
    let Some(first) = points.first() else { return };
    // Columns of other suites or machines have nothing here.
    let columns: Vec<usize> = (0..summary.columns.len())
        .filter(|index| points.iter().any(|point| point.entries[*index].is_some()))
        .collect();
    let quantity = first.quantity;
    let _ = writeln!(out, "{}, median (quiet)", title(summary, first, &columns));
    let mut grid = Grid::new("case");
    if quantity.is_overhead() {
        grid = grid.column("work", 0);
    }
    for index in &columns {
        grid = grid.column(&summary.columns[*index].name, 0);
    }
    let compared = points.iter().any(|point| point.against_best().is_some());
    if compared {
        grid = grid.column("ratio", 0).words("95 %", 0);
        grid = grid.column("quiet", 0).words("against", 0);
    }
    for point in points {
        let mut cells = Vec::new();
        if quantity.is_overhead() {
            let mut estimates = columns.iter().filter_map(|index| point.estimate(*index));
            cells.push(number(estimates.find_map(|estimate| estimate.reference_ns)));
        }
        cells.extend(columns.iter().map(|index| match &point.entries[*index] {
            None => "-".to_owned(),
            Some(entry) => entry.estimate.as_ref().map_or("failed".to_owned(), value),
        }));
        if compared {
            cells.extend(comparison(point.against_best(), &summary.columns));
        }
        grid.row(point.name(), cells);
    }
    out.push_str(&grid.render(NO_TERMINAL));
    for verdict in &summary.verdicts {
        let here = (verdict.suite, verdict.threads) == (first.suite, first.threads);
        if here && quantity == Quantity::OverheadNs {
            self::verdict(out, summary, verdict);
        }
    }
}

fn value(estimate: &Estimate) -> String {
    format!(
        "{} ({})",
        number(Some(estimate.value)),
        number(estimate.quiet)
    )
}

/// A ratio, its interval, that of quiet times, and what it is to.
fn comparison(ratio: Option<&Ratio>, columns: &[ColumnFacts]) -> [String; 4] {
    let Some(ratio) = ratio else {
        return ["-", "", "", ""].map(str::to_owned);
    };
    let (low, high) = (factor(ratio.interval.low), factor(ratio.interval.high));
    let doubt = match ratio.at_floor {
        true => " (too small to see)",
        false => "",
    };
    [
        factor(ratio.value),
        format!("{low}-{high}"),
        ratio.quiet.map_or("-".to_owned(), factor),
        format!("{}{doubt}", columns[ratio.against].name),
    ]
}

pub(super) fn verdict(out: &mut String, summary: &Summary, verdict: &Verdict) {
    let Some(subject) = summary.subject else {
        return;
    };
    let _ = writeln!(
        out,
        "{}: geometric mean {:.3} of the best other ({:.3}-{:.3}) over {} rows{}.",
        summary.columns[subject].name,
        verdict.geometric_mean,
        verdict.interval.low,
        verdict.interval.high,
        verdict.rows,
        verdict
            .quiet
            .map_or_else(String::new, |quiet| format!(", {quiet:.3} when quiet"))
    );
    if !verdict.above_limit.is_empty() {
        let _ = writeln!(
            out,
            "Above {LIMIT} with the whole interval: {}.",
            verdict.above_limit.join(", ")
        );
    }
    if !verdict.failed.is_empty() {
        let _ = writeln!(out, "Failed: {}.", verdict.failed.join(", "));
    }
}

/// Failures, what was left out, and doubts.
fn remarks(out: &mut String, summary: &Summary) {
    let mut failures: Vec<String> = Vec::new();
    let (mut rejected, mut samples) = (0, 0);
    for point in &summary.points {
        for (index, entry) in point.entries.iter().enumerate() {
            let Some(entry) = entry else { continue };
            if let Some(failure) = &entry.failure {
                failures.push(format!(
                    "{} with {} at {} {failure}",
                    point.name(),
                    summary.columns[index].name,
                    summary.team(point.threads, &[index])
                ));
            }
            if let Some(estimate) = &entry.estimate {
                rejected += estimate.rejected;
                samples += estimate.spread.samples + estimate.rejected;
            }
        }
    }
    out.push('\n');
    for failure in &failures {
        let _ = writeln!(out, "Failed: {failure}.");
    }
    for skipped in &summary.skipped {
        let _ = writeln!(out, "Skipped: {skipped}.");
    }
    for warning in &summary.warnings {
        let _ = writeln!(out, "Note: {warning}");
    }
    if summary.columns.iter().all(|column| column.simulated) {
        return;
    }
    let _ = writeln!(
        out,
        "{rejected} of {samples} samples were rejected because a thread lost its processor meanwhile."
    );
}

/// A ratio, with as many digits as say something.
pub(super) fn factor(value: f64) -> String {
    if value < 99.5 {
        format!("{value:.2}")
    } else {
        format!("{value:.0}")
    }
}

/// Three significant digits, or all before the point.
pub(super) fn number(value: Option<f64>) -> String {
    match value {
        Some(v) if v.is_finite() && v.abs() < 9.95 => format!("{v:.2}"),
        Some(v) if v.is_finite() && v.abs() < 99.5 => format!("{v:.1}"),
        Some(v) if v.is_finite() => format!("{v:.0}"),
        _ => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::summarise;
    use crate::synthetic;

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(Some(4.257)), "4.26");
        assert_eq!(number(Some(42.57)), "42.6");
        assert_eq!(number(Some(123_456.7)), "123457");
        assert_eq!(number(Some(f64::NAN)), "-");
        assert_eq!(number(None), "-");
        assert_eq!(factor(0.987), "0.99");
        assert_eq!(factor(77410.8), "77411");
    }

    #[test]
    fn everything_is_said_once() {
        let documents = [synthetic::epcc(), synthetic::mcbench(), synthetic::access()];
        let text = table(&summarise(&documents, None));
        for part in [
            "epcc, 2 threads: overhead in ns",
            "mcbench, 4 threads: overhead per MB in ns/MB",
            "access, 1 thread: time per access in ns",
            "access, 4 threads: bandwidth in GB/s",
            "DYNAMIC 16",
            "gcc+fathomp: geometric mean",
            "signal 11 (SIGSEGV)",
            "hint.c",
            "3.00 cycles per ns (core clock, measured)",
            "Effective cache sizes by CHASE w",
        ] {
            assert_eq!(text.matches(part).count().min(1), 1, "{part}\n{text}");
        }
        assert!(text.lines().all(|line| line == line.trim_end()));
    }
}
