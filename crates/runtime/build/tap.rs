//! The tap's library.
//!
//! A function of the archive that is called `fathomp_front_NAME` answers to `NAME` in the
//! library. So the crate's own calls of that function come by the front, too, as those of
//! the program, and its tests do not.

use crate::link::{compiler, run};
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSymbol};
use std::collections::BTreeSet;
use std::error::Error;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Before the names of functions that stand in front of others.
const IN_FRONT: &str = "fathomp_front_";

/// What the library exports besides: what fathomp's runtime and the user's header look for.
const OWN: [&str; 4] = [
    "fathomp_tap_interface",
    "fathomp_paging_enter",
    "fathomp_paging_leave",
    "fathomp_paging_phase",
];

/// Links the archive and the C source into the library.
pub(crate) fn library(
    archive: &Path,
    source: &Path,
    out: &Path,
    output: &Path,
) -> Result<(), Box<dyn Error>> {
    let variadic = out.join("variadic.o");
    let mut command = compiler();
    command
        .args(["-c", "-O2", "-fPIC", "-std=gnu11", "-Wall", "-Wextra"])
        // What is cancelled inside a call is unwound through its front.
        .args(["-fexceptions", "-fno-builtin", "-o"])
        .arg(&variadic)
        .arg(source);
    run(command, "the tap's functions in C")?;

    let mut names = BTreeSet::new();
    collect(&fs::read(&variadic)?, &mut names)?;
    collect(&fs::read(archive)?, &mut names)?;
    let map = out.join("tap.map");
    fs::write(&map, version_script(&names))?;

    let mut version_script = OsString::from("-Wl,--version-script=");
    version_script.push(&map);
    let mut command = compiler();
    command
        .arg("-shared")
        .arg(&variadic)
        .arg("-Wl,--whole-archive")
        .arg(archive)
        .arg("-Wl,--no-whole-archive")
        .arg(version_script)
        .arg("-Wl,-soname,libfathomp-tap.so")
        // No lazy binding inside a signal handler; threads may still run in it at the end.
        .args(["-Wl,-z,now", "-Wl,-z,relro", "-Wl,-z,nodelete"])
        .args(["-Wl,-z,noexecstack", "-Wl,--no-undefined"])
        .args(["-Wl,--gc-sections", "-Wl,--strip-debug"])
        // The unwinder is linked in, so that the library needs libc alone.
        .args(["-static-libgcc", "-lgcc_eh", "-lpthread", "-ldl"])
        .arg("-o")
        .arg(output);
    for name in &names {
        command.arg(format!("-Wl,--defsym={name}={IN_FRONT}{name}"));
    }
    for name in OWN {
        command.arg(format!("-Wl,--undefined={name}"));
    }
    run(command, "the tap")
}

/// Adds what an object file, or those of an archive, stand in front of.
fn collect(bytes: &[u8], names: &mut BTreeSet<String>) -> Result<(), Box<dyn Error>> {
    let mut add = |object: &[u8]| {
        // Archives also hold members that are no object files.
        if let Ok(file) = object::File::parse(object) {
            let defined = file.symbols().filter(|symbol| symbol.is_definition());
            let ours = defined.filter_map(|symbol| {
                symbol
                    .name()
                    .ok()?
                    .strip_prefix(IN_FRONT)
                    .map(str::to_owned)
            });
            names.extend(ours);
        }
    };
    if let Ok(archive) = ArchiveFile::parse(bytes) {
        for member in archive.members() {
            add(member?.data(bytes)?);
        }
    } else {
        add(bytes);
    }
    Ok(())
}

/// Exports those names, without versions: so they answer to any that a program asks for.
fn version_script(names: &BTreeSet<String>) -> String {
    let mut script = "{\n  global:\n".to_owned();
    for name in names.iter().map(String::as_str).chain(OWN) {
        // Writing to a string does not fail.
        let _ = writeln!(script, "    {name};");
    }
    script + "  local: *;\n};\n"
}
