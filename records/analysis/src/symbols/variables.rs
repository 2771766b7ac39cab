//! The variables of a program: where each lies, what it consists of, and which one an
//! allocated block is assigned to.
//!
//! From debug information where there is some, otherwise from the symbol table; whatever
//! is wrong with the file only means fewer answers.

use super::debug_file;
use super::module::read;
use super::name::readable;
use super::reading::Reading;
use super::receiver::{Receiver, receiver};
use super::types::Types;
use super::variable::{Active, Local, Pointer, Variable};
use object::{Object, ObjectSection, ObjectSymbol, ReadRef, SymbolKind};
use std::ops::Range;
use std::path::Path;

/// Bytes that are told apart in variables of unknown type.
const WORD: u64 = 8;

/// The variables of a program.
#[derive(Debug, Default)]
pub struct Variables {
    /// By address.
    variables: Vec<Variable>,
    pointers: Vec<Pointer>,
    locals: Vec<Local>,
    types: Types,
    /// What the dynamic linker writes.
    linkage: Vec<Range<u64>>,
}

impl Variables {
    /// Reads the file of a program.
    #[must_use]
    pub fn open(path: &Path) -> Self {
        let mut all = Self::default();
        let Some(content) = read(path) else {
            return all;
        };
        let Ok(file) = object::File::parse(&content) else {
            return all;
        };
        let linkage = file.sections().filter(|section| {
            matches!(
                section.name(),
                Ok(".got" | ".got.plt" | ".data.rel.ro" | ".dynamic")
            )
        });
        all.linkage = linkage
            .map(|section| section.address()..section.address().saturating_add(section.size()))
            .collect();
        let mut reading = Reading::default();
        if debug_file::has_debug_info(&file) {
            reading.file(&file);
        } else {
            for candidate in debug_file::candidates(path, &file) {
                if let Some(content) = read(&candidate)
                    && let Ok(debug) = object::File::parse(&content)
                    && debug_file::has_debug_info(&debug)
                {
                    reading.file(&debug);
                    break;
                }
            }
        }
        all.variables = reading.variables;
        all.pointers = reading.pointers;
        all.locals = reading.locals;
        all.types = reading.types;
        all.add_symbols(&file);
        all.variables.sort_by_key(|variable| variable.range.start);
        all
    }

