//! A program's or library's file.

mod error;
mod imports;
mod read;
mod search;

pub use error::{ImageError, ReadError};
pub use imports::{Slot, Target};

use crate::functions::Found;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Number of a function of an [`Image`], in the order of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// A function, or a part of one that the compiler put elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its addresses.
    pub range: Range<u64>,
    /// Whether it is no function but a part of one (`f.cold`): its symbol says so, or the
    /// unwinding table.
    pub is_part: bool,
    /// Its symbol in the image's data.
    name: Range<usize>,
}

/// What a section may be used for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its addresses.
    pub range: Range<u64>,
    /// Its bytes in the file; fewer than addresses, or none, where memory begins as zeros.
    pub data: Range<usize>,
    /// Whether the program may write it.
    pub write: bool,
    /// Whether it is code.
    pub execute: bool,
    /// Whether each thread has its own.
    pub thread: bool,
    /// Its name.
    pub name: String,
}

/// An ELF program or library for x86-64. Addresses are those in the file: where the module
/// is loaded, something is added to them.
#[derive(Debug)]
pub struct Image {
    data: Arc<[u8]>,
    /// Those that are in memory at run time, by address.
    sections: Vec<Section>,
    functions: Vec<Function>,
    slots: HashMap<u64, Slot>,
    /// Address of a stub, to its slot.
    stubs: HashMap<u64, u64>,
    /// Becomes read-only when the loader has relocated it.
    relocated: Vec<Range<u64>>,
    build_id: Vec<u8>,
    entry: u64,
    stripped: bool,
    position_independent: bool,
}

impl Image {
    /// The whole file.
    #[must_use]
    pub fn data(&self) -> &Arc<[u8]> {
        &self.data
    }

    /// Sections that are in memory at run time, by address.
    #[must_use]
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// All functions, by address, without overlap.
    #[must_use]
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// All functions' numbers.
    pub fn ids(&self) -> impl Iterator<Item = FunctionId> + use<> {
        (0..self.functions.len() as u32).map(FunctionId)
    }

