//! One executable or shared library: its symbols and line information.

use super::debug_file;
use super::entry::Entries;
use addr2line::Loader;
use fathomp_cfg::{Image, is_outlined, written_beside};
use object::{Object, ObjectSymbol, ReadCache, ReadRef, SymbolKind};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Files beyond this size are not read: no program has that much code.
const LARGEST_BYTES: u64 = 8 << 30;

/// Functions inlined into each other at one address that are looked at.
const FRAMES_MAX: usize = 1_000;

/// What is known about an address.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) file: Option<String>,
    pub(super) line: Option<u32>,
    pub(super) column: Option<u32>,
    /// As in the symbol table or debug information.
    pub(super) function: Option<String>,
    /// Bytes from the start of the function, if it comes from a symbol table.
    pub(super) offset: Option<u64>,
}

impl Found {
    /// How much this says; more is better.
    pub(super) fn rank(&self) -> u32 {
        2 * u32::from(self.line.is_some()) + u32::from(self.function.is_some())
    }
}

/// A function's symbol.
pub(super) struct Symbol {
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) name: String,
}

/// An opened module; an empty one if the file is of no use.
#[derive(Default)]
pub(super) struct Module {
    pub(super) lines: Option<Loader>,
    pub(super) entries: Option<Entries>,
    /// Sorted by address.
    pub(super) symbols: Vec<Symbol>,
    /// Indices of symbols of outlined functions.
    pub(super) outlined: Vec<usize>,
    /// Files and lines of directives found so far, by address of their function.
    pub(super) declared: RefCell<HashMap<u64, Option<(String, u32)>>>,
    /// Where it is, if it calls LLVM's runtime.
    calls_llvm: Option<PathBuf>,
    /// Its code, read when calls in it have to be looked at.
    code: OnceCell<Option<Image>>,
}

impl Module {
    /// Opens the file; whatever is wrong with it only means fewer answers.
    pub(super) fn open(path: &Path) -> Self {
        let Some(content) = read(path) else {
            return Self::default();
        };
        let Ok(file) = object::File::parse(&content) else {
            return Self::default();
        };
        let mut module = Self {
            symbols: symbols(&file),
            calls_llvm: calls_llvm(&file).then(|| path.to_owned()),
            ..Self::default()
        };
        if debug_file::has_debug_info(&file) {
            module.lines = load(path, &file);
            module.entries = Entries::open(&file);
        } else {
            module.open_separate(path, &file);
        }
        module.outlined = (0..module.symbols.len())
            .filter(|index| is_outlined(&module.symbols[*index].name))
            .collect();
        module
    }

    /// The build-id of a file in hexadecimal; empty without one, none if there is no such file.
    pub(super) fn build_id(path: &Path) -> Option<String> {
        let content = read(path)?;
        let file = object::File::parse(&content).ok()?;
        let id = file.build_id().ok()?.unwrap_or_default();
        Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    fn open_separate<'a>(&mut self, path: &Path, file: &object::File<'a, impl ReadRef<'a>>) {
        for candidate in debug_file::candidates(path, file) {
            let Some(content) = read(&candidate) else {
                continue;
            };
            let Ok(debug) = object::File::parse(&content) else {
                continue;
            };
            let same = match (file.build_id(), debug.build_id()) {
                (Ok(Some(a)), Ok(Some(b))) => a == b,
                _ => true,
            };
            if !same || !debug_file::has_debug_info(&debug) {
                continue;
            }
            let more = symbols(&debug);
            if more.len() > self.symbols.len() {
                self.symbols = more;
            }
            self.lines = load(&candidate, &debug);
            self.entries = Entries::open(&debug);
            return;
        }
    }

    /// Whether lines can be looked up at all.
    pub(super) fn has_lines(&self) -> bool {
        self.lines.is_some()
    }

    /// What is known about `address`.
    pub(super) fn look_up(&self, address: u64) -> Found {
        let mut found = self
            .lines
            .as_ref()
            // The reader of debug information computes with the next address.
            .filter(|_| address < u64::MAX)
            .and_then(|lines| line(lines, address))
            .unwrap_or_default();
        if found.function.is_none()
            && let Some(symbol) = self.symbol(address)
        {
            found.function = Some(symbol.name.clone());
            found.offset = Some(address - symbol.address);
        }
        found
    }

    /// The functions at `address` with their lines, inlined ones first; none without line
    /// information.
    pub(super) fn frames(&self, address: u64) -> Vec<Found> {
        let mut all = Vec::new();
        let lines = self.lines.as_ref().filter(|_| address < u64::MAX);
        let Some(Ok(mut frames)) = lines.map(|lines| lines.find_frames(address)) else {
            return all;
        };
        while let Ok(Some(frame)) = frames.next() {
            let location = frame.location.as_ref();
            let name = frame
                .function
                .as_ref()
                .and_then(|name| name.raw_name().ok());
            let found = Found {
                file: location.and_then(|l| l.file).map(str::to_owned),
                line: location.and_then(|l| l.line).filter(|line| *line > 0),
                column: location.and_then(|l| l.column).filter(|column| *column > 0),
                function: name.map(std::borrow::Cow::into_owned),
                offset: None,
            };
            if found.file.is_some() && found.line.is_some() {
                all.push(found);
            }
        }
        all
    }

