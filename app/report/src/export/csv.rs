//! Regions by thread as CSV (RFC 4180, with a header, times in nanoseconds).

use fathomp_analysis::{Analysis, Counts, Dsm, Region, SiteKind, State, ThreadShare};
use fathomp_types::text::csv_field;
use std::io::Write;
use thiserror::Error;

/// The columns before and after one column for each state, which is called
/// `<state>_ns` (`compute_ns`, `implicit_barrier_ns`, ...).
///
/// * `region`: short name, unique in the file; `serial` for the serial part
/// * `place`: where it is in the source
/// * `process`, `thread`: numbers; `thread_num`: OpenMP thread number, empty
///   if it changed
/// * `instances`: executions the thread took part in
/// * `time_ns`: sum of all states, nested regions not included
/// * counters are empty where the machine did not allow counting; counts of
///   readings that cover several regions are shared out in proportion to time
/// * `iterations`: of loops that the runtime deals; `static_iterations`: of those that threads
///   divide by the code, empty where they are not known
/// * `dsm_...`: what sharing memory between nodes took, empty on one node
pub const HEADER: ([&str; 7], [&str; 12], [&str; 16]) = (
    [
        "region",
        "place",
        "process",
        "thread",
        "thread_num",
        "instances",
        "time_ns",
    ],
    [
        "loops",
        "chunks",
        "iterations",
        "tasks_created",
        "tasks_run",
        "minor_faults",
        "major_faults",
        "voluntary_switches",
        "involuntary_switches",
        "cycles",
        "instructions",
        "static_iterations",
    ],
    [
        "dsm_write_faults_local",
        "dsm_write_faults_remote",
        "dsm_fetch_faults",
        "dsm_pages_fetched",
        "dsm_diffs_sent",
        "dsm_diffs_applied",
        "dsm_invalidations",
        "dsm_pages_served",
        "dsm_bytes_sent",
        "dsm_locks",
        "dsm_fault_ns",
        "dsm_lock_ns",
        "dsm_flush_ns",
        "dsm_barrier_ns",
        "dsm_flushes",
        "dsm_barriers",
    ],
);

/// Why CSV could not be written.
#[derive(Debug, Error)]
pub enum CsvError {
    /// The output failed.
    #[error("cannot write the CSV export: {0}; free some space or choose another place")]
    Write(#[from] std::io::Error),
}

/// Writes one line for each region and thread, under [`HEADER`].
///
/// # Errors
/// If `out` fails.
pub fn csv(analysis: &Analysis, mut out: impl Write) -> Result<(), CsvError> {
    let states = State::ALL.map(|state| format!("{}_ns", state.name()));
    let header: Vec<&str> = HEADER
        .0
        .into_iter()
        .chain(states.iter().map(String::as_str))
        .chain(HEADER.1)
        .chain(HEADER.2)
        .collect();
    writeln!(out, "{}", header.join(","))?;
    for region in &analysis.regions {
        for thread in &region.threads {
            writeln!(out, "{}", line(region, thread))?;
        }
    }
    out.flush()?;
    Ok(())
}

fn line(region: &Region, thread: &ThreadShare) -> String {
    let name = if region.kind == SiteKind::Serial {
        "serial"
    } else {
        &region.name
    };
    let mut cells = vec![
        csv_field(name),
        csv_field(&region.place.label),
        thread.process.to_string(),
        thread.thread.to_string(),
        thread
            .thread_num
            .map_or_else(String::new, |number| number.to_string()),
        thread.instances.to_string(),
        thread.states.total_ns().to_string(),
    ];
    cells.extend(thread.states.iter().map(|(_, ns)| ns.to_string()));
    cells.extend(
        [
            thread.loops,
            thread.chunks,
            thread.iterations,
            thread.tasks_created,
            thread.tasks_run,
        ]
        .map(|count| count.to_string()),
    );
    cells.extend(counters(&thread.counts));
    let divided = region.divided_iterations(thread);
    cells.push(divided.map_or_else(String::new, |count| count.to_string()));
    cells.extend(shared(thread.dsm.as_ref()));
    cells.join(",")
}

fn shared(dsm: Option<&Dsm>) -> [String; HEADER.2.len()] {
    let Some(dsm) = dsm else {
        return Default::default();
    };
    [
        dsm.write_faults_local,
        dsm.write_faults_remote,
        dsm.fetch_faults,
        dsm.pages_fetched,
        dsm.diffs_sent,
        dsm.diffs_applied,
        dsm.invalidations,
        dsm.pages_served,
        dsm.bytes_sent,
        dsm.locks,
        dsm.fault_ns,
        dsm.lock_ns,
        dsm.flush_ns,
        dsm.barrier_ns,
        dsm.flushes,
        dsm.barriers,
    ]
    .map(|count| count.to_string())
}

fn counters(counts: &Counts) -> [String; 6] {
    [
        Some(counts.minor_faults),
        Some(counts.major_faults),
        Some(counts.voluntary_switches),
        Some(counts.involuntary_switches),
        counts.cycles,
        counts.instructions,
    ]
    .map(|count| count.map_or_else(String::new, |count| format!("{:.0}", count.max(0.0))))
}
