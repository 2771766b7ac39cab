//! Debug information (DWARF): its units, whether they lie in the file or in one of their own
//! (`-gsplit-dwarf`), and where variables with an address of their own lie.
//!
//! Functions are `inline` so that they are compiled where they are used: this crate is made for
//! speed, not for size.

use gimli::{AttributeValue, EndianArcSlice, RunTimeEndian, constants as dw};
use object::{Object, ObjectSection, ReadRef};
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes of debug information.
pub type DebugBytes = EndianArcSlice<RunTimeEndian>;
/// A file's debug information.
pub type Dwarf = gimli::Dwarf<DebugBytes>;
/// What one run of a compiler wrote of it.
pub type Unit = gimli::Unit<DebugBytes>;
/// An entry of a unit.
pub type Entry = gimli::DebuggingInformationEntry<DebugBytes>;

/// Calls `visit` with each unit of a file's debug information; with none if it has more than
/// `most_bytes` of that. A unit that makes no sense is left out.
pub fn debug_units<'a>(
    file: &object::File<'a, impl ReadRef<'a>>,
    most_bytes: u64,
    visit: &mut dyn FnMut(&Dwarf, &Unit),
) {
    if let Some(dwarf) = sections(file, most_bytes, false) {
        each_unit(&dwarf, most_bytes, visit);
    }
}

#[inline]
fn each_unit(dwarf: &Dwarf, most_bytes: u64, visit: &mut dyn FnMut(&Dwarf, &Unit)) {
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        let Ok(unit) = dwarf.unit(header) else {
            continue;
        };
        match apart(dwarf, &unit, most_bytes) {
            Some((dwarf, unit)) => visit(&dwarf, &unit),
            None => visit(dwarf, &unit),
        }
    }
}

fn sections<'a>(
    file: &object::File<'a, impl ReadRef<'a>>,
    most_bytes: u64,
    apart: bool,
) -> Option<Dwarf> {
    let debug = file
        .sections()
        .filter(|section| section.name().is_ok_and(|name| name.contains("debug")))
        .map(|section| section.size());
    if debug.fold(0, u64::saturating_add) > most_bytes {
        return None;
    }
    let endian = match file.is_little_endian() {
        true => RunTimeEndian::Little,
        false => RunTimeEndian::Big,
    };
    let load = |id: gimli::SectionId| -> Result<DebugBytes, gimli::Error> {
        let name = match apart {
            true => id.dwo_name(),
            false => Some(id.name()),
        };
        let data = name
            .and_then(|name| file.section_by_name(name))
            .and_then(|section| section.uncompressed_data().ok())
            .unwrap_or_default();
        Ok(DebugBytes::new(Arc::from(&*data), endian))
    };
    gimli::Dwarf::load(load).ok()
}

/// The unit that a skeleton in the program's file stands for.
#[inline]
fn apart(dwarf: &Dwarf, skeleton: &Unit, most_bytes: u64) -> Option<(Dwarf, Unit)> {
    let name = skeleton.dwo_name().ok()??;
    let name = dwarf.attr_string(skeleton, name).ok()?;
    let mut path = PathBuf::new();
    if let Some(directory) = &skeleton.comp_dir {
        path.push(String::from_utf8_lossy(directory).as_ref());
    }
    path.push(String::from_utf8_lossy(&name).as_ref());
    let metadata = std::fs::metadata(&path).ok()?;
    if !metadata.is_file() || metadata.len() > most_bytes {
        return None;
    }
    let data = std::fs::read(path).ok()?;
    let file = object::File::parse(&*data).ok()?;
    let mut dwarf_apart = sections(&file, most_bytes, true)?;
    dwarf_apart.make_dwo(dwarf);
    let header = dwarf_apart.units().next().ok()??;
    let mut unit = dwarf_apart.unit(header).ok()?;
    if unit.dwo_id != skeleton.dwo_id {
        return None;
    }
    unit.copy_relocated_attributes(skeleton);
    // Files are numbered as in the skeleton's line table.
    if unit.line_program.is_none() {
        unit.line_program.clone_from(&skeleton.line_program);
        dwarf_apart.debug_line_str = dwarf.debug_line_str.clone();
    }
    if unit.comp_dir.is_none() {
        unit.comp_dir.clone_from(&skeleton.comp_dir);
    }
    Some((dwarf_apart, unit))
}

/// Where an entry says that the variable lies, if that is always the same place of the file.
#[must_use]
#[inline]
pub fn static_address(dwarf: &Dwarf, unit: &Unit, entry: &Entry) -> Option<u64> {
    let location = entry.attr_value(dw::DW_AT_location)?.exprloc_value()?;
    let mut operations = location.operations(unit.encoding());
    let mut found = None;
    while let Ok(Some(operation)) = operations.next() {
        found = match (operation, found) {
            (gimli::Operation::Address { address }, None) => Some(address),
            (gimli::Operation::AddressIndex { index }, None) => dwarf.address(unit, index).ok(),
            // A member of a common block, or of variables that the compiler put together.
            (gimli::Operation::PlusConstant { value }, Some(base)) => u64::checked_add(base, value),
            _ => return None,
        };
    }
    found
}

/// Whether a unit was written in Fortran.
#[must_use]
#[inline]
pub fn is_fortran(unit: &Unit) -> bool {
    let root = unit.entry(unit.header.root_offset());
    let language = root
        .ok()
        .and_then(|root| root.attr_value(dw::DW_AT_language));
    matches!(
        language,
        Some(AttributeValue::Language(
            dw::DW_LANG_Fortran77
                | dw::DW_LANG_Fortran90
                | dw::DW_LANG_Fortran95
                | dw::DW_LANG_Fortran03
                | dw::DW_LANG_Fortran08
                | dw::DW_LANG_Fortran18
        ))
    )
}
