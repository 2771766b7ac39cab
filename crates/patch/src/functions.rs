//! Where a program's functions lie.

use crate::Program;
use gimli::{BaseAddresses, CieOrFde, EhFrame, EndianSlice, LittleEndian, UnwindSection};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::ops::Range;

/// The address ranges of all functions that the symbol tables or the unwinding
/// tables know (a stripped program still has the latter), in order, without
/// overlap.
pub(crate) fn ranges(file: &Program<'_>) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
        .map(|symbol| symbol.address()..symbol.address().saturating_add(symbol.size()))
        .chain(unwound(file))
        .filter(|range| !range.is_empty())
        .collect();
    // Of those that begin alike, the longest; what begins inside another, an
    // entry of its own in assembly, ends the other.
    ranges.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    ranges.dedup_by_key(|range| range.start);
    let starts: Vec<u64> = ranges.iter().skip(1).map(|range| range.start).collect();
    for (range, next) in ranges.iter_mut().zip(starts) {
        range.end = range.end.min(next);
    }
    ranges
}

/// What the unwinding table describes. An unreadable table describes nothing.
fn unwound(file: &Program<'_>) -> Vec<Range<u64>> {
    let Some(section) = file.section_by_name(".eh_frame") else {
        return vec![];
    };
    let Ok(data) = section.data() else {
        return vec![];
    };
    let mut bases = BaseAddresses::default().set_eh_frame(section.address());
    if let Some(text) = file.section_by_name(".text") {
        bases = bases.set_text(text.address());
    }
    let table = EhFrame::from(EndianSlice::new(data, LittleEndian));
    let mut entries = table.entries(&bases);
    let mut ranges = vec![];
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else {
            continue;
        };
        if let Ok(entry) = partial.parse(EhFrame::cie_from_offset) {
            let start = entry.initial_address();
            ranges.push(start..start.saturating_add(entry.len()));
        }
    }
    ranges
}
