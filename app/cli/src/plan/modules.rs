//! Which files a program's regions are in.

use crate::program::Program;
use object::read::elf::{Dyn, ElfFile64};
use object::{Endianness, Object, ObjectSymbol, elf};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Where the libraries of the system lie: theirs are not the user's regions.
const SYSTEM: [&str; 4] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];
/// Libraries that are looked at.
const LIBRARIES_MAX: usize = 256;
/// Larger files are not looked into.
const BYTES_MAX: u64 = 512 << 20;

/// What a file says of itself.
#[derive(Debug, Default)]
struct Header {
    /// It begins parallel regions through the interface of gcc.
    has_regions: bool,
    needed: Vec<String>,
    /// Directories to search, `$ORIGIN` not yet replaced.
    paths: Vec<String>,
}

/// The program, programs that its command line names, and libraries that they bring along,
/// as far as they have regions.
pub(super) fn of(program: &Program) -> Vec<PathBuf> {
    let words = program.command.iter().skip(1).map(PathBuf::from);
    let named = words.filter(|word| word.components().count() > 1 && word.is_file());
    let mut waiting: Vec<PathBuf> = named.collect();
    waiting.push(program.path.clone());
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    while let Some(path) = waiting.pop() {
        let Ok(path) = std::fs::canonicalize(&path) else {
            continue;
        };
        if seen.len() >= LIBRARIES_MAX || !seen.insert(path.clone()) {
            continue;
        }
        let Some(header) = header(&path) else {
            continue;
        };
        if header.has_regions {
            found.push(path.clone());
        }
        let directories = directories(&path, &header.paths);
        for name in &header.needed {
            let library = directories
                .iter()
                .map(|one| one.join(name))
                .find(|file| file.is_file());
            waiting.extend(library.filter(|file| !is_system(file)));
        }
    }
    found
}

fn is_system(file: &Path) -> bool {
    let file = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    SYSTEM.iter().any(|directory| file.starts_with(directory))
}

/// Where the loader looks before it looks among the system's libraries.
fn directories(path: &Path, own: &[String]) -> Vec<PathBuf> {
    let origin = path.parent().unwrap_or(Path::new("/"));
    let own = own.iter().flat_map(|list| list.split(':')).map(|one| {
        let origin = origin.to_string_lossy();
        PathBuf::from(
            one.replace("${ORIGIN}", &origin)
                .replace("$ORIGIN", &origin),
        )
    });
    let users = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    own.chain(std::env::split_paths(&users))
        .filter(|directory| directory.is_absolute())
        .collect()
}

/// `None` if it is no program or library that could have regions.
fn header(path: &Path) -> Option<Header> {
    if std::fs::metadata(path).ok()?.len() > BYTES_MAX {
        return None;
    }
    let data = std::fs::read(path).ok()?;
    let file = ElfFile64::<Endianness>::parse(&*data).ok()?;
    let endian = file.endian();
    let mut header = Header {
        has_regions: file.dynamic_symbols().any(|symbol| {
            let name = || {
                symbol
                    .name_bytes()
                    .is_ok_and(|name| name.starts_with(b"GOMP_") || name.starts_with(b"__kmpc_"))
            };
            symbol.is_undefined() && name()
        }),
        ..Header::default()
    };
    let dynamic = file.elf_section_table().dynamic(endian, &*data);
    if let Ok(Some((entries, strings))) = dynamic
        && let Ok(strings) = file.elf_section_table().strings(endian, &*data, strings)
    {
        for entry in entries {
            let text = || {
                let offset = u32::try_from(entry.val(endian)).ok()?;
                String::from_utf8(strings.get(offset).ok()?.to_vec()).ok()
            };
            match entry.tag(endian) {
                elf::DT_NEEDED => header.needed.extend(text()),
                elf::DT_RPATH | elf::DT_RUNPATH => header.paths.extend(text()),
                _ => {}
            }
        }
    }
    Some(header)
}
