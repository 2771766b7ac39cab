//! What a program's file says of addresses in its memory.

use fathomp_analysis::Place;
use fathomp_analysis::symbols::{Active, Symbols, Variable, Variables, returns};
use fathomp_false_sharing::log::{Frame, Region};
use fathomp_false_sharing::{Gathered, Layout, Names, Spot};
use fathomp_rewriting::{Atomic, Code};
use fathomp_shared_lines::{AtomicSite, RegionAtomics, Site};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Larger files are no source that is looked into.
const SOURCE_BYTES_MAX: u64 = 16 << 20;
/// Where system libraries' sources lie, which a user did not write.
const SYSTEM: &str = "/usr/";

/// Lines of a statement that are looked at, before the one that is known.
const STATEMENT_LINES: u32 = 3;
/// Lines behind an allocation in which its function may return the block.
const FUNCTION_LINES: u32 = 60;
/// What functions are called, in part, that count references to an object that is shared.
const REFERENCE_COUNTS: [&str; 4] = [
    "_Sp_counted_base",
    "__shared_count",
    "__shared_weak_count",
    "__weak_count",
];

/// A program that ran, and where it lay.
pub(super) struct ProgramNames {
    path: PathBuf,
    bias: u64,
    variables: Variables,
    code: Code,
    symbols: RefCell<Symbols>,
    /// Lines of source files, none if they cannot be read.
    sources: RefCell<HashMap<String, Vec<String>>>,
}

impl ProgramNames {
    /// Opens the program's file. Whatever is wrong with it only means fewer names.
    pub(super) fn open(path: &Path, bias: u64) -> Self {
        Self {
            path: path.to_owned(),
            bias,
            variables: Variables::open(path),
            code: Code::open(path).unwrap_or_default(),
            symbols: RefCell::new(Symbols::new()),
            sources: RefCell::default(),
        }
    }

    /// Whether source lines can be named; to be asked after places were.
    pub(super) fn has_lines(&self) -> bool {
        let symbols = self.symbols.borrow();
        !symbols.without_lines().contains(&self.path.as_path())
    }

    fn in_file(&self, address: u64) -> Option<u64> {
        address.checked_sub(self.bias)
    }

    fn site(&self, call: u64, function: u64) -> Site {
        site_of(self.symbols.borrow_mut().place(&self.path, call, function))
    }

    /// A variable that begins at `base` in memory; its addresses are those of `address`.
    fn spot(&self, variable: &Variable, base: u64, address: u64) -> Spot {
        let declared = variable.declared.as_ref().map(|(file, line)| Site {
            label: format!("{}:{line}", file.rsplit('/').next().unwrap_or(file)),
            file: Some(file.clone()),
            line: Some(*line),
            address: variable.range.start,
        });
        Spot {
            name: variable.name.clone(),
            base,
            part: self.variables.part(variable, address),
            declared,
        }
    }

    /// The place of an instruction in what the user wrote, if functions of system libraries
    /// are inlined there.
    fn users_site(&self, address: u64) -> Site {
        let places = self.symbols.borrow_mut().places(&self.path, address);
        let mut sites: Vec<_> = places.into_iter().map(site_of).collect();
        let users = sites.iter().position(is_users).unwrap_or(0);
        sites.swap_remove(users)
    }

    /// A line of a source file.
    fn source(&self, file: &str, line: u32) -> Option<String> {
        let mut sources = self.sources.borrow_mut();
        let lines = sources.entry(file.to_owned()).or_insert_with(|| {
            let small = fs::metadata(file).is_ok_and(|found| found.len() <= SOURCE_BYTES_MAX);
            let text = fs::read(file).ok().filter(|_| small).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            text.lines().map(str::to_owned).collect()
        });
        let at = usize::try_from(line).ok()?.checked_sub(1)?;
        lines.get(at).cloned()
    }

    /// The statement on a line as far as it reaches there, from where it begins.
    fn statement(&self, file: &str, line: u32) -> String {
        let mut text = self.source(file, line).unwrap_or_default();
        for before in (line.saturating_sub(STATEMENT_LINES)..line).rev() {
            let Some(above) = self.source(file, before) else {
                break;
            };
            let end = above.trim_end();
            if end.is_empty() || end.ends_with([';', '{', '}', ':', ')', '/']) || end.contains('#')
            {
                break;
            }
            text = format!("{above}\n{text}");
        }
        text
    }

    /// Whether a function returns the block that is allocated by a statement of it, to who
    /// has called it.
    fn is_returned(
        &self,
        file: &str,
        line: u32,
        text: &str,
        called: Option<&str>,
        name: Option<&str>,
    ) -> bool {
        let Some(name) = name else {
            return returns(text, called);
        };
        let mut behind = (line..line.saturating_add(FUNCTION_LINES)).map_while(|line| {
            let text = self.source(file, line)?;
            (!text.starts_with('}')).then_some(text)
        });
        behind.any(|text| {
            text.split([';', '{', '}']).any(|statement| {
                let value = statement.trim().strip_prefix("return");
                let value = value.map(|value| value.trim_matches(['(', ')', ' ']));
                // Behind a cast.
                let value = value.and_then(|value| value.rsplit(')').next());
                value.map(str::trim) == Some(name)
            })
        })
    }

