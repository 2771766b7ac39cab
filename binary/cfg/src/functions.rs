//! Where a program's functions lie.

use gimli::{
    BaseAddresses, CallFrameInstruction, CieOrFde, EhFrame, EndianSlice, LittleEndian,
    UnwindSection,
};
use object::read::ReadRef;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::ops::Range;

/// Most functions that one file is believed to have: damage must not exhaust memory.
const FUNCTIONS_MAX: usize = 1 << 24;

/// A function, or a part of one that lies apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<'data> {
    /// Its addresses.
    pub range: Range<u64>,
    /// Its symbol.
    pub name: Option<&'data [u8]>,
    /// Whether the unwinding table says that things are on the stack when it begins, so that
    /// it is no function but part of another one.
    pub is_part: bool,
}

/// All functions that the symbol tables or the unwinding tables know (a stripped program
/// still has the latter), in order, without overlap.
pub fn functions<'data, R: ReadRef<'data>>(
    file: &ElfFile64<'data, Endianness, R>,
) -> Vec<Found<'data>> {
    found(file, true)
}

/// Where these functions lie, which is found sooner than what else is known of them.
pub fn function_ranges<'data, R: ReadRef<'data>>(
    file: &ElfFile64<'data, Endianness, R>,
) -> Vec<Range<u64>> {
    let all = found(file, false).into_iter();
    all.map(|found| found.range).collect()
}

fn found<'data, R: ReadRef<'data>>(
    file: &ElfFile64<'data, Endianness, R>,
    details: bool,
) -> Vec<Found<'data>> {
    let mut found: Vec<(Found<'data>, bool)> = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
        .map(|symbol| {
            let found = Found {
                range: symbol.address()..symbol.address().saturating_add(symbol.size()),
                name: details.then(|| name(&symbol)).flatten(),
                is_part: false,
            };
            (found, symbol.is_local())
        })
        .chain(
            unwound(file, details)
                .into_iter()
                .map(|found| (found, true)),
        )
        .filter(|(found, _)| !found.range.is_empty())
        .take(FUNCTIONS_MAX)
        .collect();
    // Of those that begin alike, the longest; what begins inside another, an
    // entry of its own in assembly, ends the other. Public names come first.
    found.sort_by_key(|(found, local)| {
        let Range { start, end } = found.range;
        (start, std::cmp::Reverse(end), found.name.is_none(), *local)
    });
    found.dedup_by(|(next, _), (kept, _)| {
        let same = next.range.start == kept.range.start;
        if same {
            kept.name = kept.name.or(next.name);
            kept.is_part |= next.is_part;
        }
        same
    });
    let mut found: Vec<Found<'data>> = found.into_iter().map(|(found, _)| found).collect();
    let starts: Vec<u64> = found.iter().skip(1).map(|f| f.range.start).collect();
    for (function, next) in found.iter_mut().zip(starts) {
        function.range.end = function.range.end.min(next);
    }
    found
}

fn name<'data>(symbol: &impl ObjectSymbol<'data>) -> Option<&'data [u8]> {
    symbol.name_bytes().ok().filter(|name| !name.is_empty())
}

/// What the unwinding table describes. An unreadable table describes nothing.
fn unwound<'data, R: ReadRef<'data>>(
    file: &ElfFile64<'data, Endianness, R>,
    details: bool,
) -> Vec<Found<'data>> {
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
    let mut found = vec![];
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else {
            continue;
        };
        let Ok(entry) = partial.parse(EhFrame::cie_from_offset) else {
            continue;
        };
        // What it says before the first instruction differs from what every function begins
        // with, a return address on top of the stack.
        let mut is_part = false;
        let mut instructions = entry.instructions(&table, &bases);
        while details && let Ok(Some(instruction)) = instructions.next() {
            match instruction {
                CallFrameInstruction::AdvanceLoc { .. } => break,
                CallFrameInstruction::DefCfaOffset { offset } if offset > 8 => is_part = true,
                CallFrameInstruction::DefCfa { .. }
                | CallFrameInstruction::DefCfaRegister { .. }
                | CallFrameInstruction::DefCfaExpression { .. } => is_part = true,
                _ => {}
            }
        }
        let start = entry.initial_address();
        found.push(Found {
            range: start..start.saturating_add(entry.len()),
            name: None,
            is_part,
        });
    }
    found
}
