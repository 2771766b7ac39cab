//! Efficiencies over thread counts.

use super::table::{Cell, Column, Row, Table};
use crate::{Input, units};
use fathomp_analysis::Efficiency;

/// Under the heading of the efficiencies.
pub(crate) const NOTE: &str = "As the POP methodology defines them; 100 % is perfect. Parallel efficiency is load balance times communication efficiency, and communication efficiency is serialisation times transfer. Global efficiency is parallel efficiency times computation scalability.";

struct Run {
    threads: u32,
    pop: Efficiency,
    /// Computation scalability, instruction scalability, scalability of
    /// instructions per cycle, global efficiency.
    scaling: [Option<f64>; 4],
}

/// Efficiencies, a column for each thread count.
pub(crate) fn table(input: &Input<'_>) -> Option<Table> {
    let mut columns: Vec<Run> = match input.prediction {
        Some(prediction) => prediction
            .measured
            .iter()
            .map(|one| Run {
                threads: one.threads,
                pop: one.pop,
                scaling: [
                    Some(one.computation_scalability),
                    one.instruction_scalability,
                    one.ipc_scalability,
                    Some(one.global_efficiency),
                ],
            })
            .collect(),
        None => input
            .measured()
            .map(|one| Run {
                threads: one.team_size,
                pop: one.efficiency,
                scaling: [None; 4],
            })
            .collect(),
    };
    columns.sort_by_key(|one| one.threads);
    if columns.is_empty() {
        return None;
    }
    type Value = fn(&Run) -> Option<f64>;
    let rows: [(&str, &'static str, Value); 11] = [
        (
            "Global efficiency",
            "Parallel efficiency times computation scalability",
            |one| one.scaling[3],
        ),
        (
            "Parallel efficiency",
            "Application time over all processor time",
            |one| Some(one.pop.parallel),
        ),
        (
            "  Load balance",
            "Mean over longest application time",
            |one| Some(one.pop.load_balance),
        ),
        (
            "  Communication efficiency",
            "Longest application time over wall time",
            |one| Some(one.pop.communication),
        ),
        (
            "    Serialisation",
            "What is left after waiting on the busiest thread",
            |one| Some(one.pop.serialisation),
        ),
        (
            "    Transfer",
            "What is left after the runtime's own work on the busiest thread",
            |one| Some(one.pop.transfer),
        ),
        (
            "  Outside regions",
            "What is left after threads idled outside regions",
            |one| Some(one.pop.serial_region),
        ),
        (
            "  Inside regions",
            "What is left after time lost inside regions",
            |one| Some(one.pop.parallel_region),
        ),
        (
            "Computation scalability",
            "Application time with the fewest threads over this",
            |one| one.scaling[0],
        ),
        (
            "  Instruction scalability",
            "Instructions with the fewest threads over this",
            |one| one.scaling[1],
        ),
        (
            "  IPC scalability",
            "Instructions per cycle over that with the fewest threads",
            |one| one.scaling[2],
        ),
    ];
    let rows = rows
        .into_iter()
        .filter(|(_, _, value)| columns.iter().any(|one| value(one).is_some()))
        .map(|(name, hint, value)| Row {
            id: String::new(),
            cells: std::iter::once(efficiency_name(name, hint))
                .chain(columns.iter().map(|one| efficiency_cell(value(one))))
                .collect(),
        })
        .collect();
    Some(Table {
        id: "efficiency-table".to_owned(),
        caption: String::new(),
        columns: std::iter::once(Column::text("", ""))
            .chain(
                columns
                    .iter()
                    .map(|one| Column::number(units::plural(one.threads.into(), "thread"), "")),
            )
            .collect(),
        rows,
        sortable: false,
    })
}

fn efficiency_name(name: &str, hint: &str) -> Cell {
    let class = match name.len() - name.trim_start().len() {
        0 => "metric",
        2 => "metric within",
        _ => "metric within-within",
    };
    Cell {
        text: name.trim_start().to_owned(),
        class,
        ..Cell::default()
    }
    .hint(hint)
}

/// The classes shade the cell, as readers of POP tables expect; the number
/// says it too.
fn efficiency_cell(value: Option<f64>) -> Cell {
    let Some(value) = value else {
        return Cell::nothing();
    };
    let mut cell = Cell::number(value, units::percent(value));
    cell.class = match value {
        value if value >= 0.9 => "num good",
        value if value >= 0.75 => "num fair",
        value if value >= 0.5 => "num poor",
        _ => "num bad",
    };
    cell
}
