//! Tables of all ranks.

use crate::text::at_least;
use crate::units::{self, NOTHING, duration, percent};
use crate::view::table::{Cell, Column, Row, Table};
use crate::view::words;
use fathomp_analysis::{HybridEfficiency, RankRow, RankWait, Ranks, WaitKind};
use fathomp_predict::ranks::Split;
use std::collections::BTreeSet;

/// Places that are shown, and letters of their names.
const PLACES_MAX: usize = 200;
const NAME_CHARS: usize = 60;

pub(super) fn efficiencies(one: &HybridEfficiency) -> Table {
    let part = |name, value: Option<f64>, hint| (name, value, hint);
    let rows = [
        part(
            "Parallel efficiency",
            Some(one.parallel),
            "Time in which threads compute, of all threads' time",
        ),
        part(
            "\u{2003}MPI efficiency",
            Some(one.mpi),
            "Mean time of a rank's first thread outside MPI, of the run",
        ),
        part(
            "\u{2003}\u{2003}Load balance",
            Some(one.mpi_balance),
            "Mean time outside MPI over the most of a rank",
        ),
        part(
            "\u{2003}\u{2003}Communication",
            Some(one.mpi_communication),
            "The most time of a rank outside MPI, of the run",
        ),
        part(
            "\u{2003}\u{2003}\u{2003}Serialisation",
            one.mpi_serialisation,
            "What ranks lose by waiting for each other, beside unequal work",
        ),
        part(
            "\u{2003}\u{2003}\u{2003}Transfer",
            one.mpi_transfer,
            "What they lose by moving bytes and in MPI itself",
        ),
        part(
            "\u{2003}OpenMP efficiency",
            Some(one.openmp),
            "What threads inside ranks lose",
        ),
    ];
    let rows = rows.map(|(name, value, hint)| Row {
        id: String::new(),
        cells: vec![
            Cell::words(name).hint(hint.to_owned()),
            value.map_or_else(Cell::nothing, |value| Cell::number(value, percent(value))),
        ],
    });
    Table {
        id: "rank-efficiencies".to_owned(),
        caption: String::new(),
        columns: vec![
            Column::text("Efficiency", "100 % is perfect"),
            Column::number("All ranks", "Of all together"),
        ],
        rows: rows.into(),
        sortable: false,
    }
}

pub(super) fn table(all: &Ranks) -> Table {
    let first = all.ranks.first().map(|one| one.host.as_str());
    let one_host = all.ranks.iter().all(|one| Some(one.host.as_str()) == first);
    let row = |one: &RankRow| {
        let wall = (one.wall_ns as f64).max(1.0);
        let part = |ns: u64| {
            let part = ns as f64 / wall;
            Cell::number(part, percent(part))
        };
        let computes = one.computing_ns as f64 / (wall * f64::from(one.threads.max(1)));
        let mut cells = vec![Cell::number(one.rank.into(), one.rank.to_string())];
        if !one_host {
            cells.push(Cell::words(words::shorten(&one.host, 60)));
        }
        cells.extend([
            Cell::number(one.threads.into(), one.threads.to_string()),
            Cell::number(wall, duration(wall)),
            part(one.regions_ns),
            Cell::number(computes, percent(computes)),
            part(one.mpi_ns),
            one.waiting_ns.map_or_else(Cell::nothing, part),
            one.last.map_or_else(Cell::nothing, |times| {
                Cell::number(times as f64, units::count(times))
            }),
        ]);
        Row {
            id: String::new(),
            cells,
        }
    };
    let mut columns = vec![Column::number("Rank", "In MPI_COMM_WORLD")];
    if !one_host {
        columns.push(Column::text("Host", "Where it ran"));
    }
    columns.extend([
        Column::number("Threads", "Of the rank"),
        Column::number(
            "Wall",
            "From the end of MPI_Init to the begin of MPI_Finalize",
        ),
        Column::number("Regions", "Time with a parallel region, of the wall time"),
        Column::number("Compute", "Of the threads' time"),
        Column::number("MPI", "Of the first thread's time"),
        Column::number("Waits", "Of that, for other ranks"),
        Column::number("Last", "How often it came last to such a call"),
    ]);
    Table {
        id: "rank-table".to_owned(),
        caption: String::new(),
        columns,
        rows: all.ranks.iter().map(row).collect(),
        sortable: true,
    }
}

