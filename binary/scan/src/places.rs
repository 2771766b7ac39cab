//! Lines of source of what was found.

use fathomp_cfg::{DebugBytes, FirstRows, first_rows, is_outlined};
use fathomp_regions::{Body, Place};
use std::collections::HashMap;

/// Line tables of a program, if it has some.
pub(crate) struct Places {
    context: Option<addr2line::Context<Reader>>,
    known: HashMap<u64, Option<Place>>,
    /// First rows by where their unit begins.
    first_rows: HashMap<usize, FirstRows>,
}

type Reader = DebugBytes;

/// Larger debugging information is not read.
const BYTES_MAX: u64 = 1 << 30;

impl Places {
    pub(crate) fn read(data: &[u8]) -> Self {
        Self {
            context: context(data),
            known: HashMap::new(),
            first_rows: HashMap::new(),
        }
    }

    /// Whether there are line tables.
    pub(crate) fn are_known(&self) -> bool {
        self.context.is_some()
    }

    /// The line of the instruction at an address.
    pub(crate) fn of(&mut self, address: u64) -> Option<Place> {
        let context = self.context.as_ref()?;
        self.known
            .entry(address)
            .or_insert_with(|| {
                let location = context.find_location(address).ok()??;
                Some(Place {
                    file: location.file?.to_owned(),
                    line: location.line.unwrap_or(0),
                    column: location.column.unwrap_or(0),
                })
            })
            .clone()
    }

    /// The directive that an outlined function is for. With optimisation the call that starts it
    /// often has the line of what comes before.
    fn declared(&mut self, body: &Body) -> Option<Place> {
        body.symbol
            .as_deref()
            .filter(|symbol| is_outlined(symbol))?;
        let context = self.context.as_ref()?;
        let unit = context.find_dwarf_and_unit(body.address).skip_all_loads()?;
        let program = unit.line_program.clone()?;
        let rows = self.first_rows.entry(unit.header.debug_info_offset()?.0);
        let rows = rows.or_insert_with(|| first_rows(program));
        let (line, column) = rows.get(&body.address).copied().flatten()?;
        let location = context.find_location(body.address).ok()??;
        Some(Place {
            file: location.file?.to_owned(),
            line,
            column: column.unwrap_or(0),
        })
        .filter(|place| place.line > 0)
    }

    /// Fills in the lines of all that is in a body.
    pub(crate) fn fill(&mut self, body: &mut Body) {
        if self.context.is_none() {
            return;
        }
        let declared = self.declared(body);
        for start in &mut body.starts {
            start.place = declared.clone().or_else(|| self.of(start.at));
        }
        for one in &mut body.loops {
            one.place = self.of(one.header);
        }
        for access in &mut body.accesses {
            access.place = self.of(access.at);
        }
    }
}

fn context(data: &[u8]) -> Option<addr2line::Context<Reader>> {
    use object::{Object, ObjectSection};
    let file = object::File::parse(data).ok()?;
    let debug: u64 = file
        .sections()
        .filter(|section| section.name().is_ok_and(|name| name.contains("debug")))
        .map(|section| section.size())
        .fold(0, u64::saturating_add);
    if debug > BYTES_MAX || file.section_by_name(".debug_line").is_none() {
        return None;
    }
    let load = |id: gimli::SectionId| -> Result<Reader, gimli::Error> {
        let data = file
            .section_by_name(id.name())
            .and_then(|section| section.uncompressed_data().ok())
            .unwrap_or_default();
        Ok(Reader::new(
            std::sync::Arc::from(&*data),
            gimli::RunTimeEndian::Little,
        ))
    };
    let dwarf = gimli::Dwarf::load(load).ok()?;
    addr2line::Context::from_dwarf(dwarf).ok()
}