    /// A function of this image.
    ///
    /// # Panics
    /// If the number is another image's.
    #[must_use]
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.0 as usize]
    }

    /// A function's symbol; none if it has none, or one that is no text.
    #[must_use]
    pub fn name(&self, id: FunctionId) -> Option<&str> {
        let name = self.data.get(self.function(id).name.clone())?;
        std::str::from_utf8(name).ok().filter(|n| !n.is_empty())
    }

    /// The function with this symbol, the first of several.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<FunctionId> {
        self.ids().find(|id| self.name(*id) == Some(name))
    }

    /// The function that contains an address.
    #[must_use]
    pub fn function_at(&self, address: u64) -> Option<FunctionId> {
        let behind = self.functions.partition_point(|f| f.range.start <= address);
        let at = behind.checked_sub(1)?;
        let inside = self.functions[at].range.contains(&address);
        inside.then_some(FunctionId(at as u32))
    }

    /// The function that begins at an address.
    #[must_use]
    pub fn function_from(&self, address: u64) -> Option<FunctionId> {
        self.function_at(address)
            .filter(|id| self.function(*id).range.start == address)
    }

    /// The section that contains an address.
    #[must_use]
    pub fn section_at(&self, address: u64) -> Option<&Section> {
        let behind = self.sections.partition_point(|s| s.range.start <= address);
        // Empty ones, and those of threads, may begin where another one lies.
        self.sections[..behind]
            .iter()
            .rev()
            .take(4)
            .find(|section| section.range.contains(&address) && !section.thread)
    }

    /// The `length` bytes at an address as they are in the file; none if the file has not all
    /// of them.
    #[must_use]
    pub fn bytes(&self, address: u64, length: u64) -> Option<&[u8]> {
        let section = self.section_at(address)?;
        let from = usize::try_from(address - section.range.start).ok()?;
        let to = from.checked_add(usize::try_from(length).ok()?)?;
        self.data.get(section.data.clone())?.get(from..to)
    }

    /// Whether an address is one of code.
    #[must_use]
    pub fn is_code(&self, address: u64) -> bool {
        self.section_at(address)
            .is_some_and(|section| section.execute)
    }

    /// The value of `length` (1, 2, 4 or 8) bytes of memory that nobody can change while the
    /// program runs: read-only, or read-only once the loader is done. Addresses in it are those
    /// of the file. None if the memory may change, or the loader decides what is in it.
    #[must_use]
    pub fn constant(&self, address: u64, length: u8) -> Option<u64> {
        let section = self.section_at(address)?;
        let length = u64::from(length);
        if let Some(slot) = self.slots.get(&address) {
            return match slot {
                Slot::Local(to) if length == 8 && self.is_fixed(section, address, 8) => Some(*to),
                _ => None,
            };
        }
        // The loader changes eight bytes at a time.
        let nearby = address.saturating_sub(7)..address.saturating_add(length);
        if !self.is_fixed(section, address, length)
            || section.write && nearby.clone().any(|at| self.slots.contains_key(&at))
        {
            return None;
        }
        let bytes = self.bytes(address, length)?;
        (bytes.len() <= 8).then(|| {
            let fold = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
            bytes.iter().rev().fold(0, fold)
        })
    }

    fn is_fixed(&self, section: &Section, address: u64, length: u64) -> bool {
        let end = address.saturating_add(length);
        !section.write
            || self
                .relocated
                .iter()
                .any(|r| r.contains(&address) && end <= r.end)
    }

    /// What the linker noted to tell builds apart; empty if it did not.
    #[must_use]
    pub fn build_id(&self) -> &[u8] {
        &self.build_id
    }

    /// Address where the program begins; 0 for libraries.
    #[must_use]
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// Whether it has no symbols but those that the loader needs.
    #[must_use]
    pub fn is_stripped(&self) -> bool {
        self.stripped
    }

    /// Whether it is loaded at any address.
    #[must_use]
    pub fn is_position_independent(&self) -> bool {
        self.position_independent
    }

    /// A function's number, from what the tables say.
    fn add_function(&mut self, found: &Found<'_>) {
        let name = found.name.map_or(0..0, |name| within(&self.data, name));
        let text = self.data.get(name.clone()).unwrap_or_default();
        let is_part = found.is_part || is_cold(text);
        self.functions.push(Function {
            range: found.range.clone(),
            is_part,
            name,
        });
    }
}

/// Whether a symbol is one of a part that is seldom executed: `f.cold`, `f.cold.12`.
fn is_cold(name: &[u8]) -> bool {
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit());
    let name = match digits.count() {
        0 => name,
        count => name[..name.len() - count]
            .strip_suffix(b".")
            .unwrap_or(name),
    };
    name.ends_with(b".cold")
}

/// Where a part of `data` lies in it.
fn within(data: &[u8], part: &[u8]) -> Range<usize> {
    let from = (part.as_ptr() as usize).wrapping_sub(data.as_ptr() as usize);
    let to = from.saturating_add(part.len());
    if to <= data.len() { from..to } else { 0..0 }
}

#[cfg(test)]
impl Image {
    /// Code at an address that is divided into functions.
    pub(crate) fn raw(address: u64, code: &[u8], functions: &[Range<u64>]) -> Self {
        let functions = functions.iter().map(|range| Function {
            range: range.clone(),
            is_part: false,
            name: 0..0,
        });
        Self {
            data: code.into(),
            sections: vec![Section {
                range: address..address + code.len() as u64,
                data: 0..code.len(),
                write: false,
                execute: true,
                thread: false,
                name: ".text".into(),
            }],
            functions: functions.collect(),
            slots: HashMap::new(),
            stubs: HashMap::new(),
            relocated: vec![],
            build_id: vec![],
            entry: address,
            stripped: true,
            position_independent: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cold_parts_are_told_by_their_symbols() {
        for (name, expected) in [
            ("f.cold", true),
            ("f.cold.3", true),
            ("f._omp_fn.0.cold", true),
            ("f._omp_fn.0", false),
            ("f.part.0", false),
            ("cold", false),
            ("12", false),
            ("", false),
        ] {
            assert_eq!(is_cold(name.as_bytes()), expected, "{name}");
        }
    }
}
