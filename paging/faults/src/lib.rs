//! From every page fault of a program to facts: which source lines, variables, kinds of
//! memory and threads they are of, and when.
//!
//! Whether a page is touched for the first time is known as far as the kernel reports
//! mappings: not when one goes away, but when memory is mapped again. A page of which a
//! program tells the kernel that it is no longer needed (`madvise`) and which it touches
//! again counts as repeated.
#![forbid(unsafe_code)]

mod facts;
mod heat;
mod names;
mod replay;
mod space;
mod tally;

pub use facts::{
    FaultCounts, FaultFacts, FirstTouches, Heat, HeatRow, LineRow, MappingKind, MappingRow,
    ThreadFaults, TouchRow, VariableRow,
};

use fathomp_paging::faults::{FaultEvent, FaultsFile};
use heat::HeatMap;
use names::Names;
use replay::Replay;
use tally::Tally;

/// The facts in a file of faults. Looks up lines and variables in the programs and
/// libraries that the file names, as far as they are still there.
#[must_use]
pub fn fault_facts(file: &FaultsFile) -> FaultFacts {
    let mut replay = Replay::default();
    let mut tally = Tally::default();
    let (mut begin_ns, mut end_ns) = (u64::MAX, 0);
    for event in file.events() {
        if matches!(event, FaultEvent::Fault(_)) {
            begin_ns = begin_ns.min(event.at());
            end_ns = end_ns.max(event.at());
        }
        if let Some(judged) = replay.take(&event) {
            tally.add(&judged, &replay);
        }
    }
    for judged in replay.rest() {
        tally.add(&judged, &replay);
    }
    let order: Vec<_> = tally
        .mapping_order()
        .into_iter()
        .map(|(id, _)| id)
        .collect();
    let heat = HeatMap::new(&order, &replay, begin_ns.min(end_ns), end_ns);
    let note = file.note();
    FaultFacts {
        host: note.host.clone(),
        lost: note.lost,
        left_out: note.left_out,
        presence_known: note.presence_known,
        damaged: file.damaged(),
        huge_pages: note.huge_pages,
        heat: paint(heat, file),
        ..tally.facts(&replay, &mut Names::default(), note.huge_pages)
    }
}

/// Where mappings end is known only now that all has been seen once.
fn paint(mut heat: HeatMap, file: &FaultsFile) -> Heat {
    let mut replay = Replay::default();
    for event in file.events() {
        if let Some(judged) = replay.take(&event) {
            heat.add(&judged);
        }
    }
    for judged in replay.rest() {
        heat.add(&judged);
    }
    heat.into_heat()
}

#[cfg(test)]
mod tests;
