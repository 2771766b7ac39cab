//! The variables of a program: where each lies, what it consists of, and which one an
//! allocated block is assigned to.
//!
//! From debug information where there is some, otherwise from the symbol table; whatever
//! is wrong with the file only means fewer answers.

use super::debug_file;
use super::module::read;
use super::name::readable;
use super::reading::Reading;
use super::types::Types;
use super::variable::{Local, Pointer, Variable};
use object::{Object, ObjectSection, ObjectSymbol, ReadRef, SymbolKind};
use std::ops::Range;
use std::path::Path;

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

    /// The variable at an address of the stack while a function is active that goes on at
    /// `instruction` of the file and has its frame (the DWARF CFA) at `frame`. Its range is
    /// one of the stack.
    #[must_use]
    pub fn local(&self, instruction: u64, frame: u64, address: u64) -> Option<Variable> {
        let active = |local: &&Local| {
            let mut function = local.function.iter();
            function.any(|range| range.contains(&instruction))
        };
        let placed = self.locals.iter().filter(active).filter_map(|local| {
            let start = frame.checked_add_signed(local.offset)?;
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
            None if offset == 0 => variable.name.clone(),
            None => format!("{}+{offset}", variable.name),
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

    /// The pointer that is assigned by a line of the source with that text, and what
    /// lies at an offset of the block that it then points to.
    #[must_use]
    pub fn assigned(
        &self,
        file: &str,
        line: u32,
        text: &str,
        offset: u64,
    ) -> Option<(String, String)> {
        let here = |pointer: &&Pointer| {
            let declared = pointer.declared.as_ref();
            declared.is_some_and(|(at, number)| at == file && *number == line)
        };
        let target = target(text);
        let called = |pointer: &&Pointer| target.as_deref() == Some(&pointer.name);
        let pointer = self
            .pointers
            .iter()
            .filter(here)
            .find(|pointer| target.is_none() || called(pointer))
            .or_else(|| {
                let in_file = |pointer: &&Pointer| {
                    let declared = pointer.declared.as_ref();
                    declared.is_none_or(|(at, _)| at == file)
                };
                self.pointers.iter().filter(called).find(in_file)
            })
            .or_else(|| self.pointers.iter().find(called));
        match (pointer, target) {
            (Some(pointer), _) => {
                let name = &pointer.name;
                let part = self
                    .types
                    .part_of_many(name, pointer.to, offset, pointer.fortran);
                Some((name.clone(), part.unwrap_or_else(|| name.clone())))
            }
            (None, Some(name)) => Some((name.clone(), name)),
            (None, None) => None,
        }
    }
}

/// The name that is assigned to by a line of C, C++ or Fortran: the last word before the
/// first single `=`, or the one in `allocate(name(...))`.
fn target(text: &str) -> Option<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let lower = text.to_lowercase();
    if let Some(at) = lower.find("allocate")
        && let Some(rest) = lower[at..].strip_prefix("allocate")
        && let Some(rest) = rest.trim_start().strip_prefix('(')
    {
        let name: String = rest
            .trim_start()
            .chars()
            .take_while(|c| is_word(*c))
            .collect();
        return (!name.is_empty()).then_some(name);
    }
    let bytes = text.as_bytes();
    let at = (0..bytes.len()).find(|at| {
        let beside = |at: Option<usize>| at.and_then(|at| bytes.get(at)).copied();
        let operator = |byte: Option<u8>| byte.is_some_and(|b| b"=!<>+-*/%&|^".contains(&b));
        bytes[*at] == b'='
            && !operator(beside(at.checked_sub(1)))
            && beside(Some(at + 1)) != Some(b'=')
    })?;
    let before = text.get(..at)?.trim_end();
    let name: String = before.chars().rev().take_while(|c| is_word(*c)).collect();
    let name: String = name.chars().rev().collect();
    (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_is_assigned_to_is_found() {
        let found = |text: &str| target(text);
        assert_eq!(
            found("    struct s *per = calloc(n, sizeof *per);").as_deref(),
            Some("per")
        );
        assert_eq!(
            found("if (!(p->cells=malloc(n)))").as_deref(),
            Some("cells")
        );
        assert_eq!(
            found("  allocate( Work(n), stat=i)").as_deref(),
            Some("work")
        );
        assert_eq!(found("while (a == b) c += d;"), None);
        assert_eq!(found("f(malloc(8));"), None);
        assert_eq!(found("=x"), None);
        assert_eq!(found(""), None);
    }

    #[test]
    fn files_of_no_use_say_nothing() {
        let none = Variables::open(Path::new("/nowhere"));
        assert!(none.at(1).is_none() && none.scalar(1).is_none());
        assert!(!none.is_linkage(1));
        assert_eq!(none.assigned("a.c", 1, "f();", 0), None);
    }
}
