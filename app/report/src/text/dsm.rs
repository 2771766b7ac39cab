//! The table of what sharing memory between nodes cost.

use super::regions::chosen;
use super::{printable, wrapped};
use crate::units::{self, duration, short_count};
use fathomp_analysis::{Analysis, Dsm, Region, SiteKind};
use fathomp_tables::Grid;

/// A table for a recording of several nodes: per region the sum over all
/// threads, of each execution the thread that paid most, and with `threads` each thread.
pub(super) fn table(analysis: &Analysis, width: usize, threads: bool) -> Option<String> {
    analysis.dsm.as_ref()?;
    let mut grid = Grid::new("Memory of the nodes")
        .column("Local", 0)
        .column("Copy", 0)
        .column("Fetch", 0)
        .column("Pages", 2)
        .column("Diffs", 0)
        .column("Inval", 4)
        .column("Locks", 3)
        .column("Sent", 2)
        .column("Fault t", 0)
        .column("Lock t", 2)
        .column("Barrier t", 1);
    for region in &analysis.regions {
        let Some(dsm) = &region.dsm else { continue };
        grid.row(name(region), cells(&dsm.all));
        grid.row("  slowest each time", cells(&dsm.critical));
        if threads {
            for (name, thread) in chosen(analysis, region) {
                if let Some(dsm) = &thread.dsm {
                    grid.row(format!("  {name}"), cells(dsm));
                }
            }
        }
    }
    let explanation = "Local, Copy: first writes noticed at a node's own pages and at copies of others'. Fetch: faults that waited for a page. Diffs: sent home. Slowest each time: of each execution, the thread with most faults and diffs (the published critical path, in `predict --model sdp-crit`, takes the thread with the largest sum). Times are of all threads.";
    Some(grid.render(width) + "\n" + &wrapped(explanation, width, ""))
}

fn name(region: &Region) -> String {
    match region.kind {
        SiteKind::Serial => "serial part".to_owned(),
        _ => printable(&region.name),
    }
}

fn cells(dsm: &Dsm) -> Vec<String> {
    let time = |ns: u64| match ns {
        0 => units::NOTHING.to_owned(),
        ns => duration(ns as f64),
    };
    vec![
        short_count(dsm.write_faults_local),
        short_count(dsm.write_faults_remote),
        short_count(dsm.fetch_faults),
        short_count(dsm.pages_fetched),
        short_count(dsm.diffs_sent),
        short_count(dsm.invalidations),
        short_count(dsm.locks),
        units::bytes(dsm.bytes_sent),
        time(dsm.fault_ns),
        time(dsm.lock_ns + dsm.flush_ns),
        time(dsm.barrier_ns),
    ]
}
