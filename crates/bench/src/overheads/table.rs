//! Comparisons as text.

use super::compare::{Comparison, LIMIT, Row, Verdict};
use super::{Outcome, Plan};
use std::fmt::Write;

/// Scatter above this is worth a sentence.
const NOISY: f64 = 0.2;

/// The whole outcome as text with one table per configuration.
#[must_use]
pub fn render(outcome: &Outcome) -> String {
    let mut out = String::new();
    let machine = &outcome.machine;
    let _ = writeln!(
        out,
        "{}, {} processors, Linux {}, governor {}",
        machine.processor,
        machine.processors,
        machine.kernel,
        machine.governor.as_deref().unwrap_or("not known")
    );
    for comparison in &outcome.comparisons {
        out.push('\n');
        table(&mut out, &outcome.plan, comparison);
    }
    if !outcome.warnings.is_empty() {
        out.push('\n');
        for warning in &outcome.warnings {
            let _ = writeln!(out, "Note: {warning}");
        }
    }
    out
}

fn table(out: &mut String, plan: &Plan, comparison: &Comparison) {
    let config = comparison.config;
    let _ = writeln!(
        out,
        "{} thread(s), wait policy {}: overhead per construct in nanoseconds, median (quiet)",
        config.threads,
        config.policy.name()
    );
    let _ = write!(out, "{:<25}{:>9}", "construct", "work");
    for runtime in &plan.runtimes {
        let _ = write!(out, "{:>23}", runtime.name);
    }
    if plan.subject.is_some() {
        let _ = write!(
            out,
            "{:>8}  {:<15}{:>7}  against",
            "ratio", "95 % interval", "quiet"
        );
    }
    out.push('\n');
    for row in &comparison.rows {
        line(out, plan, row);
    }
    if let Some(verdict) = &comparison.verdict {
        self::verdict(out, verdict);
    }
    remarks(out, comparison);
}

fn line(out: &mut String, plan: &Plan, row: &Row) {
    let name = if row.judged {
        row.construct.clone()
    } else {
        format!("{} (not judged)", row.construct)
    };
    let _ = write!(out, "{name:<25}{:>9}", number(Some(row.reference_ns)));
    for cost in &row.costs {
        let text = if cost.overhead_ns.is_some() {
            format!("{} ({})", number(cost.overhead_ns), number(cost.quiet_ns))
        } else {
            "failed".to_owned()
        };
        let _ = write!(out, "{text:>23}");
    }
    match &row.ratio {
        Some(ratio) => {
            let interval = format!("{:.2}-{:.2}", ratio.interval.low, ratio.interval.high);
            let _ = write!(
                out,
                "{:>8.2}  {interval:<15}{:>7.2}  {}{}",
                ratio.value,
                ratio.quiet,
                ratio.against,
                if ratio.at_floor {
                    " (too small to see)"
                } else {
                    ""
                }
            );
        }
        None if plan.subject.is_some() => {
            let _ = write!(out, "{:>8}", "-");
        }
        None => {}
    }
    out.push('\n');
}

fn verdict(out: &mut String, verdict: &Verdict) {
    let _ = writeln!(
        out,
        "{}: geometric mean {:.3} of the best other runtime ({:.3}-{:.3}) over {} constructs, {:.3} when quiet.",
        verdict.subject,
        verdict.geometric_mean,
        verdict.interval.low,
        verdict.interval.high,
        verdict.rows,
        verdict.quiet
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

fn remarks(out: &mut String, comparison: &Comparison) {
    let cells = || {
        comparison
            .rows
            .iter()
            .flat_map(|row| row.costs.iter().map(move |cost| (row, cost)))
    };
    for (row, cost) in cells() {
        if let Some(failure) = &cost.failure {
            let _ = writeln!(out, "{} under {}: {failure}.", row.construct, cost.runtime);
        }
    }
    let noisy: Vec<_> = cells()
        .filter_map(|(row, cost)| Some((row, cost, cost.spread?)))
        .filter(|(_, _, spread)| spread.relative_iqr > NOISY)
        .collect();
    let worst = noisy
        .iter()
        .max_by(|a, b| a.2.relative_iqr.total_cmp(&b.2.relative_iqr));
    if let Some((row, cost, spread)) = worst {
        let _ = writeln!(
            out,
            "{} of {} cells are noisy (the middle half of the samples spans over {:.0} % of the median); \
             the worst is {} under {}: {:.0} %, with {} of {} samples outside Tukey's fences.",
            noisy.len(),
            cells().count(),
            100.0 * NOISY,
            row.construct,
            cost.runtime,
            100.0 * spread.relative_iqr,
            spread.outliers,
            spread.samples
        );
    }
}

/// Three significant digits or whole nanoseconds.
fn number(value: Option<f64>) -> String {
    match value {
        Some(v) if !v.is_finite() => "-".to_owned(),
        Some(v) if v.abs() < 99.5 => format!("{v:.1}"),
        Some(v) => format!("{v:.0}"),
        None => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(Some(4.25)), "4.2");
        assert_eq!(number(Some(99.9)), "100");
        assert_eq!(number(Some(123_456.7)), "123457");
        assert_eq!(number(Some(f64::NAN)), "-");
        assert_eq!(number(None), "-");
    }
}
