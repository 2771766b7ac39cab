//! Line tables.

use crate::dwarf::DebugBytes;
use gimli::{ColumnType, IncompleteLineProgram};
use std::collections::HashMap;

/// Line and column of the first row at each address; none where it has no line.
pub type FirstRows = HashMap<u64, Option<(u32, Option<u32>)>>;

/// The first rows of a unit's line table. At the entry of an outlined function that is its
/// directive's; later rows at the same address are the body's.
#[must_use]
pub fn first_rows(program: IncompleteLineProgram<DebugBytes>) -> FirstRows {
    let mut found = FirstRows::new();
    let mut rows = program.rows();
    while let Ok(Some((_, row))) = rows.next_row() {
        if row.end_sequence() {
            continue;
        }
        found.entry(row.address()).or_insert_with(|| {
            let line = u32::try_from(row.line()?.get()).ok()?;
            let column = match row.column() {
                ColumnType::LeftEdge => None,
                ColumnType::Column(column) => u32::try_from(column.get()).ok(),
            };
            Some((line, column))
        });
    }
    found
}

/// Whether a compiler cut this function out of another for a directive.
#[must_use]
pub fn is_outlined(symbol: &str) -> bool {
    symbol.contains("._omp_fn") || symbol.contains(".omp_outlined")
}
