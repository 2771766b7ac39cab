//! Variables and their types out of debug information (DWARF).

use super::types::{Dimension, Shape, TypeId, Types};
use super::variable::{Local, Pointer, Variable};
use gimli::{AttributeValue, DwTag, EndianArcSlice, RunTimeEndian, UnitOffset, constants as dw};
use object::{Object, ObjectSection, ReadRef};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

type Slice = EndianArcSlice<RunTimeEndian>;
type Entry = gimli::DebuggingInformationEntry<Slice>;
type Unit = gimli::Unit<Slice>;

/// Larger debug information is not looked through.
const LARGEST_BYTES: u64 = 1 << 30;
/// Types that refer to types further than this are no real program's.
const TYPES_DEPTH_MAX: usize = 64;

/// Debug information while it is read.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) variables: Vec<Variable>,
    pub(super) pointers: Vec<Pointer>,
    pub(super) locals: Vec<Local>,
    pub(super) types: Types,
    /// The functions that contain what is read, with their depths, and where each lies if
    /// its variables are found from its frame.
    functions: Vec<(isize, Vec<Range<u64>>)>,
    /// Types of the unit that is read, by offset.
    known: HashMap<usize, TypeId>,
}

impl Reading {
    /// Reads the debug information of a file.
    pub(super) fn file<'a>(&mut self, file: &object::File<'a, impl ReadRef<'a>>) {
        let debug = |section: &object::Section<'a, '_, _>| {
            section.name().is_ok_and(|name| name.contains("debug"))
        };
        let sections = file.sections().filter(debug).map(|section| section.size());
        if sections.fold(0, u64::saturating_add) > LARGEST_BYTES {
            return;
        }
        let endian = if file.is_little_endian() {
            RunTimeEndian::Little
        } else {
            RunTimeEndian::Big
        };
        let load = |id: gimli::SectionId| -> Result<Slice, gimli::Error> {
            let data = file
                .section_by_name(id.name())
                .and_then(|section| section.uncompressed_data().ok())
                .unwrap_or_default();
            Ok(Slice::new(Arc::from(&*data), endian))
        };
        let Ok(dwarf) = gimli::Dwarf::load(load) else {
            return;
        };
        let mut units = dwarf.units();
        while let Ok(Some(header)) = units.next() {
            if let Ok(unit) = dwarf.unit(header) {
                self.known.clear();
                // A unit that makes no sense is known as far as it does.
                let _ = self.unit(&dwarf, &unit);
            }
        }
    }

    fn unit(&mut self, dwarf: &gimli::Dwarf<Slice>, unit: &Unit) -> Result<(), gimli::Error> {
        let mut entries = unit.entries();
        self.functions.clear();
        while let Some(entry) = entries.next_dfs()? {
            let depth = entry.depth();
            self.functions.retain(|(outer, _)| *outer < depth);
            if entry.tag() == dw::DW_TAG_subprogram {
                self.functions.push((depth, ranges(dwarf, unit, entry)));
            }
            if matches!(
                entry.tag(),
                dw::DW_TAG_variable | dw::DW_TAG_formal_parameter
            ) {
                self.variable(dwarf, unit, entry);
            }
        }
        Ok(())
    }

    fn variable(&mut self, dwarf: &gimli::Dwarf<Slice>, unit: &Unit, entry: &Entry) {
        // What is said of a variable may be said where it is declared first.
        let mut about = vec![entry.clone()];
        for reference in [dw::DW_AT_specification, dw::DW_AT_abstract_origin] {
            if let Some(AttributeValue::UnitRef(offset)) = entry.attr_value(reference)
                && let Ok(first) = unit.entry(offset)
            {
                about.push(first);
            }
        }
        let attribute = |name| about.iter().find_map(|entry| entry.attr_value(name));
        let name = attribute(dw::DW_AT_name).and_then(|name| text(dwarf, unit, name));
        let (Some(name), Some(AttributeValue::UnitRef(kind))) = (name, attribute(dw::DW_AT_type))
        else {
            return;
        };
        let kind = self.kind(dwarf, unit, kind, TYPES_DEPTH_MAX);
        let declared = declared(dwarf, unit, &about);
        if let Some(to) = kind.and_then(|kind| self.types.pointee(kind)) {
            self.pointers.push(Pointer {
                name: name.clone(),
                to,
                fortran: is_fortran(unit),
                declared: declared.clone(),
            });
        } else if let Some(element) = kind.and_then(|kind| self.types.allocated(kind)) {
            self.pointers.push(Pointer {
                name: name.clone(),
                to: element,
                fortran: true,
                declared: declared.clone(),
            });
        }
        if let Some(offset) = frame_offset(unit, entry)
            && let Some((_, function)) = self.functions.last()
        {
            let bytes = kind.and_then(|kind| self.types.bytes(kind)).unwrap_or(1);
            self.locals.push(Local {
                function: function.clone(),
                offset,
                variable: Variable {
                    name,
                    range: 0..bytes.max(1),
                    declared,
                    kind,
                },
            });
            return;
        }
        let Some(start) = address(unit, entry) else {
            return;
        };
        let bytes = kind.and_then(|kind| self.types.bytes(kind)).unwrap_or(1);
        self.variables.push(Variable {
            name,
            range: start..start.saturating_add(bytes.max(1)),
            declared,
            kind,
        });
    }

    /// The type at an offset of the unit.
    fn kind(
        &mut self,
        dwarf: &gimli::Dwarf<Slice>,
        unit: &Unit,
        offset: UnitOffset,
        depth: usize,
    ) -> Option<TypeId> {
        if let Some(known) = self.known.get(&offset.0) {
            return Some(*known);
        }
        let depth = depth.checked_sub(1)?;
        let entry = unit.entry(offset).ok()?;
        let bytes = entry.attr_value(dw::DW_AT_byte_size);
        let bytes = bytes.and_then(|bytes| bytes.udata_value()).unwrap_or(0);
        let inner = match entry.attr_value(dw::DW_AT_type) {
            Some(AttributeValue::UnitRef(inner)) => Some(inner),
            _ => None,
        };
        if is_another_name(entry.tag()) {
            return self.kind(dwarf, unit, inner?, depth);
        }
        // Known before what it consists of is: a list's element points to its like.
        let id = TypeId(self.types.0.len());
        self.types.0.push(Shape::Scalar(bytes));
        self.known.insert(offset.0, id);
        let shape = match entry.tag() {
            dw::DW_TAG_pointer_type | dw::DW_TAG_reference_type => {
                Shape::Pointer(inner.and_then(|inner| self.kind(dwarf, unit, inner, depth)))
            }
            dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type => {
                Shape::Structure {
                    bytes,
                    members: self.members(dwarf, unit, offset, depth),
                }
            }
            dw::DW_TAG_array_type => {
                let element = self.kind(dwarf, unit, inner?, depth)?;
                array(unit, offset, element)
            }
            _ => return Some(id),
        };
        self.types.0[id.0] = shape;
        Some(id)
    }

    fn members(
        &mut self,
        dwarf: &gimli::Dwarf<Slice>,
        unit: &Unit,
        offset: UnitOffset,
        depth: usize,
    ) -> Vec<(Option<String>, u64, TypeId)> {
        let mut members = Vec::new();
        for child in children(unit, offset) {
            let inherits = child.tag() == dw::DW_TAG_inheritance;
            if child.tag() != dw::DW_TAG_member && !inherits {
                continue;
            }
            let name = child.attr_value(dw::DW_AT_name);
            let name = name.and_then(|name| text(dwarf, unit, name));
            let at = child.attr_value(dw::DW_AT_data_member_location);
            let at = at.map_or(Some(0), |at| at.udata_value());
            let is_static = child.attr_value(dw::DW_AT_external).is_some();
            if let (Some(AttributeValue::UnitRef(kind)), Some(at), false) =
                (child.attr_value(dw::DW_AT_type), at, is_static)
                && let Some(kind) = self.kind(dwarf, unit, kind, depth)
            {
                members.push((name, at, kind));
            }
        }
        members
    }
}

