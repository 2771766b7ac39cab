//! What `fathomp regions` prints of all ranks of an MPI program.

use super::mpi::at_least;
use super::{WIDTH_MIN, printable, wrapped};
use crate::units::{NOTHING, bytes, duration, percent, short_count};
use crate::view::ranks as view;
use fathomp_analysis::{HybridEfficiency, RankRow, Ranks};
use fathomp_tables::Grid;

/// Places that are shown, and ranks.
const PLACES_MAX: usize = 12;
const RANKS_MAX: usize = 64;

/// A line on all ranks, a table of them, what they lose to whom, and where they call MPI.
#[must_use]
pub fn ranks(name: &str, all: &Ranks, width: usize) -> String {
    let width = width.max(WIDTH_MIN);
    let head = format!(
        "{}: {}, {}",
        printable(name),
        view::headline(all),
        duration(all.wall_ns as f64)
    );
    let mut text = wrapped(&head, width, "");
    text.push('\n');
    text.push_str(&table(all).render(width));
    text.push('\n');
    let mut explanation = "Wall: between MPI_Init and MPI_Finalize. Regions: time with a parallel region. Compute: of the threads' time. MPI: the first thread's. Waits: of that, for other ranks. Last: how often it came last to calls that need all.".to_owned();
    if all.ranks.len() > RANKS_MAX {
        explanation.push_str(&format!(
            " The {RANKS_MAX} ranks with most time outside MPI are shown, of {}; --json has all.",
            all.ranks.len()
        ));
    }
    text.push_str(&wrapped(&explanation, width, ""));
    text.push('\n');
    if let Some(efficiency) = &all.efficiency {
        text.push_str(&wrapped(&efficiencies(efficiency), width, ""));
    }
    for sentence in view::missing(all).into_iter().chain(view::causes(all)) {
        text.push('\n');
        text.push_str(&wrapped(&printable(&sentence), width, ""));
    }
    for sentence in view::unknown(all).into_iter().chain(view::clocks(all)) {
        text.push('\n');
        text.push_str(&wrapped(&printable(&sentence), width, ""));
    }
    if !all.calls.is_empty() {
        text.push('\n');
        text.push_str(&calls(all).render(width));
    }
    text
}

fn table(all: &Ranks) -> Grid {
    let mut shown: Vec<&RankRow> = all.ranks.iter().collect();
    if shown.len() > RANKS_MAX {
        shown.sort_by_key(|one| std::cmp::Reverse(one.wall_ns.saturating_sub(one.mpi_ns)));
        shown.truncate(RANKS_MAX);
        shown.sort_by_key(|one| one.rank);
    }
    let first = all.ranks.first().map(|one| one.host.as_str());
    let one_host = all.ranks.iter().all(|one| Some(one.host.as_str()) == first);
    let mut grid = Grid::new("Rank")
        .column("Wall", 2)
        .column("Regions", 1)
        .column("Compute", 0)
        .column("MPI", 0)
        .column("Waits", 0)
        .column("Last", 3);
    for one in shown {
        let wall = (one.wall_ns as f64).max(1.0);
        let part = |ns: u64| percent(ns as f64 / wall);
        let name = match one_host {
            true => one.rank.to_string(),
            false => format!("{} on {}", one.rank, printable(&one.host)),
        };
        grid.row(
            name,
            vec![
                duration(one.wall_ns as f64),
                part(one.regions_ns),
                percent(one.computing_ns as f64 / (wall * f64::from(one.threads.max(1)))),
                part(one.mpi_ns),
                one.waiting_ns.map_or(NOTHING.to_owned(), part),
                one.last.map_or(NOTHING.to_owned(), short_count),
            ],
        );
    }
    grid
}

fn efficiencies(one: &HybridEfficiency) -> String {
    format!(
        "Parallel efficiency {} = MPI {} (load balance {} x communication {}) x OpenMP {}",
        percent(one.parallel),
        percent(one.mpi),
        percent(one.mpi_balance),
        percent(one.mpi_communication),
        percent(one.openmp)
    )
}

fn calls(all: &Ranks) -> Grid {
    let mut grid = Grid::new("MPI, all ranks")
        .column("Ranks", 3)
        .column("Calls", 1)
        .column("Time", 0)
        .column("Least", 2)
        .column("Most", 0)
        .column("Bytes", 1);
    for one in all.calls.iter().take(PLACES_MAX) {
        grid.row(
            printable(&format!("{} {}", one.function, one.name)),
            vec![
                short_count(one.ranks.into()),
                at_least(one.complete, short_count(one.count)),
                duration(one.time_ns as f64),
                duration(one.rank_ns[0] as f64),
                duration(one.rank_ns[1] as f64),
                one.bytes
                    .map_or(NOTHING.to_owned(), |sum| at_least(one.complete, bytes(sum))),
            ],
        );
    }
    grid
}
