//! The table of MPI's calls below that of regions.

use super::{printable, wrapped};
use crate::units::{NOTHING, bytes, duration, percent, short_count};
use fathomp_analysis::{Analysis, MpiCalls};
use fathomp_tables::Grid;

/// Places that are shown.
const ROWS_MAX: usize = 12;

/// Calls of MPI by function and place, the dearest first; nothing if there were none.
pub(super) fn table(analysis: &Analysis, width: usize) -> Option<String> {
    let facts = analysis.mpi.as_ref()?;
    let mut grid = Grid::new("MPI")
        .column("Calls", 1)
        .column("Time", 0)
        .column("Share", 0)
        .column("Mean", 0)
        .column("Longest", 2)
        .column("Bytes", 1);
    let wall = (analysis.wall_ns as f64).max(1.0);
    for one in facts.calls.iter().take(ROWS_MAX) {
        let name = printable(&format!("{} {}", one.function, one.name));
        grid.row(
            name,
            vec![
                at_least(facts.complete, short_count(one.count)),
                duration(one.time_ns as f64),
                percent(one.time_ns as f64 / wall),
                duration(one.time_ns as f64 / (one.count as f64).max(1.0)),
                duration(one.max_ns as f64),
                size(one, facts.complete),
            ],
        );
    }
    let mut text = grid.render(width);
    text.push('\n');
    let more = match facts.calls.len().saturating_sub(ROWS_MAX) {
        0 => String::new(),
        more => format!(" {more} more places are in --json."),
    };
    text.push_str(&wrapped(
        &format!(
            "Share: of the wall time. Bytes: sent in all, or room for them where calls only receive. MPI was called {} times for {}.{more}",
            short_count(facts.count),
            duration(facts.time_ns as f64)
        ),
        width,
        "",
    ));
    Some(text)
}

/// A number that is known, or that may be larger.
pub(crate) fn at_least(complete: bool, number: String) -> String {
    match complete {
        true => number,
        false => format!("≥ {number}"),
    }
}

/// Bytes of all calls, if they are known of each.
fn size(one: &MpiCalls, complete: bool) -> String {
    match one.sized == one.count {
        true => at_least(complete, bytes(one.bytes)),
        false => NOTHING.to_owned(),
    }
}