/// Whether a type is another one by a different name, or with a property.
fn is_another_name(tag: DwTag) -> bool {
    matches!(
        tag,
        dw::DW_TAG_typedef
            | dw::DW_TAG_const_type
            | dw::DW_TAG_volatile_type
            | dw::DW_TAG_restrict_type
            | dw::DW_TAG_atomic_type
    )
}

fn array(unit: &Unit, offset: UnitOffset, element: TypeId) -> Shape {
    let fortran = is_fortran(unit);
    let number = |entry: &Entry, name| match entry.attr_value(name)? {
        AttributeValue::Sdata(value) => Some(value),
        value => i64::try_from(value.udata_value()?).ok(),
    };
    let mut dimensions: Vec<_> = children(unit, offset)
        .into_iter()
        .filter(|child| child.tag() == dw::DW_TAG_subrange_type)
        .map(|child| {
            let lower = number(&child, dw::DW_AT_lower_bound);
            let lower = lower.unwrap_or(i64::from(fortran));
            let upper = number(&child, dw::DW_AT_upper_bound);
            let count = upper.and_then(|upper| upper.checked_sub(lower)?.checked_add(1));
            let count = count.or(number(&child, dw::DW_AT_count));
            let count = count.and_then(|count| u64::try_from(count).ok());
            Dimension { lower, count }
        })
        .collect();
    if fortran {
        // The first index varies fastest.
        dimensions.reverse();
    }
    Shape::Array {
        element,
        dimensions,
        fortran,
    }
}

