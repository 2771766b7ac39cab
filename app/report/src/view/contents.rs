//! What regions contain, by the scan of the program.

use super::table::{Cell, Column, Row, Table};
use super::{regions, words};
use crate::text::scan::parts;
use crate::units;
use fathomp_regions::{Coverage, Region, Regions, Share};
use serde::Serialize;

/// Rows beyond this are left to `fathomp scan`.
const ROWS_MAX: usize = 400;
const TEXT_CHARS: usize = 200;

/// The section.
#[derive(Debug, Serialize)]
pub(crate) struct Contents {
    note: String,
    table: Table,
}

/// The section, if the program was scanned and regions were found in it.
pub(crate) fn build(found: Option<&Regions>) -> Option<Contents> {
    let found = found?;
    let rows: Vec<Row> = found.regions.iter().flat_map(rows).take(ROWS_MAX).collect();
    if rows.is_empty() {
        return None;
    }
    let mut all = Coverage::default();
    for module in &found.modules {
        all.trips.add(&module.coverage.trips);
        let innermost = &mut all.innermost_accesses;
        innermost.add(&module.coverage.innermost_accesses);
    }
    Some(Contents {
        note: format!(
            "From the machine code of the program, before it ran: the loops of each region, how often they are executed, and what one iteration accesses and computes. Understood are {} loops\u{2019} iterations and {} accesses in innermost loops; `fathomp scan --verbose` shows each.",
            share(&all.trips),
            share(&all.innermost_accesses)
        ),
        table: Table {
            id: "contents-table".to_owned(),
            caption: "Loops in the order of the code, inner ones indented. Threads share the iterations of those that are marked.".to_owned(),
            columns: vec![
                Column::text("Region", "The parallel region"),
                Column::text("Loop", "The loop, by its variable and line"),
                Column::text(
                    "Iterations",
                    "Each time that it is entered, by one thread, over what the region is begun with",
                ),
                Column::text("Reads", "Bytes an iteration, by how addresses go on"),
                Column::text("Writes", "Likewise"),
                Column::text("Computes", "Instructions an iteration, by kind and width"),
                Column::text("Calls", "Functions, and atomic operations"),
            ],
            rows,
            sortable: false,
        },
    })
}

fn share(share: &Share) -> String {
    format!(
        "{} of {}",
        units::count(share.known),
        units::count(share.all)
    )
}

fn name(region: &Region) -> String {
    let short = |file: &str| file.rsplit('/').next().unwrap_or(file).to_owned();
    let place = region.place.as_ref().filter(|place| place.line > 0);
    match (place, &region.body) {
        (Some(place), _) => format!("{}:{}", short(&place.file), place.line),
        (None, Some(body)) => format!("{:#x}", body.address),
        (None, None) => "unknown".to_owned(),
    }
}

fn rows(region: &Region) -> Vec<Row> {
    let Some(body) = &region.body else {
        return Vec::new();
    };
    let parts = parts(body, region.construct.as_ref());
    let mut first = true;
    let rows = parts.iter().map(|part| {
        let of = |verb: &str| {
            let lines = part.contents.iter();
            let said: Vec<_> = lines.filter_map(|line| line.strip_prefix(verb)).collect();
            said.join("; ")
        };
        let calls = [of("calls "), of("atomics: ")];
        let calls: Vec<_> = calls.into_iter().filter(|said| !said.is_empty()).collect();
        let text = |said: String| {
            Cell::words(words::shorten(&said, TEXT_CHARS)).hint(words::shorten(&said, 600))
        };
        let region_cell = if std::mem::take(&mut first) {
            Cell::name(words::shorten(&name(region), regions::NAME_CHARS)).hint(words::shorten(
                region.function.as_deref().unwrap_or(""),
                300,
            ))
        } else {
            Cell::name("")
        };
        let indent = "\u{2003}".repeat(part.depth.min(8) as usize);
        let loop_name = match part.name.is_empty() {
            true => "outside loops".to_owned(),
            false => format!(
                "{indent}{}{}",
                part.name,
                if part.shared { ", shared" } else { "" }
            ),
        };
        Row {
            id: String::new(),
            cells: vec![
                region_cell,
                Cell::words(words::shorten(&loop_name, TEXT_CHARS)),
                text(part.iterations.clone()),
                text(of("reads ")),
                text(of("writes ")),
                text(of("computes ")),
                text(calls.join("; ")),
            ],
        }
    });
    rows.collect()
}
