//! The sentences at the top of the page.

use crate::units;
use fathomp_bench::suite::SuiteName;
use fathomp_bench::summary::{Figure, LIMIT, Quantity, Summary};
use serde::Serialize;

/// More names in a sentence are counted instead.
const NAMES_MAX: usize = 6;

/// A sentence and what kind of thing it says.
#[derive(Debug, Serialize)]
pub(crate) struct Finding {
    kind: &'static str,
    text: String,
}

/// How the columns compare, what false sharing costs, how large caches are.
pub(super) fn findings(summary: &Summary, figures: &[Figure]) -> Vec<Finding> {
    let mut found = verdicts(summary);
    found.extend(sharing(figures));
    found.extend(consistency(summary));
    found.extend(caches(summary));
    found
}

fn verdicts(summary: &Summary) -> Vec<Finding> {
    let Some(subject) = summary.subject else {
        return Vec::new();
    };
    let name = &summary.columns[subject].name;
    let sentence = |verdict: &fathomp_bench::summary::Verdict| {
        let mut text = format!(
            "With {}, constructs cost {name} {} times what they cost the best of the others (geometric mean over {}, 95 % interval {} to {}).",
            units::plural(verdict.threads.into(), "thread"),
            units::ratio(verdict.geometric_mean),
            units::plural(verdict.rows as u64, "row"),
            units::ratio(verdict.interval.low),
            units::ratio(verdict.interval.high),
        );
        if !verdict.above_limit.is_empty() {
            text.push_str(&format!(
                " Clearly above {LIMIT}: {}.",
                names(&verdict.above_limit)
            ));
        }
        if !verdict.failed.is_empty() {
            text.push_str(&format!(" Failed: {}.", names(&verdict.failed)));
        }
        Finding {
            kind: "Overhead",
            text,
        }
    };
    summary.verdicts.iter().map(sentence).collect()
}

fn names(all: &[String]) -> String {
    let shown = all[..all.len().min(NAMES_MAX)].join(", ");
    match all.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The dearest chunk against the cheapest, for the first column.
fn sharing(figures: &[Figure]) -> Option<Finding> {
    let figure = figures.iter().find(|figure| {
        figure.suite == SuiteName::Mcbench
            && figure.quantity == Quantity::OverheadNsPerMb
            && figure.x == "chunk"
    })?;
    let series = figure.series.first()?;
    let (first, last) = (series.points.first()?, series.points.last()?);
    if first[2] <= 0.0 {
        return Some(Finding {
            kind: "Sharing",
            text: format!(
                "{}: what keeping shared memory consistent costs is too small to be seen here ({}).",
                series.name, figure.fixed
            ),
        });
    }
    let ns = figure.ns_per_unit();
    let factor = first[1] / last[1];
    let compared = if last[1] > 0.0 && factor.is_finite() {
        format!(
            ": the small ones cost {} times as much",
            units::ratio(factor)
        )
    } else {
        String::new()
    };
    Some(Finding {
        kind: "Sharing",
        text: format!(
            "{}: chunks of {} cost {} per MB, chunks of {} {}{compared} ({}).",
            series.name,
            units::bytes(first[0] as u64),
            units::duration(first[1] * ns),
            units::bytes(last[0] as u64),
            units::duration(last[1] * ns),
            figure.fixed
        ),
    })
}

/// What costs of consistency follow, and the unit of coherence.
fn consistency(summary: &Summary) -> Vec<Finding> {
    let facts = |column: usize| {
        let facts = &summary.columns[column];
        let protocol = facts.column.protocol.as_deref();
        (facts.name.clone(), protocol, summary.members(&[column]))
    };
    let laws = summary.laws.iter().map(|law| {
        let (name, protocol, _) = facts(law.column);
        ("Law", format!("{name}, {}", law.sentence(protocol)))
    });
    let units = summary.units.iter().map(|unit| {
        let (name, protocol, members) = facts(unit.column);
        let words = format!(
            "{name}, {} {members}: {}",
            unit.threads,
            unit.sentence(protocol)
        );
        ("Coherence", words)
    });
    laws.chain(units)
        .map(|(kind, text)| Finding { kind, text })
        .collect()
}

fn caches(summary: &Summary) -> Option<Finding> {
    let finding = summary.caches.first()?;
    let levels: Vec<String> = finding
        .plateaus
        .iter()
        .map(|level| {
            let up_to = if level.open {
                "beyond".to_owned()
            } else {
                format!("up to {}", units::bytes(level.bytes))
            };
            format!("{:.1} ns {up_to}", level.access_ns)
        })
        .collect();
    Some(Finding {
        kind: "Caches",
        text: format!("A dependent load takes {}.", levels.join(", ")),
    })
}