fn children(unit: &Unit, offset: UnitOffset) -> Vec<Entry> {
    let mut found = Vec::new();
    let Ok(mut tree) = unit.entries_tree(Some(offset)) else {
        return found;
    };
    let Ok(root) = tree.root() else {
        return found;
    };
    let mut children = root.children();
    while let Ok(Some(child)) = children.next() {
        found.push(child.entry().clone());
    }
    found
}

fn is_fortran(unit: &Unit) -> bool {
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
        ))
    )
}

fn text(dwarf: &gimli::Dwarf<Slice>, unit: &Unit, value: AttributeValue<Slice>) -> Option<String> {
    let text = dwarf.attr_string(unit, value).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Where an entry says that the variable lies, if that is always the same place.
fn address(unit: &Unit, entry: &Entry) -> Option<u64> {
    let location = entry.attr_value(dw::DW_AT_location)?.exprloc_value()?;
    let mut operations = location.operations(unit.encoding());
    let mut found = None;
    while let Ok(Some(operation)) = operations.next() {
        found = match (operation, found) {
            (gimli::Operation::Address { address }, None) => Some(address),
            // A member of a common block.
            (gimli::Operation::PlusConstant { value }, Some(base)) => base.checked_add(value),
            _ => return None,
        };
    }
    found
}

/// How far from its function's frame (the DWARF CFA) a variable lies, if that is always the
/// same.
fn frame_offset(unit: &Unit, entry: &Entry) -> Option<i64> {
    let location = entry.attr_value(dw::DW_AT_location)?.exprloc_value()?;
    let mut operations = location.operations(unit.encoding());
    match (operations.next().ok()??, operations.next().ok()?) {
        (gimli::Operation::FrameOffset { offset }, None) => Some(offset),
        _ => None,
    }
}

/// Where a function's code lies, if its frame base is the DWARF CFA.
fn ranges(dwarf: &gimli::Dwarf<Slice>, unit: &Unit, entry: &Entry) -> Vec<Range<u64>> {
    let base = entry.attr_value(dw::DW_AT_frame_base);
    let base = base.and_then(|base| base.exprloc_value());
    let by_frame = base.is_some_and(|base| {
        let first = base.operations(unit.encoding()).next();
        matches!(first, Ok(Some(gimli::Operation::CallFrameCFA)))
    });
    let Some(mut ranges) = dwarf.die_ranges(unit, entry).ok().filter(|_| by_frame) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    while let Ok(Some(range)) = ranges.next() {
        found.push(range.begin..range.end);
    }
    found
}

fn declared(dwarf: &gimli::Dwarf<Slice>, unit: &Unit, about: &[Entry]) -> Option<(String, u32)> {
    let attribute = |name| {
        about
            .iter()
            .find_map(|entry: &Entry| entry.attr_value(name))
    };
    let line = attribute(dw::DW_AT_decl_line)?.udata_value()?;
    let program = unit.line_program.as_ref()?.header();
    let AttributeValue::FileIndex(file) = attribute(dw::DW_AT_decl_file)? else {
        return None;
    };
    let file = program.file(file)?;
    let name = text(dwarf, unit, file.path_name())?;
    let mut path = std::path::PathBuf::new();
    if let Some(directory) = &unit.comp_dir {
        path.push(String::from_utf8_lossy(directory).as_ref());
    }
    if let Some(directory) = file.directory(program)
        && let Some(directory) = text(dwarf, unit, directory)
    {
        path.push(directory);
    }
    path.push(name);
    let path = path.to_string_lossy().into_owned();
    Some((path, u32::try_from(line).ok()?))
}
