//! `fathomp regions --overheads`: how often directives were executed, line by line, times what
//! each costs by itself.

use crate::failure::Failure;
use fathomp_analysis::{Analysis, Region, SiteKind, State};
use fathomp_bench::suite::SuiteName;
use fathomp_bench::summary::{Summary, summarise};
use fathomp_report::text::{Grid, duration, percent, short_count};
use fathomp_types::units::plural;
use serde::Serialize;
use std::path::Path;

/// A directive at a place.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Overhead {
    place: String,
    directive: &'static str,
    /// By the team; by all threads where one thread at a time executes it, and of tasks.
    executions: u64,
    /// There were more, which were too short to be recorded one by one.
    at_least: bool,
    /// What one costs by itself, if the result has it.
    each_ns: Option<f64>,
    total_ns: Option<f64>,
    /// Of the program's time.
    share: Option<f64>,
}

/// All of them, and whose prices were used.
#[derive(Debug, Serialize)]
pub(super) struct Overheads {
    /// The column of the result.
    prices_of: String,
    /// Its number of threads.
    threads: u32,
    rows: Vec<Overhead>,
}

/// Joins a recording's counts with a result of `fathomp bench epcc`.
pub(super) fn of(analysis: &Analysis, result: &Path) -> Result<Overheads, Failure> {
    let joined = fathomp_bench::read::read(&[result.to_owned()])?;
    let summary = summarise(&joined.documents, None);
    let costs = Costs::choose(&summary, analysis.team_size).ok_or_else(|| {
        Failure::new(format!(
            "{} has no overheads of directives: make it by `fathomp bench epcc -o FILE`",
            result.display()
        ))
    })?;
    let mut rows = counts(analysis);
    for row in &mut rows {
        row.each_ns = costs.of(row.directive);
        row.total_ns = row.each_ns.map(|each| each * row.executions as f64);
        row.share = row
            .total_ns
            .map(|total| total / (analysis.wall_ns as f64).max(1.0));
    }
    rows.sort_by(|a, b| {
        let total = |row: &Overhead| row.total_ns.unwrap_or(-1.0);
        total(b).total_cmp(&total(a))
    });
    Ok(Overheads {
        prices_of: summary.columns[costs.column].name.clone(),
        threads: costs.threads,
        rows,
    })
}

/// How often each directive was executed where.
fn counts(analysis: &Analysis) -> Vec<Overhead> {
    let mut rows = Vec::new();
    let mut add = |place: &str, directive, executions: u64, at_least| {
        if executions > 0 {
            rows.push(Overhead {
                place: place.to_owned(),
                directive,
                executions,
                at_least,
                each_ns: None,
                total_ns: None,
                share: None,
            });
        }
    };
    let parallel = analysis
        .regions
        .iter()
        .filter(|region| region.kind == SiteKind::Parallel);
    for region in parallel {
        add(&region.place.label, "PARALLEL", region.instances, false);
    }
    for (place, directive, tasks) in tasks(analysis) {
        add(place, directive, tasks, false);
    }
    for one in &analysis.loops {
        // Each thread has a share of each execution.
        let executions = one
            .threads
            .iter()
            .map(|share| share.shares)
            .max()
            .unwrap_or(0);
        add(&one.place.label, "FOR", executions, false);
    }
    let team = u64::from(analysis.team_size.max(1));
    for (state, directive) in [
        (State::ExplicitBarrier, "BARRIER"),
        (State::TaskWait, TASK_WAIT),
        (State::Ordered, "ORDERED"),
    ] {
        let of_team = |count: u64| match state {
            State::ExplicitBarrier => count.div_ceil(team),
            _ => count,
        };
        let at: Vec<_> = analysis
            .waits
            .iter()
            .filter(|one| one.state == state)
            .collect();
        for wait in &at {
            // Regions count all of them, and know no lines.
            let all = (at.len() == 1).then(|| waited(analysis, state));
            let count = all.unwrap_or_default().max(wait.count);
            add(&wait.place.label, directive, of_team(count), true);
        }
    }
    for (place, directive, taken) in mutexes(analysis) {
        add(&place, directive, taken, false);
    }
    rows
}

/// How often threads waited in a state, however shortly.
fn waited(analysis: &Analysis, state: State) -> u64 {
    let regions = analysis.regions.iter();
    regions
        .filter_map(|region| region.wait_counts.get(&state))
        .sum()
}