pub(super) fn calls(all: &Ranks) -> Table {
    let rows = all.calls.iter().take(PLACES_MAX).map(|one| {
        let time = |ns: u64| Cell::number(ns as f64, duration(ns as f64));
        let size = |sum: u64| Cell::number(sum as f64, at_least(one.complete, units::bytes(sum)));
        Row {
            id: String::new(),
            cells: vec![
                Cell::name(one.function.clone()),
                Cell::words(words::shorten(&one.name, NAME_CHARS)),
                Cell::number(one.ranks.into(), one.ranks.to_string()),
                Cell::number(
                    one.count as f64,
                    at_least(one.complete, units::count(one.count)),
                ),
                time(one.time_ns),
                one.waiting_ns.map_or_else(Cell::nothing, time),
                time(one.rank_ns[0]),
                time(one.rank_ns[1]),
                one.bytes.map_or_else(Cell::nothing, size),
            ],
        }
    });
    Table {
        id: "rank-calls".to_owned(),
        caption: "Calls of MPI, all ranks.".to_owned(),
        columns: vec![
            Column::text("Function", "Its name in C"),
            Column::text("Place", "Where the program calls it"),
            Column::number("Ranks", "That call it there"),
            Column::number("Calls", "Of all ranks"),
            Column::number("Time", "Of all ranks"),
            Column::number("Waits", "Of that, for other ranks"),
            Column::number("Least", "Time of the rank with least"),
            Column::number("Most", "Time of the rank with most"),
            Column::number(
                "Bytes",
                "Sent in all, or room for them where calls only receive",
            ),
        ],
        rows: rows.collect(),
        sortable: true,
    }
}

/// What a kind of wait is called, and what it means.
fn kind(kind: WaitKind) -> (&'static str, &'static str) {
    match kind {
        WaitKind::LateSender => (
            "late sender",
            "A message is sent after another waits for it",
        ),
        WaitKind::LateReceiver => (
            "late receiver",
            "A rank is ready to receive after another waits to send",
        ),
        WaitKind::LastRank => (
            "last rank",
            "All wait for the last in a call that needs all",
        ),
        WaitKind::LateRoot => (
            "late root",
            "All wait for the root that gives them something",
        ),
        WaitKind::EarlyRoot => ("early root", "The root waits for what the last gives it"),
    }
}

pub(super) fn waits(all: &Ranks) -> Table {
    let rows = all.waits.iter().map(|one: &RankWait| {
        let (name, meaning) = kind(one.kind);
        let time = |ns: u64| Cell::number(ns as f64, duration(ns as f64));
        Row {
            id: String::new(),
            cells: vec![
                Cell::words(name).hint(meaning.to_owned()),
                Cell::words(words::shorten(&one.place, NAME_CHARS)),
                Cell::words(words::shorten(&one.other, NAME_CHARS)),
                Cell::number(one.count as f64, units::count(one.count)),
                time(one.waited_ns),
                Cell::number(
                    one.rank.into(),
                    format!("{} for {}", one.rank, one.for_rank),
                ),
                time(one.pair_ns),
            ],
        }
    });
    Table {
        id: "rank-waits".to_owned(),
        caption: "Waits of ranks for each other.".to_owned(),
        columns: vec![
            Column::text("Kind", "Why a rank waits"),
            Column::text("Waits in", "The call that waits"),
            Column::text("For", "The call of the other rank that it waits for"),
            Column::number("Calls", "That wait"),
            Column::number("Time", "Of all ranks"),
            Column::number("Longest", "The rank that waits longest, and for which"),
            Column::number("Its time", "Of this rank for that"),
        ],
        rows: rows.collect(),
        sortable: true,
    }
}

/// Times by numbers of ranks, in rows, and of threads, in columns.
pub(super) fn splits(all: &[Split]) -> Table {
    let threads: BTreeSet<u32> = all.iter().map(|one| one.threads).collect();
    let ranks: BTreeSet<u32> = all.iter().map(|one| one.ranks).collect();
    let shown = |one: &Split| {
        let hint = match (one.measured_ns, one.predicted) {
            (_, None) => one.unknown.clone().unwrap_or_default(),
            (measured, Some(predicted)) => format!(
                "{}predicted{} {} ({} to {})",
                measured.map_or_else(String::new, |ns| format!("measured {}, ", duration(ns))),
                if measured.is_some() {
                    " from the others"
                } else {
                    ""
                },
                duration(predicted.ns),
                duration(predicted.low_ns),
                duration(predicted.high_ns)
            ),
        };
        let time = one.time_ns().unwrap_or(f64::NAN);
        Cell::number(time, cell(one)).hint(hint)
    };
    let row = |ranks: &u32| {
        let times = threads.iter().map(|threads| {
            let here = all
                .iter()
                .find(|one| (one.ranks, one.threads) == (*ranks, *threads));
            here.map_or_else(Cell::nothing, shown)
        });
        let first = Cell::number((*ranks).into(), ranks.to_string());
        Row {
            id: String::new(),
            cells: [first].into_iter().chain(times).collect(),
        }
    };
    let mut columns = vec![Column::number("Ranks", "In MPI_COMM_WORLD")];
    columns.extend(threads.iter().map(|threads| {
        let title = units::plural((*threads).into(), "thread");
        Column::number(title, "Threads of each rank")
    }));
    Table {
        id: "rank-splits".to_owned(),
        caption:
            "Time by numbers of ranks and threads; ~ is predicted, and hovering shows the interval."
                .to_owned(),
        columns,
        rows: ranks.iter().map(row).collect(),
        sortable: true,
    }
}

/// The time as measured, or as predicted.
pub(crate) fn cell(one: &Split) -> String {
    match (one.measured_ns, one.predicted) {
        (Some(measured), _) => duration(measured),
        (None, Some(predicted)) => format!("~{}", duration(predicted.ns)),
        (None, None) => NOTHING.to_owned(),
    }
}
