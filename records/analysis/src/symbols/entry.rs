//! The line of a directive from the function it was outlined to.
//!
//! Compilers give the call that enters a construct whatever line they were at,
//! which with optimisation is often that of the construct before. The outlined
//! function is declared at its directive, and the first row of the line table
//! at its entry says so (later rows at the same address are the body's, which
//! is why the usual look-up will not do).

use addr2line::Context;
use fathomp_cfg::{FirstRows, first_rows};
use gimli::{EndianArcSlice, RunTimeEndian};
use object::{Object, ObjectSection, ReadRef};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

type Reader = EndianArcSlice<RunTimeEndian>;

/// Larger debug information is not loaded a second time for this.
const LARGEST_BYTES: u64 = 1 << 30;

/// Line tables of a module.
pub(super) struct Entries {
    context: Context<Reader>,
    /// First rows by address, by where the unit they are from begins: a unit is
    /// read once, however many functions are looked up in it.
    units: RefCell<HashMap<usize, FirstRows>>,
}

impl Entries {
    /// Loads the line tables of `file`.
    pub(super) fn open<'a>(file: &object::File<'a, impl ReadRef<'a>>) -> Option<Self> {
        let bytes: u64 = file
            .sections()
            .filter(|section| section.name().is_ok_and(|name| name.contains("debug")))
            .map(|section| section.size())
            .fold(0, u64::saturating_add);
        if bytes > LARGEST_BYTES {
            return None;
        }
        let endian = if file.is_little_endian() {
            RunTimeEndian::Little
        } else {
            RunTimeEndian::Big
        };
        let load = |id: gimli::SectionId| -> Result<Reader, gimli::Error> {
            let data = file
                .section_by_name(id.name())
                .and_then(|section| section.uncompressed_data().ok())
                .unwrap_or_default();
            Ok(Reader::new(Arc::from(&*data), endian))
        };
        let dwarf = gimli::Dwarf::load(load).ok()?;
        let context = Context::from_dwarf(dwarf).ok()?;
        Some(Self {
            context,
            units: RefCell::default(),
        })
    }

    /// Line and column of the first row at exactly `address`.
    pub(super) fn first_row(&self, address: u64) -> Option<(u32, Option<u32>)> {
        if address == 0 || address == u64::MAX {
            return None;
        }
        let unit = self.context.find_dwarf_and_unit(address).skip_all_loads()?;
        let program = unit.line_program.clone()?;
        let Some(offset) = unit.header.debug_info_offset() else {
            return first_rows(program).get(&address).copied().flatten();
        };
        let mut units = self.units.borrow_mut();
        let rows = units.entry(offset.0).or_insert_with(|| first_rows(program));
        rows.get(&address).copied().flatten()
    }
}
