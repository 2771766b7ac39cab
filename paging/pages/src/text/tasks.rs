//! A row for each task: its time by state, and what it counted.

use super::options::SkylineOptions;
use crate::facts::PagingFacts;
use crate::section::{choice, words};
use fathomp_paging::{Activity, Counter, State};
use fathomp_report::text::{Grid, printable, wrapped};
use fathomp_skyline::TaskFacts;
use fathomp_types::units::{self, duration, percent};
use std::collections::BTreeSet;

/// The tasks at `places`.
pub(super) fn table(paging: &PagingFacts, places: &[usize], options: &SkylineOptions) -> String {
    let tasks = &paging.analysis.tasks;
    let counters = choice::counted(tasks);
    let mut grid = Grid::new("Task")
        .column("Time", 0)
        .column("Compute", 0)
        .column("I/O", 0)
        .column("Comm", 1)
        .column("Suspended", 1);
    for (number, counter) in counters.iter().enumerate() {
        let title = words::column(*counter);
        // The more it says of paging, the longer it stays.
        grid = grid.column(title, u8::try_from(number + 2).unwrap_or(u8::MAX));
    }
    let hosts: BTreeSet<&str> = tasks.iter().map(|task| task.host.as_str()).collect();
    if hosts.len() > 1 {
        // Names end with hosts.
        grid = grid.whole_names();
    }
    for task in places.iter().filter_map(|place| tasks.get(*place)) {
        grid.row(
            format!("{} {}", task.id.0, printable(&task.label)),
            cells(task, &counters),
        );
    }
    let alive = choice::alive(paging);
    if alive > 1 {
        grid.row("all tasks", sums(tasks, &counters));
    }
    let mut text = grid.render(options.width);
    let left_out = alive.saturating_sub(places.len());
    if left_out > 0 && options.tasks.is_none() {
        let line = format!(
            "{} left out; --tasks LIST shows those with these numbers.",
            units::plural(left_out as u64, "more task")
        );
        text.push_str(&wrapped(&line, options.width, ""));
    }
    text
}

fn cells(task: &TaskFacts, counters: &[Counter]) -> Vec<String> {
    let amounts = counters
        .iter()
        .map(|counter| (*counter, task.totals.get(counter).copied().unwrap_or(0)));
    row(&task.states_ns, task.recorded_ns() as f64, amounts)
}

fn sums(tasks: &[TaskFacts], counters: &[Counter]) -> Vec<String> {
    let mut states_ns = [0u64; State::COUNT];
    for task in tasks {
        for (sum, ns) in states_ns.iter_mut().zip(task.states_ns) {
            *sum = sum.saturating_add(ns);
        }
    }
    let recorded = states_ns.iter().map(|ns| *ns as f64).sum();
    let amounts = counters.iter().map(|counter| {
        let counts = tasks.iter().filter_map(|task| task.totals.get(counter));
        (
            *counter,
            counts.fold(0u64, |sum, count| sum.saturating_add(*count)),
        )
    });
    row(&states_ns, recorded, amounts)
}

fn row(
    states_ns: &[u64; State::COUNT],
    recorded_ns: f64,
    amounts: impl Iterator<Item = (Counter, u64)>,
) -> Vec<String> {
    let share = |is_in: &dyn Fn(State) -> bool| {
        let states = State::ALL.into_iter().zip(states_ns);
        let ns: f64 = states
            .filter(|(state, _)| is_in(*state))
            .map(|(_, ns)| *ns as f64)
            .sum();
        match ns {
            0.0 => units::NOTHING.to_owned(),
            ns => percent(ns / recorded_ns.max(1.0)),
        }
    };
    // Of what was only sampled, no time in any state is known.
    let mut cells = vec![match recorded_ns > 0.0 {
        true => duration(recorded_ns),
        false => units::NOTHING.to_owned(),
    }];
    for activity in [Activity::Compute, Activity::Io, Activity::Communication] {
        cells.push(share(&|state| state.activity == activity));
    }
    cells.push(share(&|state| state.suspended));
    cells.extend(amounts.map(|(counter, count)| match count {
        0 => units::NOTHING.to_owned(),
        count => words::amount(counter, count),
    }));
    cells
}
