//! What the loader has to find for a program or library: versions of the C library, and others.

use super::files::{Outcome, because, files_below};
use super::old_glibc::GLIBC;
use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::elf::{Dyn as _, FileHeader as _};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

type Header = FileHeader64<LittleEndian>;

/// Libraries that every machine has on which programs in C and C++ run; and the runtime, which lies
/// beside the program that measures the machine.
const EVERYWHERE: [&str; 9] = [
    "libc.so.6",
    "libm.so.6",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "libutil.so.1",
    "libgcc_s.so.1",
    "ld-linux-x86-64.so.2",
    "libgomp.so.1",
];

/// Looks at all programs and libraries below `folder`, and returns how many there are.
///
/// # Errors
/// If one needs a newer C library than packages may, or a library that is not everywhere.
pub(super) fn check(folder: &Path) -> Outcome<usize> {
    let mut looked_at = 0;
    for file in files_below(folder)? {
        let bytes = fs::read(&file).map_err(because("read", &file))?;
        if !bytes.starts_with(b"\x7fELF") {
            continue;
        }
        let needs =
            needs(&bytes).map_err(|error| format!("{} is damaged: {error}", file.display()))?;
        let too_much: Vec<_> = needs
            .iter()
            .filter(|need| !may_need(need))
            .cloned()
            .collect();
        if !too_much.is_empty() {
            return Err(format!(
                "{} needs {}, which machines with glibc {}.{} lack: add what it uses to \
                 packaging/glibc/newer.c, or use something else",
                file.display(),
                too_much.join(", "),
                GLIBC.0,
                GLIBC.1
            ));
        }
        looked_at += 1;
    }
    Ok(looked_at)
}

/// Names of libraries, and of versions of their symbols.
fn needs(bytes: &[u8]) -> Result<BTreeSet<String>, object::Error> {
    let header = Header::parse(bytes)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, bytes)?;
    let mut found = BTreeSet::new();
    let mut add = |name: &[u8]| found.insert(String::from_utf8_lossy(name).into_owned());
    if let Some((mut libraries, strings)) = sections.gnu_verneed(endian, bytes)? {
        let strings = sections.strings(endian, bytes, strings)?;
        while let Some((_, mut versions)) = libraries.next()? {
            while let Some(version) = versions.next()? {
                add(version.name(endian, strings)?);
            }
        }
    }
    if let Some((entries, strings)) = sections.dynamic(endian, bytes)? {
        let strings = sections.strings(endian, bytes, strings)?;
        for entry in entries {
            if entry.tag(endian) == object::elf::DT_NEEDED {
                add(entry.string(endian, strings)?);
            }
        }
    }
    Ok(found)
}

fn may_need(name: &str) -> bool {
    let Some(version) = name.strip_prefix("GLIBC_") else {
        return EVERYWHERE.contains(&name) || name.starts_with("GCC_") || is_ours(name);
    };
    let mut numbers = version.split('.').map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) <= GLIBC,
        // Such as GLIBC_ABI_DT_RELR.
        _ => false,
    }
}

/// Versions of the symbols of the runtime.
fn is_ours(name: &str) -> bool {
    ["GOMP_", "OMP_", "OACC_"]
        .iter()
        .any(|ours| name.starts_with(ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_up_to_the_oldest_library_may_be_needed() {
        for name in [
            "GLIBC_2.2.5",
            "GLIBC_2.28",
            "GCC_3.0",
            "libc.so.6",
            "OMP_1.0",
        ] {
            assert!(may_need(name), "{name}");
        }
        for name in [
            "GLIBC_2.29",
            "GLIBC_3.0",
            "GLIBC_ABI_DT_RELR",
            "GLIBC_PRIVATE",
            "libomp.so.5",
        ] {
            assert!(!may_need(name), "{name}");
        }
    }

    #[test]
    fn a_program_needs_the_c_library() {
        let this = fs::read(std::env::current_exe().unwrap()).unwrap();
        let needs = needs(&this).unwrap();
        assert!(needs.contains("libc.so.6"), "{needs:?}");
        assert!(
            needs.iter().any(|need| need.starts_with("GLIBC_2.")),
            "{needs:?}"
        );
    }
}
