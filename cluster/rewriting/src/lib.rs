//! Finds the instructions of a program by which its threads meet without
//! calling the OpenMP runtime: atomics and fences that the compiler put inline.
//!
//! Reads the program's file, not its memory, and changes nothing; what it finds
//! goes to [`fathomp_sys::text_patch::install`].
#![forbid(unsafe_code)]

mod access;
mod blind;
mod context;
mod does;
mod lead;
mod looks;
mod moved;
mod operand;
mod place;
mod sweep;
mod waits;

pub use access::{Atomic, Code};
pub use operand::operand_bytes;
pub use waits::Wait;

pub use place::{describe, is_linkage, variable};

use context::ProgramContext;
use fathomp_sys::text_patch::{Does, Effect, FirstGuess, Kind, Site};
use object::read::elf::{ElfFile64, FileHeader};
use object::{
    Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, ReadCache, RelocationTarget,
    SectionFlags, SectionKind, SymbolKind, elf,
};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// What was found, at the addresses where the program runs.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// Instructions found, in order of address.
    pub sites: Vec<Site>,
    /// Addresses of what looks like one and is left alone: in code that does not
    /// decode from end to end, so that it may as well be data; or with an
    /// operand that only kernels use (segment GS, addresses of 32 bits).
    pub doubtful: Vec<usize>,
    /// Loops that wait for another thread without calling anybody.
    pub waits: Vec<Wait>,
    /// Branches by which they go on or do not, in order of address.
    pub branches: Vec<Site>,
    /// Loads before loops of which [nobody sees](Site::blind) what they do, in order of address.
    pub guesses: Vec<FirstGuess>,
    /// Instructions looked at.
    pub instructions: u64,
    /// It calls the functions by which OpenMP's tasks are created.
    pub creates_tasks: bool,
    /// It calls the functions that try to take one of OpenMP's locks.
    pub tries_locks: bool,
    /// It calls functions for atomic operations.
    pub calls_atomics: bool,
}

impl Analysis {
    /// Whether another node can do what each of the atomic operations does, and none looks like
    /// a store that others have to see before the thread reads anything else, as compilers make
    /// an exchange of. Of other instructions it cannot be seen whether the program relies on
    /// that.
    #[must_use]
    pub fn carries(&self) -> bool {
        !self.calls_atomics
            && self.sites.iter().all(|site| match site.kind {
                Kind::Atomic(_) => site.moved.is_some() && site.does.is_some_and(orders_little),
                Kind::Fence | Kind::Branch(_) => true,
            })
    }
}

fn orders_little(does: Does) -> bool {
    does.effect != Effect::Exchange
}

/// Why a program could not be looked into.
#[derive(Debug, thiserror::Error)]
pub enum AnalyseError {
    /// The file cannot be opened.
    #[error("{}: cannot be read: {error}", path.display())]
    Read {
        /// The program.
        path: PathBuf,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// The file is not what it should be.
    #[error("{}: is damaged or no ELF program: {error}", path.display())]
    Parse {
        /// The program.
        path: PathBuf,
        /// What is wrong.
        #[source]
        error: object::Error,
    },
    /// Another processor's program.
    #[error("{}: is not a program for x86-64", .0.display())]
    Architecture(PathBuf),
    /// Stripped of even the table that says where its code is.
    #[error(
        "{}: has no section table, so its code cannot be told from its data; \
         strip it with `strip`, not `sstrip`",
        .0.display()
    )]
    NoSections(PathBuf),
    /// Its code cannot be looked into.
    #[error(transparent)]
    Code(#[from] fathomp_cfg::ReadError),
}

/// A program's file, of which only what is needed is read.
type Program<'a> = ElfFile64<'a, object::Endianness, &'a ReadCache<File>>;

/// Looks through all code of the program or library in the file `path`, which
/// is mapped `bias` bytes above the addresses in the file.
///
/// # Errors
/// See [`AnalyseError`].
pub fn analyse(path: &Path, bias: usize) -> Result<Analysis, AnalyseError> {
    let read = |error| AnalyseError::Read {
        path: path.to_owned(),
        error,
    };
    let parse = |error| AnalyseError::Parse {
        path: path.to_owned(),
        error,
    };
    let content = ReadCache::new(File::open(path).map_err(read)?);
    let file = Program::parse(&content).map_err(parse)?;
    if file.elf_header().e_machine(file.endian()) != elf::EM_X86_64 {
        return Err(AnalyseError::Architecture(path.to_owned()));
    }
    let functions = fathomp_cfg::function_ranges(&file);
    let mut sweep = sweep::Sweep::new(bias as u64, surroundings(&file, bias as u64));
    let mut has_code = false;
    for section in file.sections() {
        if section.kind() != SectionKind::Text {
            continue;
        }
        has_code = true;
        let code = section.data().map_err(parse)?;
        sweep.section(section.address(), code, &functions);
    }
    if !has_code {
        return Err(AnalyseError::NoSections(path.to_owned()));
    }
    let mut analysis = sweep.finish();
    for symbol in file.dynamic_symbols() {
        let name = symbol.name().unwrap_or_default();
        let tasks = ["GOMP_taskloop", "__kmpc_omp_task_alloc", "__kmpc_taskloop"];
        analysis.creates_tasks |=
            name == "GOMP_task" || tasks.iter().any(|begin| name.starts_with(begin));
        let tries = [
            "omp_test_lock",
            "omp_test_nest_lock",
            "__kmpc_test_lock",
            "__kmpc_test_nest_lock",
        ];
        analysis.tries_locks |= tries.iter().any(|begin| name.starts_with(begin));
        analysis.calls_atomics |= name.starts_with("__kmpc_atomic_");
    }
    Ok(analysis)
}

/// What has to be known of the program to understand its loops.
fn surroundings(file: &Program<'_>, bias: u64) -> ProgramContext {
    let mut around = ProgramContext::default();
    let symbols = file.dynamic_symbol_table();
    for (slot, relocation) in file.dynamic_relocations().into_iter().flatten() {
        if let RelocationTarget::Symbol(index) = relocation.target()
            && let Some(Ok(symbol)) = symbols.map(|table| table.symbol_by_index(index))
            && let Ok(name) = symbol.name()
        {
            around.note(slot.wrapping_add(bias), name);
        }
    }
    for section in file.sections() {
        let start = section.address().wrapping_add(bias);
        if let SectionFlags::Elf { sh_flags, .. } = section.flags()
            && sh_flags.contains(elf::SHF_ALLOC)
            && !sh_flags.contains(elf::SHF_WRITE)
        {
            around.constant(start..start.saturating_add(section.size()));
        }
        let is_stubs = section.name().is_ok_and(|name| name.starts_with(".plt"));
        if let Some(code) = section.data().ok().filter(|_| is_stubs) {
            around.scan(start, code);
        }
    }
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        if symbol.kind() == SymbolKind::Text
            && symbol.is_definition()
            && let Ok(name) = symbol.name_bytes()
        {
            around.function(symbol.address().wrapping_add(bias), name);
        }
    }
    around
}