    /// Adds variables that debug information does not name.
    fn add_symbols<'a>(&mut self, file: &object::File<'a, impl ReadRef<'a>>) {
        let mut known: Vec<_> = self.variables.iter().map(|v| v.range.start).collect();
        known.sort_unstable();
        let all = file.symbols().chain(file.dynamic_symbols());
        for symbol in all.filter(|s| s.kind() == SymbolKind::Data && s.is_definition()) {
            let start = symbol.address();
            let name = symbol.name().ok().filter(|name| !name.is_empty());
            let (Some(name), Err(at)) = (name, known.binary_search(&start)) else {
                continue;
            };
            if symbol.size() > 0 {
                known.insert(at, start);
                self.variables.push(Variable {
                    name: readable(name),
                    range: start..start.saturating_add(symbol.size()),
                    declared: None,
                    kind: None,
                });
            }
        }
    }

    /// The variable that contains an address of the program's file.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<&Variable> {
        let after = self.variables.partition_point(|v| v.range.start <= address);
        let before = self.variables[..after].iter().rev().take(4);
        before.into_iter().find(|v| v.range.contains(&address))
    }

    /// The variable at an address of the stack while a function is active. Its range is one
    /// of the stack.
    #[must_use]
    pub fn local(&self, active: Active, address: u64) -> Option<Variable> {
        let here = |local: &&Local| {
            let mut code = local.code.iter();
            code.any(|range| range.contains(&active.instruction))
        };
        let placed = self.locals.iter().filter(here).filter_map(|local| {
            let base = Some(local.base.address(active)).filter(|base| *base != 0)?;
            let start = base.checked_add_signed(local.offset)?;
            let bytes = local.variable.range.end - local.variable.range.start;
            let mut variable = local.variable.clone();
            variable.range = start..start.checked_add(bytes)?;
            Some(variable)
        });
        let mut placed = placed.filter(|variable| variable.range.contains(&address));
        placed.next()
    }

    /// What of a variable lies at an address, such as `hits[3]` or `a.n`.
    #[must_use]
    pub fn part(&self, variable: &Variable, address: u64) -> String {
        let offset = address.saturating_sub(variable.range.start);
        match variable.kind {
            Some(kind) => self.types.part(&variable.name, kind, offset).0,
            // Of what kind its elements are is not known: words, not bytes.
            None if offset < WORD => variable.name.clone(),
            None => format!("{}+{}", variable.name, offset / WORD * WORD),
        }
    }

    /// The scalar that contains an address: its first byte and the one behind it.
    #[must_use]
    pub fn scalar(&self, address: u64) -> Option<Range<u64>> {
        let variable = self.at(address)?;
        let start = variable.range.start;
        let (_, scalar) = self.types.part("", variable.kind?, address - start);
        let scalar = scalar?;
        Some(start.checked_add(scalar.start)?..start.checked_add(scalar.end)?)
    }

    /// Whether an address lies in what the dynamic linker writes.
    #[must_use]
    pub fn is_linkage(&self, address: u64) -> bool {
        self.linkage.iter().any(|range| range.contains(&address))
    }

    /// What receives the block that a statement of the source allocates, and what lies at an
    /// offset of that block; none if the statement does not say so for certain. Its `text`
    /// may begin before it and ends with `line`, and the function that it calls for that is
    /// `called`, if it is one of the program.
    #[must_use]
    pub fn assigned(
        &self,
        (file, line): (&str, u32),
        text: &str,
        called: Option<&str>,
        offset: u64,
    ) -> Option<Assigned> {
        let extension = file.rsplit('.').next().unwrap_or_default();
        let fortran = file.contains('.') && extension.starts_with(['f', 'F']);
        let receiver = receiver(text, called, fortran)?;
        let pointer = self.pointer(&receiver, file, line);
        let part = pointer.and_then(|pointer| {
            let name = &receiver.name;
            let to = pointer.to?;
            self.types.part_of_many(name, to, offset, pointer.fortran)
        });
        Some(Assigned {
            is_typed: part.is_some(),
            part: part.unwrap_or_else(|| receiver.name.clone()),
            name: receiver.name,
        })
    }

    /// The pointer that receives a block by a statement on a line, as far as that is certain:
    /// the variable of that name that is declared last before, or the only thing so named.
    fn pointer(&self, receiver: &Receiver, file: &str, line: u32) -> Option<&Pointer> {
        let last = receiver.name.rsplit(['.', '>', '%']).next()?;
        let called = || self.pointers.iter().filter(|pointer| pointer.name == last);
        let variables = called().filter(|pointer| !pointer.is_member && receiver.is_variable);
        let before = |pointer: &&Pointer| {
            let declared = pointer.declared.as_ref();
            declared.is_some_and(|(at, number)| at == file && *number <= line)
        };
        let declared_at = |pointer: &&Pointer| {
            let line = pointer.declared.as_ref().map_or(0, |(_, line)| *line);
            (line, pointer.to.is_some())
        };
        variables
            .filter(before)
            .max_by_key(declared_at)
            .or_else(|| {
                let mut all = called().filter(|pointer| pointer.is_member || receiver.is_variable);
                let one = all.next()?;
                all.all(|other| other.declared == one.declared)
                    .then_some(one)
            })
    }
}

/// What a block belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assigned {
    /// What receives its address, as the source writes it.
    pub name: String,
    /// What of it lies at the offset, such as `per[3].n`; its name if that is not known.
    pub part: String,
    /// What it consists of is known.
    pub is_typed: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_no_use_say_nothing() {
        let none = Variables::open(Path::new("/nowhere"));
        assert!(none.at(1).is_none() && none.scalar(1).is_none());
        assert!(!none.is_linkage(1));
        assert_eq!(none.assigned(("a.c", 1), "f();", None, 0), None);
    }
}
