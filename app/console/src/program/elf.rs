//! What an ELF file says about itself: kind, machine, OpenMP interface.

use super::ProgramError;
use super::error::unreadable;
use crate::args::Family;
use object::elf;
use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Which OpenMP runtime a program asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Linkage {
    /// libgomp or LLVM's libomp, or it calls the interface of one.
    Shared,
    /// A runtime linked into the program itself.
    OwnCopy,
    /// None that is visible from outside.
    None,
}

/// Enough of a file to recognise it; scripts rarely have longer first lines.
const START_BYTES: u64 = 4096;
/// Larger files are not searched for symbols; the loader's view suffices.
const SEARCHED_BYTES_MAX: u64 = 512 << 20;
/// Offsets in the identification that all ELF files share.
const CLASS: usize = 4;
const MACHINE: std::ops::Range<usize> = 18..20;

/// The first bytes of a file.
pub(super) fn read_start(path: &Path) -> Result<Vec<u8>, ProgramError> {
    let mut start = Vec::new();
    File::open(path)
        .and_then(|file| file.take(START_BYTES).read_to_end(&mut start))
        .map_err(|error| unreadable(path, error))?;
    Ok(start)
}

/// Checks that an ELF file can be preloaded into, and finds its interface.
pub(super) fn linkage(path: &Path, start: &[u8]) -> Result<Linkage, ProgramError> {
    check_identity(path, start)?;
    let size = fs::metadata(path)
        .map_err(|error| unreadable(path, error))?
        .len();
    if size > SEARCHED_BYTES_MAX {
        return Ok(Linkage::Shared);
    }
    let data = fs::read(path).map_err(|error| unreadable(path, error))?;
    parse(path, &data).unwrap_or_else(|_| Err(ProgramError::Damaged(path.to_owned())))
}

/// What a file asks of OpenMP runtimes.
#[derive(Debug, Default)]
pub struct Calls {
    /// Functions that it must find.
    pub names: BTreeSet<String>,
    /// Libraries that it asks the loader for.
    needed: Vec<String>,
}

impl Calls {
    /// Whether the loader brings a runtime of that family.
    pub fn asks_for(&self, family: Family) -> bool {
        let name = family.name();
        self.needed.iter().any(|needed| {
            let rest = needed.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with(['.', '-']))
        })
    }
}

/// What a file asks of OpenMP runtimes; nothing if that cannot be told.
pub fn calls(path: &Path) -> Calls {
    let Ok(data) = fs::read(path) else {
        return Calls::default();
    };
    let Ok(file) = ElfFile64::<Endianness>::parse(&*data) else {
        return Calls::default();
    };
    let is_runtimes = |name: &&str| {
        let prefixes = ["GOMP_", "__kmpc_", "omp_"];
        prefixes.iter().any(|prefix| name.starts_with(prefix))
    };
    let asked = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_undefined() && !symbol.is_weak());
    let names =
        asked.filter_map(|symbol| symbol.name().ok().filter(is_runtimes).map(str::to_owned));
    let needed = needed(&file, &data).unwrap_or_default();
    Calls {
        names: names.collect(),
        needed: needed
            .into_iter()
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect(),
    }
}

/// The functions that a library has for others; a phrase if it is none.
pub fn definitions(path: &Path) -> Result<BTreeSet<String>, String> {
    let data = fs::read(path).map_err(|error| error.to_string())?;
    let file = ElfFile64::<Endianness>::parse(&*data)
        .map_err(|_| "it is no shared library of this machine".to_owned())?;
    let defined = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition());
    Ok(defined
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .collect())
}

/// Whether a program begins MPI; not if that cannot be told.
pub(super) fn begins_mpi(path: &Path) -> bool {
    let begins = |name: &[u8]| name.starts_with(b"MPI_Init") || name.starts_with(b"mpi_init");
    let Ok(data) = fs::read(path) else {
        return false;
    };
    let file = ElfFile64::<Endianness>::parse(&*data);
    let imports = file.map(|file| {
        let mut names = file
            .dynamic_symbols()
            .filter_map(|symbol| symbol.name_bytes().ok());
        names.any(begins)
    });
    imports.unwrap_or(false)
}

/// Whether a program begins MPI, or is linked with a library of it, so that one of its own libraries
/// may begin it; not if that cannot be told.
pub(super) fn uses_mpi(path: &Path) -> bool {
    let is_mpis = |name: &&[u8]| {
        let prefixes: [&[u8]; 2] = [b"libmpi", b"libpmpi"];
        prefixes.iter().any(|prefix| name.starts_with(prefix))
    };
    let linked = |path| {
        let data = fs::read(path).ok()?;
        let file = ElfFile64::<Endianness>::parse(&*data).ok()?;
        Some(needed(&file, &data).ok()?.iter().any(is_mpis))
    };
    begins_mpi(path) || linked(path).unwrap_or(false)
}