    /// What is known about the outlined function that begins at `address`.
    pub(super) fn look_up_entry(&self, address: u64) -> Found {
        let mut found = self.look_up(address);
        let first = self
            .entries
            .as_ref()
            .and_then(|entries| entries.first_row(address));
        if let (Some((line, column)), Some(_)) = (first, found.line) {
            found.line = Some(line).filter(|line| *line > 0).or(found.line);
            found.column = column;
            // What was inlined at its entry may come from another file.
            if let Some((file, _)) = self.own_line(address) {
                found.file = Some(file);
            }
        }
        // Its symbol is named after the function it was cut from, whatever
        // may have been inlined at its entry.
        if let Some(symbol) = self.symbol(address)
            && symbol.address == address
        {
            found.function = Some(symbol.name.clone());
        }
        found
    }

    /// What the compiler wrote beside the call at `address`, if it is one of LLVM's runtime.
    pub(super) fn written_beside(&self, address: u64) -> Option<Found> {
        let path = self.calls_llvm.as_ref()?;
        let image = self.code.get_or_init(|| Image::read(path).ok()).as_ref()?;
        let written = written_beside(image, address)?;
        Some(Found {
            file: Some(written.file),
            line: Some(written.line),
            column: Some(written.column).filter(|column| *column > 0),
            function: Some(written.function).filter(|name| !name.is_empty()),
            offset: None,
        })
    }

    fn symbol(&self, address: u64) -> Option<&Symbol> {
        let after = self.symbols.partition_point(|s| s.address <= address);
        let symbol = self.symbols.get(after.checked_sub(1)?)?;
        let inside = symbol.size == 0 || address - symbol.address < symbol.size;
        inside.then_some(symbol)
    }
}

/// Opens a regular file that begins like an ELF file, to be read piece by
/// piece: of a large module only tables are wanted here.
pub(super) fn read(path: &Path) -> Option<ReadCache<File>> {
    let metadata = std::fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > LARGEST_BYTES {
        return None;
    }
    let mut file = File::open(path).ok()?;
    let mut magic = [0; 4];
    file.read_exact(&mut magic).ok()?;
    if magic != object::elf::ELFMAG {
        return None;
    }
    Some(ReadCache::new(file))
}

fn load<'a>(path: &Path, file: &object::File<'a, impl ReadRef<'a>>) -> Option<Loader> {
    let common = debug_file::common_part(path, file);
    Loader::new_with_sup(path, common.as_deref()).ok()
}

/// The innermost function at `address`, inlined ones included, and its line.
fn line(lines: &Loader, address: u64) -> Option<Found> {
    let mut frames = lines.find_frames(address).ok()?;
    let frame = frames.next().ok().flatten();
    let function = frame.as_ref().and_then(|frame| {
        let name = frame.function.as_ref()?.raw_name().ok()?;
        Some(name.into_owned())
    });
    let in_frame = frame.and_then(|frame| frame.location);
    let location = match in_frame {
        Some(location) => Some(location),
        None => lines.find_location(address).ok().flatten(),
    };
    let mut found = Found {
        function,
        ..Found::default()
    };
    if let Some(location) = location {
        found.line = location.line.filter(|line| *line > 0);
        if found.line.is_some() {
            found.file = location.file.map(str::to_owned);
            found.column = location.column.filter(|column| *column > 0);
        }
        if found.file.is_none() {
            found.line = None;
        }
    }
    (found.rank() > 0).then_some(found)
}

/// File and line at `address` in the outermost of the functions there, which is
/// the one that is not inlined.
pub(super) fn frame_place(lines: &Loader, address: u64) -> Option<(String, u32)> {
    // The reader of debug information computes with the next address.
    if address == u64::MAX {
        return None;
    }
    let mut outermost = None;
    let mut frames = lines.find_frames(address).ok()?;
    for _ in 0..FRAMES_MAX {
        match frames.next() {
            Ok(Some(frame)) => outermost = frame.location,
            _ => break,
        }
    }
    let location = match outermost {
        Some(location) => Some(location),
        None => lines.find_location(address).ok().flatten(),
    }?;
    let line = location.line.filter(|line| *line > 0)?;
    Some((location.file?.to_owned(), line))
}

/// Whether a file asks the loader for functions of LLVM's runtime.
fn calls_llvm<'a>(file: &object::File<'a, impl ReadRef<'a>>) -> bool {
    let is_llvms = |name: &str| name.starts_with("__kmpc_");
    file.dynamic_symbols()
        .any(|symbol| symbol.is_undefined() && symbol.name().is_ok_and(is_llvms))
}

/// Symbols of functions, sorted; of several at one address the longest-sized,
/// then the first by name.
fn symbols<'a>(file: &object::File<'a, impl ReadRef<'a>>) -> Vec<Symbol> {
    let mut list: Vec<Symbol> = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
        .filter_map(|symbol| {
            Some(Symbol {
                address: symbol.address(),
                size: symbol.size(),
                name: symbol
                    .name()
                    .ok()
                    .filter(|name| !name.is_empty())?
                    .to_owned(),
            })
        })
        .collect();
    list.sort_by(|a, b| {
        (a.address, std::cmp::Reverse(a.size), &a.name).cmp(&(
            b.address,
            std::cmp::Reverse(b.size),
            &b.name,
        ))
    });
    list.dedup_by_key(|symbol| symbol.address);
    list
}
