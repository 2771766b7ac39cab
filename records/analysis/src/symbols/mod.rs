//! From an address in a module to a place in the source.
//!
//! Whatever the file is (stripped, truncated, gone, not an ELF file at all),
//! the answer is a [`Place`]: `file:line (function)` with debug information,
//! `function+offset (module)` with symbols, `address (module)` without. What clang writes
//! beside its calls of the runtime stands in for debug information that was stripped.

mod callers;
mod debug_file;
mod entry;
mod extent;
mod module;
mod name;
mod noted;
mod reading;
mod receiver;
mod types;
mod variable;
mod variables;

use crate::facts::{Lines, Place};
use fathomp_trace::model::Recording;
use module::{Found, Module};
use noted::Noted;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

pub use callers::{Callers, Frame};
pub use name::readable;
pub use receiver::returns;
pub use variable::{Active, Variable};
pub use variables::{Assigned, Variables};

/// Looks up places; keeps the modules it has opened.
#[derive(Default)]
pub struct Symbols {
    modules: HashMap<PathBuf, Module>,
    /// Modules without line information in which a place has no line.
    without_lines: BTreeSet<PathBuf>,
    /// Modules that were built anew since the program ran.
    changed: HashMap<PathBuf, Noted>,
}

impl Symbols {
    /// Nothing opened yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing opened yet; of modules that are no longer what they were when `recording` was made,
    /// what was noted then counts.
    #[must_use]
    pub fn of(recording: &Recording) -> Self {
        Self {
            changed: noted::changed(recording),
            ..Self::default()
        }
    }

    /// Modules that are no longer what they were when the program ran, so that places in them are
    /// those that were noted then.
    pub(crate) fn is_changed(&self, module: &Path) -> bool {
        self.changed.contains_key(module)
    }

    /// The place of a construct in `module` that was entered by the call at
    /// `call` and runs the outlined function at `function`; an address of 0 is
    /// unknown.
    ///
    /// With line information the function is asked first, because it begins at
    /// its directive; without, the call tells more: what the compiler wrote beside it, or
    /// at least where it is (`step+0x12`).
    pub fn place(&mut self, module: &Path, call: u64, function: u64) -> Place {
        if let Some(noted) = self.changed.get(module) {
            let address = if function != 0 { function } else { call };
            return describe(noted.construct(call, function), module, address);
        }
        let found = self.construct(module, call, function);
        self.without_line(module, found.line.is_none());
        found
    }

    fn construct(&mut self, module: &Path, call: u64, function: u64) -> Place {
        let opened = self.opened(module);
        let mut called = (call != 0).then(|| opened.look_up(call));
        if let Some(called) = &mut called
            && called.line.is_none()
            && let Some(written) = opened.written_beside(call)
        {
            *called = written;
        }
        if function != 0 {
            let mut entered = opened.look_up_entry(function);
            if entered.line.is_some() {
                let nameless = entered.function.as_deref().is_none_or(name::is_nameless);
                if nameless && let Some(called) = called {
                    entered.function = called.function;
                }
                return describe(entered, module, function);
            }
            if called
                .as_ref()
                .is_none_or(|called| called.rank() < entered.rank())
            {
                return describe(entered, module, function);
            }
        }
        describe(called.unwrap_or_default(), module, call)
    }

    /// The places of an instruction in `module`, the innermost first: functions that are
    /// inlined there, then the one that contains it. At least one.
    pub fn places(&mut self, module: &Path, address: u64) -> Vec<Place> {
        let opened = self.opened(module);
        let mut all: Vec<_> = opened
            .frames(address)
            .into_iter()
            .map(|found| describe(found, module, address))
            .collect();
        if all.is_empty() {
            let found = opened.look_up(address);
            self.without_line(module, found.line.is_none());
            all.push(describe(found, module, address));
        }
        all
    }

    /// The lines of the region that was outlined to the function at `function` in
    /// `module`, from its directive on; none if that cannot be found out.
    pub fn lines(&mut self, module: &Path, function: u64) -> Option<Lines> {
        if function == 0 {
            return None;
        }
        if let Some(noted) = self.changed.get(module) {
            return noted.lines(function);
        }
        self.opened(module).extent(function)
    }

    fn opened(&mut self, module: &Path) -> &Module {
        self.modules
            .entry(module.to_owned())
            .or_insert_with(|| Module::open(module))
    }

    /// Notes that a place in `module` has no line.
    fn without_line(&mut self, module: &Path, none: bool) {
        if none && !self.without_lines.contains(module) && !self.opened(module).has_lines() {
            self.without_lines.insert(module.to_owned());
        }
    }

    /// Modules without line information in which a place that was looked up has no line, sorted.
    #[must_use]
    pub fn without_lines(&self) -> Vec<&Path> {
        self.without_lines.iter().map(PathBuf::as_path).collect()
    }
}

fn describe(found: Found, module: &Path, address: u64) -> Place {
    let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let module_path = module.to_string_lossy().into_owned();
    let module_name = match base(&module_path) {
        name if name.is_empty() => "unknown module".to_owned(),
        name => name,
    };
    let function = found.function.map(|name| readable(&name));
    let (label, short) = match (&found.file, found.line, &function, found.offset) {
        (Some(file), Some(line), Some(function), _) => {
            let short = format!("{}:{line}", base(file));
            (format!("{short} ({function})"), short)
        }
        (Some(file), Some(line), None, _) => {
            let short = format!("{}:{line}", base(file));
            (short.clone(), short)
        }
        (_, _, Some(function), Some(offset)) => {
            let short = format!("{function}+{offset:#x}");
            (format!("{short} ({module_name})"), short)
        }
        (_, _, Some(function), None) => (format!("{function} ({module_name})"), function.clone()),
        _ if address == 0 => ("unknown place".to_owned(), "unknown".to_owned()),
        _ => (
            format!("{address:#x} ({module_name})"),
            format!("{module_name}+{address:#x}"),
        ),
    };
    Place {
        label,
        short,
        file: found.file,
        line: found.line,
        column: found.column,
        function,
        offset: found.offset,
        module: module_path,
        address,
    }
}
