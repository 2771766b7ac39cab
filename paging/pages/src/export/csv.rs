//! Counts over time as CSV (RFC 4180, with a header, times in nanoseconds).

use super::{Record, counters, records, states_word};
use crate::facts::PagingFacts;
use fathomp_paging::{Counter, StateSet};
use fathomp_report::export::CsvError;
use fathomp_types::text::csv_field;
use std::io::Write;

/// The columns.
///
/// * `counter`: its name, as in options
/// * `states`: `all`, or names of states joined by `+`
/// * `task`: number of a task; empty for all tasks together
/// * `label`: its name
/// * `from_ns`, `to_ns`: the bin, after the recording's first task began
/// * `count`: what was counted in it
/// * `per_second`: the same as a rate
/// * `filtered_per_second`: the rate that the skyline has there
pub const SKYLINE_HEADER: [&str; 9] = [
    "counter",
    "states",
    "task",
    "label",
    "from_ns",
    "to_ns",
    "count",
    "per_second",
    "filtered_per_second",
];

/// Writes a line for each bin of every counter, in all sets of states that were analysed
/// for all tasks together, and for the tasks at `places`, under [`SKYLINE_HEADER`]. Bins
/// before and after a task's life are left out.
///
/// # Errors
/// If `out` fails.
pub fn skyline_csv(
    paging: &PagingFacts,
    places: &[usize],
    mut out: impl Write,
) -> Result<(), CsvError> {
    writeln!(out, "{}", SKYLINE_HEADER.join(","))?;
    for one in counters(paging, None) {
        for profile in &one.facts.profiles {
            let record = Record {
                place: None,
                label: "all tasks".to_owned(),
                counts: profile.bins.clone(),
                skyline: &profile.skyline,
            };
            lines(paging, one.facts.counter, profile.states, &record, &mut out)?;
        }
        for record in records(paging, &one, places) {
            lines(
                paging,
                one.facts.counter,
                one.profile.states,
                &record,
                &mut out,
            )?;
        }
    }
    out.flush()?;
    Ok(())
}

fn lines(
    paging: &PagingFacts,
    counter: Counter,
    states: StateSet,
    record: &Record<'_>,
    out: &mut impl Write,
) -> Result<(), CsvError> {
    let window = &paging.analysis.window;
    let task = record
        .place
        .and_then(|place| paging.analysis.tasks.get(place));
    let start = format!(
        "{},{},{},{}",
        counter.name(),
        states_word(states),
        task.map_or_else(String::new, |task| task.id.0.to_string()),
        csv_field(&record.label)
    );
    let per_second = 1e9 / window.bin_ns.max(1) as f64;
    for (bin, count, level) in record.levels() {
        let from_ns = window.bin_begin_ns(bin);
        let to_ns = from_ns.saturating_add(window.bin_ns);
        writeln!(
            out,
            "{start},{from_ns},{to_ns},{count},{},{}",
            count as f64 * per_second,
            level * per_second
        )?;
    }
    Ok(())
}
