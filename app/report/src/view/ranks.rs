//! All ranks of an MPI program: what they lose to whom, each of them, and where they call MPI.

use super::table::{Cell, Column, Row, Table};
use super::words;
use crate::text::at_least;
use crate::units::{self, duration, percent, plural};
use fathomp_analysis::{HybridEfficiency, Late, RankRow, Ranks};
use serde::Serialize;

/// Places that are shown, and letters of their names.
const PLACES_MAX: usize = 200;
const NAME_CHARS: usize = 60;
/// A rank that others wait for is named if that takes this part of the run.
const WORTH: f64 = 0.03;

/// What the page shows of them.
#[derive(Debug, Serialize)]
pub(crate) struct AllRanks {
    note: String,
    efficiencies: Table,
    table: Table,
    calls: Option<Table>,
}

/// "4 ranks with 2 threads each".
pub(crate) fn headline(all: &Ranks) -> String {
    let threads = || all.ranks.iter().map(|one| one.threads);
    let each = match (threads().min(), threads().max()) {
        (Some(least), Some(most)) if least == most => {
            format!("{} each", plural(least.into(), "thread"))
        }
        (Some(least), Some(most)) => format!("{least} to {most} threads"),
        _ => "no threads".to_owned(),
    };
    format!("{} with {each}", plural(all.ranks.len() as u64, "rank"))
}

/// Threads that share processors, if some do: a sentence.
pub(crate) fn crowded(all: &Ranks) -> Option<String> {
    let crowd = all.crowd.as_ref()?;
    let processors = plural(crowd.processors.into(), "processor");
    Some(match crowd.rank {
        Some(rank) => format!(
            "Rank {rank} has {} and may use {processors}: let what starts ranks give each as many processors as it has threads (Open MPI: --bind-to none, or --map-by slot:pe={n}; Slurm: --cpus-per-task={n}).",
            plural(crowd.threads.into(), "thread"),
            n = crowd.threads
        ),
        None => format!(
            "All ranks on {} together have {}, and it has {processors}: start fewer ranks or give them fewer threads; until then all that waits for others waits for processors.",
            words::shorten(&crowd.host, 60),
            plural(crowd.threads.into(), "thread")
        ),
    })
}

/// A sentence that names the rank the others wait for, if the wait costs something and processors
/// do not explain it.
pub(crate) fn waited_for(all: &Ranks) -> Option<String> {
    let late: &Late = all.late.as_ref().filter(|_| all.crowd.is_none())?;
    let (waited, whole) = (late.waited_ns as f64, (all.wall_ns as f64).max(1.0));
    (waited >= WORTH * whole).then(|| {
        format!(
            "Rank {} comes last to {} of {} that need all ranks, and the others wait {} for it on the mean, {} of the run, most of that in {}: give it less work, or more threads.",
            late.rank,
            units::count(late.times),
            plural(late.of, "call"),
            duration(waited),
            percent(waited / whole),
            words::shorten(&late.place, 80)
        )
    })
}

/// Why waits are not known, if so: a sentence.
pub(crate) fn unknown(all: &Ranks) -> Option<String> {
    let why = all.unknown_waits.as_ref()?;
    Some(format!(
        "What ranks wait for each other is not known: {why}."
    ))
}

/// What the summary says of all ranks, before it says what one does.
pub(crate) fn sentences(all: &Ranks, shown: u32) -> Vec<String> {
    let one = &all.efficiency;
    let mut sentences = vec![format!(
        "{} took {} between MPI_Init and MPI_Finalize; parallel efficiency {}: MPI {}, OpenMP inside ranks {}. What follows is of rank {shown}, which is outside MPI longest.",
        headline(all),
        duration(all.wall_ns as f64),
        percent(one.parallel),
        percent(one.mpi),
        percent(one.openmp)
    )];
    sentences.extend(crowded(all).into_iter().chain(waited_for(all)));
    sentences.iter().map(|text| words::bound(text)).collect()
}

/// The section.
pub(crate) fn build(all: Option<&Ranks>) -> Option<AllRanks> {
    let all = all?;
    let mut note = "Between MPI_Init and MPI_Finalize. Efficiencies are POP's for hybrid programs: each is the product of those indented below it. A click on a heading sorts.".to_owned();
    let more = crowded(all).into_iter().chain(waited_for(all));
    for sentence in more.chain(unknown(all)) {
        note = format!("{sentence} {note}");
    }
    Some(AllRanks {
        note,
        efficiencies: efficiencies(&all.efficiency),
        table: table(all),
        calls: (!all.calls.is_empty()).then(|| calls(all)),
    })
}

fn efficiencies(one: &HybridEfficiency) -> Table {
    let rows = [
        (
            "Parallel efficiency",
            one.parallel,
            "Time in which threads compute, of all threads' time",
        ),
        (
            "\u{2003}MPI efficiency",
            one.mpi,
            "Mean time of a rank's first thread outside MPI, of the run",
        ),
        (
            "\u{2003}\u{2003}Load balance",
            one.mpi_balance,
            "Mean time outside MPI over the most of a rank",
        ),
        (
            "\u{2003}\u{2003}Communication",
            one.mpi_communication,
            "The most time of a rank outside MPI, of the run",
        ),
        (
            "\u{2003}OpenMP efficiency",
            one.openmp,
            "What threads inside ranks lose",
        ),
    ];
    let rows = rows.map(|(name, value, hint)| Row {
        id: String::new(),
        cells: vec![
            Cell::words(name).hint(hint.to_owned()),
            Cell::number(value, percent(value)),
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

fn table(all: &Ranks) -> Table {
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
        Column::number(
            "Waits",
            "Of that, until the last rank has come to calls that need all",
        ),
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

fn calls(all: &Ranks) -> Table {
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
