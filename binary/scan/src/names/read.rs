//! Reads names out of debugging information (DWARF) and symbol tables.

use super::{Names, Structure, Watch, WatchedPlace};
use fathomp_cfg::{DebugBytes, Dwarf, Entry, Unit, debug_units, is_fortran, static_address};
use gimli::{AttributeValue, DwTag, UnitOffset, constants as dw};
use object::{Object, ObjectSymbol, SymbolKind};
use std::collections::{BTreeMap, HashMap};

/// Larger debugging information is not read.
const BYTES_MAX: u64 = 1 << 29;
/// Types that lead to types further than this are no real program's.
const DEPTH_MAX: usize = 24;
/// Variables that are looked for at one instruction, at most.
const WATCHES_MAX: usize = 64;
/// Structures that are read, at most.
const STRUCTURES_MAX: usize = 20_000;

impl Names {
    /// Reads a program's names; `is_wanted` says of functions' addresses whether their
    /// parameters matter.
    pub(crate) fn read(data: &[u8], is_wanted: &dyn Fn(u64) -> bool) -> Self {
        let mut names = Self::default();
        let Ok(file) = object::File::parse(data) else {
            return names;
        };
        debug_units(&file, BYTES_MAX, &mut |dwarf, unit| {
            let mut reading = Reading {
                names: &mut names,
                dwarf,
                unit,
                known: HashMap::new(),
                frame_base: None,
            };
            // A unit that makes no sense is known as far as it does.
            let _ = reading.unit(is_wanted);
        });
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            if symbol.kind() == SymbolKind::Data
                && symbol.is_definition()
                && symbol.size() > 0
                && let Ok(name) = symbol.name()
            {
                names
                    .variables
                    .entry(symbol.address())
                    .or_insert_with(|| (symbol.size(), readable(name), None));
            }
        }
        names
    }
}

struct Reading<'a> {
    names: &'a mut Names,
    dwarf: &'a Dwarf,
    unit: &'a Unit,
    /// Structures by the offset of their entry.
    known: HashMap<usize, usize>,
    /// What the function that is read counts its variables' places from: the frame's address
    /// (the DWARF CFA), or a register.
    frame_base: Option<WatchedPlace>,
}