/// How often critical sections were entered and locks taken. That is counted for each region,
/// waited for or not: it is said of a line if threads waited at no other, else of the region.
fn mutexes(analysis: &Analysis) -> Vec<(String, &'static str, u64)> {
    let taken = || {
        analysis
            .regions
            .iter()
            .filter(|region| region.mutexes_taken > 0)
    };
    let is_mutex = |state: State| matches!(state, State::Critical | State::Lock);
    let at: Vec<_> = analysis
        .waits
        .iter()
        .filter(|one| is_mutex(one.state))
        .collect();
    if let ([wait], 1) = (&at[..], taken().count()) {
        let number = taken().map(|region| region.mutexes_taken).sum();
        let directive = if wait.state == State::Lock {
            LOCK
        } else {
            CRITICAL
        };
        return vec![(wait.place.label.clone(), directive, number)];
    }
    let row = |region: &Region| {
        let some = |state| {
            region
                .wait_counts
                .get(&state)
                .is_some_and(|count| *count > 0)
        };
        let directive = match (some(State::Critical), some(State::Lock)) {
            (true, false) => CRITICAL,
            (false, true) => LOCK,
            _ => MUTEX,
        };
        let place = match region.kind {
            SiteKind::Serial => "serial part".to_owned(),
            _ => region.place.label.clone(),
        };
        (place, directive, region.mutexes_taken)
    };
    taken().map(row).collect()
}

/// Rows of EPCC for what lets one thread in at a time, and the name of one of them where only
/// their sum is known, which has no price.
const CRITICAL: &str = "CRITICAL";
const LOCK: &str = "LOCK/UNLOCK";
const MUTEX: &str = "CRITICAL or LOCK";

/// Rows of EPCC in which a repetition is a task of each thread: made by all of them, or by one;
/// and a task of each thread that waits for it.
const TASKS_OF_ALL: &str = "PARALLEL TASK";
const TASKS_OF_ONE: &str = "MASTER TASK";
const TASK_WAIT: &str = "TASK WAIT";

/// How many tasks were made, those of `taskloop` among them, by the place of the region.
fn tasks(analysis: &Analysis) -> impl Iterator<Item = (&str, &'static str, u64)> {
    analysis.regions.iter().map(|region| {
        let threads = region.threads.iter();
        let makers = threads.filter(|thread| thread.tasks_created > 0).count();
        let directive = match makers {
            0 | 1 => TASKS_OF_ONE,
            _ => TASKS_OF_ALL,
        };
        (region.place.label.as_str(), directive, region.tasks_created)
    })
}

/// Overheads of a column with a number of threads.
struct Costs<'a> {
    summary: &'a Summary,
    column: usize,
    threads: u32,
}

impl<'a> Costs<'a> {
    /// Those of our runtime, or of the first column, with the number of threads next to `team`.
    fn choose(summary: &'a Summary, team: u32) -> Option<Self> {
        let points = || {
            let points = summary.points.iter();
            points.filter(|point| point.suite == SuiteName::Epcc && point.group == "sync")
        };
        let has = |column: &usize| points().any(|point| point.estimate(*column).is_some());
        let ours = summary
            .columns
            .iter()
            .position(|one| one.column.runtime == "fathomp");
        let column = ours
            .filter(has)
            .or_else(|| (0..summary.columns.len()).find(has))?;
        let sizes = points().filter(|point| point.estimate(column).is_some());
        let threads = sizes
            .map(|point| point.threads)
            .min_by_key(|size| size.abs_diff(team))?;
        Some(Self {
            summary,
            column,
            threads,
        })
    }

    /// What one costs.
    fn of(&self, directive: &str) -> Option<f64> {
        let of_team = self.row(directive)?;
        let threads = f64::from(self.threads.max(1));
        Some(match directive {
            TASKS_OF_ALL | TASKS_OF_ONE => of_team / threads,
            // Behind a task, which counts by itself.
            TASK_WAIT => {
                let tasks = self.row(TASKS_OF_ALL)?;
                (of_team - tasks).max(0.0) / threads
            }
            _ => of_team,
        })
    }

    /// What a repetition of a row of EPCC costs.
    fn row(&self, directive: &str) -> Option<f64> {
        let mut points = self.summary.points.iter();
        let point = points.find(|point| {
            point.suite == SuiteName::Epcc
                && point.threads == self.threads
                && point.case.row == directive
                && point.estimate(self.column).is_some()
        })?;
        Some(point.estimate(self.column)?.value.max(0.0))
    }
}

impl Overheads {
    /// As a table.
    pub(super) fn text(&self, width: usize) -> String {
        let mut grid = Grid::new("Line")
            .words("Directive", 0)
            .column("Executions", 0)
            .column("Each", 1)
            .column("Total", 0)
            .column("Share", 1);
        let nothing = || "–".to_owned();
        for row in &self.rows {
            let least = if row.at_least { "> " } else { "" };
            grid.row(
                row.place.clone(),
                vec![
                    row.directive.to_owned(),
                    format!("{least}{}", short_count(row.executions)),
                    row.each_ns.map_or_else(nothing, duration),
                    row.total_ns.map_or_else(nothing, duration),
                    row.share.map_or_else(nothing, percent),
                ],
            );
        }
        format!(
            "{}\nEach: overhead of the directive by itself, of {} with {}. Total: executions times that.\n\
             Critical sections and locks count waited for or not: at their line if threads waited at no other, else at their region.\n\
             Barriers and waits for tasks (>) count where somebody waited long enough to be recorded.\n\
             Tasks count at their region; one of each thread costs what EPCC's row of that name has.\n",
            grid.render(width),
            self.prices_of,
            plural(self.threads.into(), "thread")
        )
    }
}