    /// The atomic instructions in the code of each region, and those that it executed in
    /// functions that it called.
    pub(super) fn atomics(&self, gathered: &Gathered) -> Vec<RegionAtomics> {
        let mut all = Vec::new();
        for region in gathered.regions.keys() {
            let function = self
                .in_file(region.function)
                .filter(|_| region.function != 0);
            let mut found: BTreeMap<u64, (Atomic, u64)> = BTreeMap::new();
            let of_code = function.map(|function| self.code.atomics_of(function));
            for atomic in of_code.unwrap_or_default() {
                found.insert(atomic.address, (atomic, 0));
            }
            let first = (*region, 0);
            let last = (*region, u64::MAX);
            for ((_, instruction), times) in gathered.atomics.range(first..=last) {
                let address = self.in_file(*instruction);
                let atomic = address.and_then(|address| self.code.atomic(address));
                if let Some(atomic) = atomic {
                    found.entry(atomic.address).or_insert((atomic, 0)).1 += times;
                }
            }
            if found.is_empty() {
                continue;
            }
            let instructions = found.into_values().map(|(atomic, executed)| AtomicSite {
                site: self.site(atomic.address, 0),
                instruction: atomic.instruction,
                executed,
            });
            all.push(RegionAtomics {
                instructions: instructions.collect(),
                region: self.region(*region),
            });
        }
        all
    }
}

fn site_of(place: Place) -> Site {
    Site {
        label: place.label,
        file: place.file,
        line: place.line,
        address: place.address,
    }
}

fn is_users(site: &Site) -> bool {
    site.file
        .as_ref()
        .is_some_and(|file| !file.starts_with(SYSTEM))
}

impl Layout for ProgramNames {
    fn access_bytes(&self, instruction: u64) -> Option<u64> {
        self.code.access_bytes(self.in_file(instruction)?)
    }

    fn scalar(&self, address: u64) -> Option<Range<u64>> {
        let scalar = self.variables.scalar(self.in_file(address)?)?;
        Some(scalar.start.checked_add(self.bias)?..scalar.end.checked_add(self.bias)?)
    }
}

impl Names for ProgramNames {
    fn variable(&self, address: u64) -> Option<Spot> {
        let in_file = self.in_file(address)?;
        let variable = self.variables.at(in_file)?;
        let base = variable.range.start.checked_add(self.bias)?;
        Some(self.spot(variable, base, in_file))
    }

    fn is_linkage(&self, address: u64) -> bool {
        let address = self.in_file(address);
        address.is_some_and(|address| self.variables.is_linkage(address))
    }

    fn code(&self, instruction: u64) -> Option<Site> {
        let address = self.in_file(instruction)?;
        self.code
            .contains(address)
            .then(|| self.users_site(address))
    }

    fn local(&self, frames: &[Frame], address: u64) -> Option<Spot> {
        let active = frames.iter().filter_map(|frame| {
            let [instruction, frame, stack, pointer] = *frame;
            Some(Active {
                // The call, which the function goes on behind.
                instruction: self.in_file(instruction)?.checked_sub(1)?,
                frame,
                stack,
                pointer,
            })
        });
        let mut found = active.filter_map(|active| self.variables.local(active, address));
        let variable = found.next()?;
        let base = variable.range.start;
        Some(self.spot(&variable, base, address))
    }

    fn region(&self, region: Region) -> Site {
        if region == Region::default() {
            return Site {
                label: "the serial part".to_owned(),
                ..Site::default()
            };
        }
        let in_file = |address| self.in_file(address).unwrap_or(0);
        self.site(in_file(region.call), in_file(region.function))
    }

    fn block(&self, frames: &[u64], offset: u64) -> Option<(String, String)> {
        let mut found = None;
        let mut allocated_at = None;
        // The function that was looked at before, called by the next.
        let mut called: Option<String> = None;
        let places = frames.iter().flat_map(|frame| {
            let call = frame.checked_sub(1).and_then(|call| self.in_file(call));
            let call = call.filter(|call| self.code.contains(*call));
            call.map_or_else(Vec::new, |call| {
                self.symbols.borrow_mut().places(&self.path, call)
            })
        });
        for place in places {
            let function = place.function.clone();
            let site = site_of(place);
            // Templates of the library stand in between.
            if let (true, Some(file), Some(line)) = (is_users(&site), &site.file, site.line) {
                let text = self.statement(file, line);
                let here = self.variables.assigned(
                    (file.as_str(), line),
                    &text,
                    called.as_deref(),
                    offset,
                );
                let name = here.as_ref().map(|here| here.name.as_str());
                let goes_on = self.is_returned(file, line, &text, called.as_deref(), name);
                allocated_at.get_or_insert(site.label);
                found = here.or(found);
                if !goes_on {
                    break;
                }
            }
            called = function;
        }
        if let Some(found) = found {
            return Some((found.name, found.part));
        }
        let name = format!("the block allocated at {}", allocated_at?);
        Some((name.clone(), name))
    }

    fn counts_references(&self, instruction: u64) -> bool {
        let Some(address) = self.in_file(instruction) else {
            return false;
        };
        let places = self.symbols.borrow_mut().places(&self.path, address);
        places.iter().any(|place| {
            let function = place.function.as_deref().unwrap_or_default();
            let file = place.file.as_deref().unwrap_or_default();
            file.ends_with("/ext/atomicity.h")
                || REFERENCE_COUNTS.iter().any(|name| function.contains(name))
        })
    }
}