impl Reading<'_> {
    fn unit(&mut self, is_wanted: &dyn Fn(u64) -> bool) -> Result<(), gimli::Error> {
        let unit = self.unit;
        let mut entries = unit.entries();
        // The function whose parameters come next: depth, address, parameters so far.
        let mut function: Option<(isize, u64, u8)> = None;
        while let Some(entry) = entries.next_dfs()? {
            let depth = entry.depth();
            if function.is_some_and(|(outer, ..)| depth <= outer) {
                function = None;
            }
            match entry.tag() {
                dw::DW_TAG_subprogram => {
                    let low = entry.attr_value(dw::DW_AT_low_pc);
                    let low = low.and_then(|low| self.dwarf.attr_address(self.unit, low).ok()?);
                    function = low.filter(|low| is_wanted(*low)).map(|low| (depth, low, 0));
                    let base = entry.attr_value(dw::DW_AT_frame_base);
                    let base = base.and_then(|base| base.exprloc_value());
                    self.frame_base = base.and_then(|base| self.base(base));
                }
                dw::DW_TAG_formal_parameter => {
                    if let Some((outer, address, number)) = &mut function
                        && depth == *outer + 1
                    {
                        *number = number.saturating_add(1);
                        let (address, number) = (*address, *number);
                        self.parameter(entry, address, number);
                    }
                }
                dw::DW_TAG_variable => {
                    self.variable(entry);
                    if function.is_some() {
                        self.watch(entry);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn parameter(&mut self, entry: &Entry, function: u64, number: u8) {
        let to = self.pointee_of(entry);
        if number == 1
            && let Some(to) = to
        {
            self.names.blocks.insert(function, to);
        }
        if let Some(name) = self.name(entry) {
            self.names.parameters.insert((function, number), (name, to));
        }
    }

    /// Notes where a variable of a body is to be found: gcc says of what is shared where the
    /// body keeps it, but not where it comes from.
    fn watch(&mut self, entry: &Entry) {
        let (Some(name), Some(location)) = (self.name(entry), entry.attr_value(dw::DW_AT_location))
        else {
            return;
        };
        let Ok(Some(mut locations)) = self.dwarf.attr_locations(self.unit, location) else {
            return;
        };
        let to = self.pointee_of(entry);
        while let Ok(Some(one)) = locations.next() {
            if let Some(place) = self.place(one.data) {
                let watch = Watch {
                    name: name.clone(),
                    to,
                    place,
                };
                let here = self.names.watches.entry(one.range.begin).or_default();
                if here.len() < WATCHES_MAX {
                    here.push(watch);
                }
            }
        }
    }

    fn base(&self, expression: gimli::Expression<DebugBytes>) -> Option<WatchedPlace> {
        let mut operations = expression.operations(self.unit.encoding());
        match operations.next().ok()?? {
            gimli::Operation::CallFrameCFA => Some(WatchedPlace::Frame(0)),
            gimli::Operation::Register { register } => {
                Some(WatchedPlace::At(machine(register)?, 0))
            }
            _ => None,
        }
    }

    fn place(&self, expression: gimli::Expression<DebugBytes>) -> Option<WatchedPlace> {
        use gimli::Operation;
        let mut operations = expression.operations(self.unit.encoding());
        let first = operations.next().ok()??;
        let second = operations.next().ok()?;
        let third = operations.next().ok()?;
        Some(match (first, second, third) {
            (Operation::Register { register }, None, None) => {
                WatchedPlace::Value(machine(register)?)
            }
            (
                Operation::RegisterOffset {
                    register, offset, ..
                },
                None,
                None,
            ) => WatchedPlace::At(machine(register)?, offset),
            (
                Operation::RegisterOffset {
                    register, offset, ..
                },
                Some(Operation::Deref { .. }),
                None,
            ) => WatchedPlace::Behind(machine(register)?, offset),
            (Operation::FrameOffset { offset }, None, None) => match self.frame_base? {
                WatchedPlace::At(register, _) => WatchedPlace::At(register, offset),
                _ => WatchedPlace::Frame(offset),
            },
            _ => return None,
        })
    }

    /// A variable with an address of its own.
    fn variable(&mut self, entry: &Entry) {
        let Some(address) = static_address(self.dwarf, self.unit, entry) else {
            return;
        };
        let Some(name) = self.name(entry) else {
            return;
        };
        let kind = self.attribute(entry, dw::DW_AT_type);
        let bytes = kind
            .and_then(|kind| self.bytes(kind, DEPTH_MAX))
            .unwrap_or(8);
        let to = self.pointee_of(entry);
        self.names.variables.insert(address, (bytes, name, to));
    }

    /// An attribute that leads to a type, of the entry or of what it completes.
    fn attribute(&self, entry: &Entry, name: gimli::DwAt) -> Option<UnitOffset> {
        if let Some(AttributeValue::UnitRef(offset)) = entry.attr_value(name) {
            return Some(offset);
        }
        let first = self.first(entry)?;
        match first.attr_value(name) {
            Some(AttributeValue::UnitRef(offset)) => Some(offset),
            _ => None,
        }
    }

    /// Where what an entry describes is declared first.
    fn first(&self, entry: &Entry) -> Option<Entry> {
        for reference in [dw::DW_AT_specification, dw::DW_AT_abstract_origin] {
            if let Some(AttributeValue::UnitRef(offset)) = entry.attr_value(reference)
                && let Ok(first) = self.unit.entry(offset)
            {
                return Some(first);
            }
        }
        None
    }

    fn name(&self, entry: &Entry) -> Option<String> {
        let own = entry.attr_value(dw::DW_AT_name);
        let value = match own {
            Some(value) => value,
            None => self.first(entry)?.attr_value(dw::DW_AT_name)?,
        };
        let text = self.dwarf.attr_string(self.unit, value).ok()?;
        let text = String::from_utf8_lossy(&text).into_owned();
        (!text.is_empty()).then_some(text)
    }

    /// The structure that a thing's type is, or points to.
    fn pointee_of(&mut self, entry: &Entry) -> Option<usize> {
        let kind = self.attribute(entry, dw::DW_AT_type)?;
        self.structure_behind(kind, DEPTH_MAX)
    }

    fn structure_behind(&mut self, offset: UnitOffset, depth: usize) -> Option<usize> {
        let depth = depth.checked_sub(1)?;
        if let Some(known) = self.known.get(&offset.0) {
            return Some(*known);
        }
        let entry = self.unit.entry(offset).ok()?;
        let inner = match entry.attr_value(dw::DW_AT_type) {
            Some(AttributeValue::UnitRef(inner)) => Some(inner),
            _ => None,
        };
        match entry.tag() {
            tag if leads_on(tag) => self.structure_behind(inner?, depth),
            dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type => {
                if self.names.structures.len() >= STRUCTURES_MAX {
                    return None;
                }
                // Known before its members are: they may lead back to it.
                let number = self.names.structures.len();
                self.names.structures.push(Structure::default());
                self.known.insert(offset.0, number);
                let members = self.members(offset, depth);
                self.names.structures[number].members = members;
                Some(number)
            }
            _ => None,
        }
    }

    fn members(
        &mut self,
        offset: UnitOffset,
        depth: usize,
    ) -> BTreeMap<u64, (String, Option<usize>)> {
        let mut found = BTreeMap::new();
        let mut children = Vec::new();
        if let Ok(mut tree) = self.unit.entries_tree(Some(offset))
            && let Ok(root) = tree.root()
        {
            let mut inside = root.children();
            while let Ok(Some(child)) = inside.next() {
                children.push(child.entry().clone());
            }
        }
        for child in children {
            if child.tag() != dw::DW_TAG_member {
                continue;
            }
            let at = child.attr_value(dw::DW_AT_data_member_location);
            let at = at.map_or(Some(0), |at| at.udata_value());
            let (Some(name), Some(at)) = (self.name(&child), at) else {
                continue;
            };
            let to = match child.attr_value(dw::DW_AT_type) {
                Some(AttributeValue::UnitRef(kind)) => self.structure_behind(kind, depth),
                _ => None,
            };
            found.entry(at).or_insert((name, to));
        }
        found
    }

    fn bytes(&self, offset: UnitOffset, depth: usize) -> Option<u64> {
        let depth = depth.checked_sub(1)?;
        let entry = self.unit.entry(offset).ok()?;
        if let Some(bytes) = entry.attr_value(dw::DW_AT_byte_size)
            && let Some(bytes) = bytes.udata_value()
        {
            return Some(bytes);
        }
        let Some(AttributeValue::UnitRef(inner)) = entry.attr_value(dw::DW_AT_type) else {
            return None;
        };
        let element = self.bytes(inner, depth)?;
        if entry.tag() != dw::DW_TAG_array_type {
            return Some(element);
        }
        let mut count = 1_u64;
        let mut tree = self.unit.entries_tree(Some(offset)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Ok(Some(child)) = children.next() {
            let number = |name| {
                let value = child.entry().attr_value(name)?;
                match value {
                    AttributeValue::Sdata(value) => Some(value),
                    value => i64::try_from(value.udata_value()?).ok(),
                }
            };
            let lower = number(dw::DW_AT_lower_bound);
            let extent = match (number(dw::DW_AT_count), number(dw::DW_AT_upper_bound)) {
                (Some(count), _) => Some(count),
                (None, Some(upper)) => {
                    let fortran = i64::from(lower.is_none() && is_fortran(self.unit));
                    upper.checked_sub(lower.unwrap_or(fortran))?.checked_add(1)
                }
                _ => None,
            };
            count = count.checked_mul(u64::try_from(extent?).ok()?)?;
        }
        element.checked_mul(count)
    }
}

/// A general register's number in machine code, by its number in debugging information.
fn machine(register: gimli::Register) -> Option<u8> {
    const NUMBERS: [u8; 16] = [0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15];
    NUMBERS.get(usize::from(register.0)).copied()
}

/// Whether a type is another one with a property, or an array of it, or the address of it.
fn leads_on(tag: DwTag) -> bool {
    matches!(
        tag,
        dw::DW_TAG_pointer_type
            | dw::DW_TAG_reference_type
            | dw::DW_TAG_typedef
            | dw::DW_TAG_const_type
            | dw::DW_TAG_volatile_type
            | dw::DW_TAG_restrict_type
            | dw::DW_TAG_atomic_type
            | dw::DW_TAG_array_type
    )
}

/// A symbol as a person reads it.
pub(crate) fn readable(symbol: &str) -> String {
    match symbol.strip_prefix("_Z") {
        Some(_) => cpp_demangle::Symbol::new(symbol)
            .ok()
            .and_then(|name| name.demangle().ok())
            .unwrap_or_else(|| symbol.to_owned()),
        None => symbol.to_owned(),
    }
}