/// Whether a program asks the loader for that library by its name; not if that cannot be told.
pub(super) fn links(path: &Path, library: &Path) -> bool {
    let Ok(data) = fs::read(path) else {
        return false;
    };
    let name = library.file_name().unwrap_or_default().as_encoded_bytes();
    ElfFile64::<Endianness>::parse(&*data)
        .and_then(|file| needed(&file, &data))
        .is_ok_and(|needed| needed.contains(&name))
}

fn check_identity(path: &Path, start: &[u8]) -> Result<(), ProgramError> {
    if !start.starts_with(&elf::ELFMAG) {
        return Err(ProgramError::NotAProgram(path.to_owned()));
    }
    let (Some(class), Some(machine)) = (start.get(CLASS), start.get(MACHINE)) else {
        return Err(ProgramError::Damaged(path.to_owned()));
    };
    if *class == elf::ELFCLASS32.0 {
        return Err(ProgramError::Bits32(path.to_owned()));
    }
    let machine = u16::from_ne_bytes([machine[0], machine[1]]);
    if machine != OWN_MACHINE.0 {
        return Err(ProgramError::Foreign {
            path: path.to_owned(),
            machine: machine_name(machine),
        });
    }
    Ok(())
}

#[cfg(target_arch = "x86_64")]
const OWN_MACHINE: elf::Machine = elf::EM_X86_64;
#[cfg(target_arch = "aarch64")]
const OWN_MACHINE: elf::Machine = elf::EM_AARCH64;

fn machine_name(machine: u16) -> String {
    match elf::Machine(machine) {
        elf::EM_X86_64 => "x86_64".to_owned(),
        elf::EM_AARCH64 => "aarch64".to_owned(),
        elf::EM_RISCV => "riscv".to_owned(),
        elf::EM_PPC64 => "ppc64".to_owned(),
        elf::EM_S390 => "s390x".to_owned(),
        other => format!("another machine (ELF machine {})", other.0),
    }
}

/// The outer error: the file is damaged. The inner: it is sound and refused.
fn parse(path: &Path, data: &[u8]) -> object::Result<Result<Linkage, ProgramError>> {
    let file = ElfFile64::<Endianness>::parse(data)?;
    let endian = file.endian();
    let refused = |kind: fn(std::path::PathBuf) -> ProgramError| Ok(Err(kind(path.to_owned())));
    match file.elf_header().e_type(endian) {
        elf::ET_EXEC | elf::ET_DYN => {}
        _ => return refused(ProgramError::NotLinked),
    }
    let headers = file.elf_program_headers();
    if !headers.iter().any(|h| h.p_type(endian) == elf::PT_INTERP) {
        let library = headers.iter().any(|h| h.p_type(endian) == elf::PT_DYNAMIC)
            && file.elf_header().e_type(endian) == elf::ET_DYN
            && !position_independent_program(&file, data)?;
        return refused(if library {
            ProgramError::Library
        } else {
            ProgramError::Static
        });
    }
    interface(&file, data).map(Ok)
}

/// A static position-independent program says so in its dynamic section.
fn position_independent_program(file: &ElfFile64<'_>, data: &[u8]) -> object::Result<bool> {
    let endian = file.endian();
    let dynamic = file.elf_section_table().dynamic(endian, data)?;
    Ok(dynamic.is_some_and(|(entries, _)| {
        entries.iter().any(|entry| {
            entry.tag(endian) == elf::DT_FLAGS_1 && entry.val(endian) & elf::DF_1_PIE.0 != 0
        })
    }))
}

/// The libraries that a file asks the loader for.
fn needed<'a>(file: &ElfFile64<'a>, data: &'a [u8]) -> object::Result<Vec<&'a [u8]>> {
    let mut needed = Vec::new();
    let endian = file.endian();
    if let Some((entries, strings)) = file.elf_section_table().dynamic(endian, data)? {
        let strings = file.elf_section_table().strings(endian, data, strings)?;
        for entry in entries {
            if entry.tag(endian) == elf::DT_NEEDED
                && let Ok(offset) = u32::try_from(entry.val(endian))
                && let Ok(name) = strings.get(offset)
            {
                needed.push(name);
            }
        }
    }
    Ok(needed)
}

fn interface<'a>(file: &ElfFile64<'a>, data: &'a [u8]) -> object::Result<Linkage> {
    let needed = needed(file, data)?;
    let needs = |names: &[&[u8]]| {
        needed
            .iter()
            .any(|n| names.iter().any(|x| n.starts_with(x)))
    };
    let asks_for = |prefix: &[u8]| {
        file.dynamic_symbols()
            .any(|s| s.is_undefined() && s.name_bytes().is_ok_and(|n| n.starts_with(prefix)))
    };
    let begins_regions = |name: &[u8]| name == b"GOMP_parallel" || name == b"__kmpc_fork_call";
    let own = file
        .symbols()
        .chain(file.dynamic_symbols())
        .any(|s| s.is_definition() && s.name_bytes().is_ok_and(begins_regions));
    Ok(if own {
        Linkage::OwnCopy
    } else if asks_for(b"__kmpc_")
        || asks_for(b"GOMP_")
        || needs(&[b"libgomp", b"libomp.", b"libomp-", b"libiomp"])
    {
        Linkage::Shared
    } else {
        Linkage::None
    })
}
