//! Variables and their types out of debug information (DWARF).

use super::types::{Dimension, Shape, TypeId, Types};
use super::variable::{Base, Local, Pointer, Variable};
use fathomp_cfg::{DebugBytes, Dwarf, Entry, Unit, debug_units, is_fortran, static_address};
use gimli::{AttributeValue, DwTag, UnitOffset, constants as dw};
use object::ReadRef;
use std::collections::HashMap;
use std::ops::Range;

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
    /// The functions and blocks that contain what is read.
    scopes: Vec<Scope>,
    /// Types of the unit that is read, by offset.
    known: HashMap<usize, TypeId>,
}

/// A function or a block of one while it is read.
struct Scope {
    /// How deep its entry lies.
    depth: isize,
    /// Where its code lies.
    code: Vec<Range<u64>>,
    /// What its variables' places count from.
    base: Option<Base>,
}

impl Reading {
    /// Reads the debug information of a file.
    pub(super) fn file<'a>(&mut self, file: &object::File<'a, impl ReadRef<'a>>) {
        debug_units(file, LARGEST_BYTES, &mut |dwarf, unit| {
            self.known.clear();
            // A unit that makes no sense is known as far as it does.
            let _ = self.unit(dwarf, unit);
        });
    }

    fn unit(&mut self, dwarf: &Dwarf, unit: &Unit) -> Result<(), gimli::Error> {
        let mut entries = unit.entries();
        self.scopes.clear();
        while let Some(entry) = entries.next_dfs()? {
            let depth = entry.depth();
            self.scopes.retain(|outer| outer.depth < depth);
            self.scope(dwarf, unit, entry, depth);
            if matches!(
                entry.tag(),
                dw::DW_TAG_variable | dw::DW_TAG_formal_parameter
            ) {
                self.variable(dwarf, unit, entry);
            }
        }
        Ok(())
    }

    fn scope(&mut self, dwarf: &Dwarf, unit: &Unit, entry: &Entry, depth: isize) {
        let outer = self.scopes.last();
        let base = match entry.tag() {
            dw::DW_TAG_subprogram => frame_base(unit, entry),
            dw::DW_TAG_lexical_block | dw::DW_TAG_inlined_subroutine => {
                outer.and_then(|outer| outer.base)
            }
            _ => return,
        };
        let mut code = ranges(dwarf, unit, entry);
        if code.is_empty()
            && entry.tag() != dw::DW_TAG_subprogram
            && let Some(outer) = outer
        {
            code.clone_from(&outer.code);
        }
        self.scopes.push(Scope { depth, code, base });
    }

    fn variable(&mut self, dwarf: &Dwarf, unit: &Unit, entry: &Entry) {
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
        self.pointers.push(Pointer {
            name: name.clone(),
            to: kind.and_then(|kind| self.types.elements(kind)),
            fortran: is_fortran(unit),
            is_member: false,
            declared: declared.clone(),
        });
        let bytes = kind.and_then(|kind| self.types.bytes(kind)).unwrap_or(1);
        let variable = |start: u64| Variable {
            name: name.clone(),
            range: start..start.saturating_add(bytes.max(1)),
            declared: declared.clone(),
            kind,
        };
        if let Some(scope) = self.scopes.last() {
            for (code, base, offset) in frame_places(dwarf, unit, entry, scope) {
                self.locals.push(Local {
                    code,
                    base,
                    offset,
                    variable: variable(0),
                });
            }
        }
        if let Some(start) = static_address(dwarf, unit, entry) {
            self.variables.push(variable(start));
        }
    }

    /// The type at an offset of the unit.
    fn kind(
        &mut self,
        dwarf: &Dwarf,
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
                    elements: self.template_argument(dwarf, unit, &entry, depth),
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

    /// What a container has elements of, one behind the other in its block.
    fn template_argument(
        &mut self,
        dwarf: &Dwarf,
        unit: &Unit,
        entry: &Entry,
        depth: usize,
    ) -> Option<TypeId> {
        let name = text(dwarf, unit, entry.attr_value(dw::DW_AT_name)?)?;
        if !["vector<", "unique_ptr<"]
            .iter()
            .any(|container| name.starts_with(container))
        {
            return None;
        }
        let children = children(unit, entry.offset());
        let argument = children
            .iter()
            .find(|child| child.tag() == dw::DW_TAG_template_type_parameter)?;
        match argument.attr_value(dw::DW_AT_type)? {
            AttributeValue::UnitRef(kind) => self.kind(dwarf, unit, kind, depth),
            _ => None,
        }
    }

    fn members(
        &mut self,
        dwarf: &Dwarf,
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
                if let Some(name) = &name {
                    self.pointers.push(Pointer {
                        name: name.clone(),
                        to: self.types.elements(kind),
                        fortran: is_fortran(unit),
                        is_member: true,
                        declared: declared(dwarf, unit, std::slice::from_ref(&child)),
                    });
                }
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

fn text(dwarf: &Dwarf, unit: &Unit, value: AttributeValue<DebugBytes>) -> Option<String> {
    let text = dwarf.attr_string(unit, value).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Where in frames of its function a variable lies: while which code is active, what the
/// place counts from, and how far it is from there.
fn frame_places(
    dwarf: &Dwarf,
    unit: &Unit,
    entry: &Entry,
    scope: &Scope,
) -> Vec<(Vec<Range<u64>>, Base, i64)> {
    let Some(location) = entry.attr_value(dw::DW_AT_location) else {
        return Vec::new();
    };
    let place = |expression: gimli::Expression<DebugBytes>| {
        let mut operations = expression.operations(unit.encoding());
        let first = operations.next().ok()??;
        match (first, operations.next().ok()?) {
            (gimli::Operation::FrameOffset { offset }, None) => Some((scope.base?, offset)),
            (
                gimli::Operation::RegisterOffset {
                    register, offset, ..
                },
                None,
            ) => Some((Base::of(register)?, offset)),
            _ => None,
        }
    };
    if let Some(expression) = location.exprloc_value() {
        let placed = place(expression).map(|(base, offset)| (scope.code.clone(), base, offset));
        return placed.into_iter().collect();
    }
    let mut places = Vec::new();
    if let Ok(Some(mut list)) = dwarf.attr_locations(unit, location) {
        while let Ok(Some(one)) = list.next() {
            if let Some((base, offset)) = place(one.data) {
                let code = one.range.begin..one.range.end;
                places.push((vec![code], base, offset));
            }
        }
    }
    places
}

/// What the places of a function's variables count from.
fn frame_base(unit: &Unit, entry: &Entry) -> Option<Base> {
    let base = entry.attr_value(dw::DW_AT_frame_base)?.exprloc_value()?;
    let mut operations = base.operations(unit.encoding());
    match (operations.next().ok()??, operations.next().ok()?) {
        (gimli::Operation::CallFrameCFA, None) => Some(Base::Frame),
        (gimli::Operation::Register { register }, None) => Base::of(register),
        _ => None,
    }
}

/// Where an entry's code lies.
fn ranges(dwarf: &Dwarf, unit: &Unit, entry: &Entry) -> Vec<Range<u64>> {
    let mut found = Vec::new();
    if let Ok(mut ranges) = dwarf.die_ranges(unit, entry) {
        while let Ok(Some(range)) = ranges.next() {
            found.push(range.begin..range.end);
        }
    }
    found
}

fn declared(dwarf: &Dwarf, unit: &Unit, about: &[Entry]) -> Option<(String, u32)> {
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
