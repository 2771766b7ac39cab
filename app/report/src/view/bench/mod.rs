//! What the page about benchmark results says, before it is markup.

mod epcc;
mod figures;
mod findings;
mod tables;

use super::table::Table;
use super::{Fact, words};
use crate::chart::Chart;
use crate::units;
use fathomp_bench::suite::SuiteName;
use fathomp_bench::summary::{Figure, OtherSource, Source, Summary, figures as all_figures};
use serde::Serialize;

/// Curves have as many colours; more columns begin again.
const COLOURS: [&str; 8] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];

/// Everything the template needs.
#[derive(Debug, Serialize)]
pub(crate) struct BenchPage {
    title: String,
    heading: String,
    subtitle: Vec<String>,
    sections: Vec<SuiteSection>,
    findings: Vec<findings::Finding>,
    doubts: Vec<String>,
    skipped: Vec<String>,
    clocks: Vec<Fact>,
    environment: Vec<Environment>,
}

/// One suite.
#[derive(Debug, Serialize)]
struct SuiteSection {
    id: &'static str,
    title: &'static str,
    note: &'static str,
    legend: Vec<Colour>,
    comparison: Option<Comparison>,
    tables: Vec<FoldedTable>,
    groups: Vec<Group>,
}

/// A colour and the column it stands for.
#[derive(Debug, Serialize)]
struct Colour {
    class: &'static str,
    name: String,
}

/// The subject against the best of the others, as a drawing.
#[derive(Debug, Serialize)]
struct Comparison {
    chart: Chart,
    caption: String,
}

/// A table that can be folded away.
#[derive(Debug, Serialize)]
struct FoldedTable {
    title: String,
    open: bool,
    sentence: String,
    table: Table,
}

/// Figures that belong together.
#[derive(Debug, Serialize)]
struct Group {
    title: String,
    figures: Vec<figures::Drawn>,
}

/// The facts of one measurement.
#[derive(Debug, Serialize)]
struct Environment {
    title: String,
    facts: Vec<Fact>,
}

/// The colour of a column.
fn colour(column: usize) -> &'static str {
    COLOURS[column % COLOURS.len()]
}

/// The page; `notes` are added to what makes it doubtful.
pub(crate) fn build(summary: &Summary, notes: &[String]) -> BenchPage {
    let mut hosts: Vec<String> = summary.sources.iter().map(machine).collect();
    hosts.dedup();
    let suites: Vec<SuiteName> = SuiteName::ALL
        .into_iter()
        .filter(|suite| {
            let has_points = summary.points.iter().any(|point| point.suite == *suite);
            has_points || (*suite == SuiteName::Epcc && !summary.epcc.is_empty())
        })
        .collect();
    let heading = match suites.as_slice() {
        [one] => format!("{} benchmark", title(*one)),
        _ => "Benchmarks".to_owned(),
    };
    let mut subtitle = hosts;
    let began = summary
        .sources
        .iter()
        .map(|source| source.began_unix_ns)
        .min();
    subtitle.extend(began.map(|began| {
        let took: u64 = summary.sources.iter().map(|source| source.took_ns).sum();
        format!(
            "{} · took {}",
            units::date(began),
            units::duration(took as f64)
        )
    }));
    let mut doubts: Vec<String> = notes
        .iter()
        .chain(&summary.warnings)
        .map(|one| words::bound(one))
        .collect();
    doubts.extend(summary.others.iter().map(|other| {
        format!(
            "Nothing is known of how quiet the machine of {} was.",
            other.name
        )
    }));
    doubts.dedup();
    let figures = all_figures(summary);
    BenchPage {
        title: format!("{heading} – fathomp"),
        heading,
        subtitle,
        sections: suites
            .iter()
            .map(|suite| section(summary, *suite, &figures))
            .collect(),
        findings: findings::findings(summary, &figures),
        doubts,
        skipped: summary.skipped.clone(),
        clocks: clocks(summary),
        environment: summary
            .sources
            .iter()
            .map(environment)
            .chain(summary.others.iter().map(elsewhere))
            .collect(),
    }
}

/// What the user says of another program's output.
fn elsewhere(other: &OtherSource) -> Environment {
    let fact = |(name, value): &(String, String)| Fact::new(name.clone(), value.clone());
    Environment {
        title: other.name.clone(),
        facts: other.facts.iter().map(fact).collect(),
    }
}

fn title(suite: SuiteName) -> &'static str {
    match suite {
        SuiteName::Epcc => "OpenMP overheads",
        SuiteName::Mcbench => "Memory consistency",
        SuiteName::Access => "Memory access",
    }
}

fn note(suite: SuiteName) -> &'static str {
    match suite {
        SuiteName::Epcc => {
            "Time of some known work with the construct minus time of the same work without it, per construct (EPCC's method). Points are medians over processes of medians over samples; whiskers and ± are 95 % bootstrap intervals of the paired difference."
        }
        SuiteName::Mcbench => {
            "Threads change and read chunks of one array in turns, and do the same on arrays of their own; the difference is what keeping the shared array consistent costs, per million bytes of it (MCBENCH's method)."
        }
        SuiteName::Access => {
            "Time per access over the working set, by order of access, and bandwidth over the number of threads. Upright lines are effective cache sizes: the largest working set before accesses become slower."
        }
    }
}

fn section(summary: &Summary, suite: SuiteName, figures: &[Figure]) -> SuiteSection {
    let here = |column: &usize| {
        summary.points.iter().any(|point| {
            point.suite == suite && point.entries.get(*column).is_some_and(Option::is_some)
        })
    };
    let columns: Vec<usize> = (0..summary.columns.len()).filter(here).collect();
    let mut groups: Vec<Group> = Vec::new();
    for figure in figures.iter().filter(|figure| figure.suite == suite) {
        let drawn = figures::draw(summary, figure);
        match groups.iter_mut().find(|group| group.title == figure.group) {
            Some(group) => group.figures.push(drawn),
            None => groups.push(Group {
                title: figure.group.clone(),
                figures: vec![drawn],
            }),
        }
    }
    SuiteSection {
        id: suite.name(),
        title: title(suite),
        note: note(suite),
        legend: columns
            .iter()
            .map(|column| Colour {
                class: colour(*column),
                name: summary.columns[*column].name.clone(),
            })
            .collect(),
        comparison: figures::comparison(summary, suite),
        tables: match suite {
            SuiteName::Epcc => {
                let ours = tables::folds(summary, suite, &columns).into_iter();
                ours.filter(|fold| !fold.table.rows.is_empty())
                    .chain(in_epcc_form(summary))
                    .collect()
            }
            _ => tables::folds(summary, suite, &columns),
        },
        groups,
    }
}

fn in_epcc_form(summary: &Summary) -> Option<FoldedTable> {
    Some(FoldedTable {
        title: "In EPCC's form".to_owned(),
        open: false,
        sentence: "Microseconds, of the times of the work with the directive (elsewhere on this page, of paired differences).".to_owned(),
        table: epcc::table(summary)?,
    })
}

fn machine(source: &Source) -> String {
    let machine = &source.machine;
    if machine.simulated {
        return format!("{}, calculated: {}", machine.host, machine.processor);
    }
    format!(
        "{}, {}, {}",
        machine.host,
        machine.processor,
        units::plural(machine.processors as u64, "usable processor")
    )
}

/// How times were taken and what was rejected.
fn clocks(summary: &Summary) -> Vec<Fact> {
    let mut facts = Vec::new();
    for source in summary.sources.iter().filter(|one| !one.machine.simulated) {
        let clocks = &source.clocks;
        let name = if summary.sources.len() > 1 {
            format!("Clock ({}, {})", source.suite.name(), source.id)
        } else {
            "Clock".to_owned()
        };
        let cycles = clocks.cycles_per_ns().map_or_else(
            || "; cycles are not known here".to_owned(),
            |(rate, of)| format!("; {rate:.3} cycles per ns ({of})"),
        );
        facts.push(Fact::new(
            name,
            format!(
                "steps of {:.0} ns, {:.1} ns to read{cycles}",
                clocks.resolution_ns, clocks.cost_ns
            ),
        ));
    }
    let estimates = || {
        summary
            .points
            .iter()
            .flat_map(|point| point.entries.iter().flatten())
            .filter_map(|entry| entry.estimate.as_ref())
    };
    if summary.columns.iter().all(|column| column.simulated) {
        return facts;
    }
    let rejected: usize = estimates().map(|one| one.rejected).sum();
    let used: usize = estimates().map(|one| one.spread.samples).sum();
    facts.push(Fact::new(
        "Samples",
        format!(
            "{} used, {} rejected because a thread had lost its processor meanwhile",
            units::count(used as u64),
            units::count(rejected as u64)
        ),
    ));
    facts
}

fn environment(source: &Source) -> Environment {
    let (host, settings) = (&source.machine, &source.settings);
    let threads: Vec<String> = settings.threads.iter().map(u32::to_string).collect();
    let title = format!(
        "{} · {} · {}",
        source.suite.name(),
        units::date(source.began_unix_ns),
        source.id
    );
    if host.simulated {
        let facts = vec![
            Fact::new("Cluster", machine(source)),
            Fact::new("Nodes", threads.join(", ")),
        ];
        return Environment { title, facts };
    }
    let mut facts = vec![
        Fact::new("Machine", machine(source)),
        Fact::new("Kernel", host.kernel.clone()),
        Fact::new(
            "Governor",
            host.governor
                .clone()
                .unwrap_or_else(|| "not known".to_owned()),
        ),
        Fact::new(
            "Load at the start",
            host.load_one_minute
                .map_or_else(|| "not known".to_owned(), |load| format!("{load:.2}")),
        ),
        Fact::new("Threads", threads.join(", ")),
        Fact::new(
            "Sampling",
            format!(
                "{}, {} each, {:.0} µs a sample",
                units::plural(settings.runs.into(), "run"),
                units::plural(settings.samples.into(), "sample"),
                settings.target_us
            ),
        ),
    ];
    facts.push(Fact::new(
        "OMP_WAIT_POLICY, OMP_PROC_BIND",
        format!(
            "{}, {}",
            settings.wait_policy.name(),
            settings.affinity.name()
        ),
    ));
    Environment { title, facts }
}
