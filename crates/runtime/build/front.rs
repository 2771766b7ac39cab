//! The libraries that stand in front of others' functions: the tap, and the witness.
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
use std::path::{Path, PathBuf};

/// Before the names of functions that stand in front of others.
const IN_FRONT: &str = "fathomp_front_";

/// A library in front of others.
pub(crate) struct Front<'a> {
    /// The file's name, which is what the loader knows it by.
    pub(crate) name: &'a str,
    /// Our crate's code.
    pub(crate) archive: &'a Path,
    /// Functions in C.
    pub(crate) source: Option<&'a Path>,
    /// What it exports besides those in front.
    pub(crate) own: &'a [&'a str],
}

/// The tap also exports what fathomp's runtime and the user's header look for.
pub(crate) const OF_TAP: [&str; 4] = [
    "fathomp_tap_interface",
    "fathomp_paging_enter",
    "fathomp_paging_leave",
    "fathomp_paging_phase",
];

/// The witness also exports what runtimes look for that speak OMPT.
pub(crate) const OF_WITNESS: [&str; 1] = ["ompt_start_tool"];

/// Compiles the functions in C.
fn compile(source: &Path, out: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let object = out.join("variadic.o");
    let mut command = compiler();
    command
        .args(["-c", "-O2", "-fPIC", "-std=gnu11", "-Wall", "-Wextra"])
        // What is cancelled inside a call is unwound through its front.
        .args(["-fexceptions", "-fno-builtin", "-o"])
        .arg(&object)
        .arg(source);
    run(command, "the tap's functions in C")?;
    Ok(object)
}

/// Links the library into `out`.
pub(crate) fn library(front: &Front<'_>, out: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let output = out.join(front.name);
    let in_c = match front.source {
        Some(source) => Some(compile(source, out)?),
        None => None,
    };
    let mut names = BTreeSet::new();
    for part in in_c.iter().map(PathBuf::as_path).chain([front.archive]) {
        collect(&fs::read(part)?, &mut names)?;
    }
    let map = output.with_extension("map");
    fs::write(&map, version_script(&names, front.own))?;

    let mut version_script = OsString::from("-Wl,--version-script=");
    version_script.push(&map);
    let mut command = compiler();
    command
        .arg("-shared")
        .args(&in_c)
        .arg("-Wl,--whole-archive")
        .arg(front.archive)
        .arg("-Wl,--no-whole-archive")
        .arg(version_script)
        .arg(format!("-Wl,-soname,{}", front.name))
        // No lazy binding inside a signal handler; threads may still run in it at the end.
        .args(["-Wl,-z,now", "-Wl,-z,relro", "-Wl,-z,nodelete"])
        .args(["-Wl,-z,noexecstack", "-Wl,--no-undefined"])
        .args(["-Wl,--gc-sections", "-Wl,--strip-debug"])
        // The unwinder is linked in, so that the library needs libc alone.
        .args(["-static-libgcc", "-lgcc_eh", "-lpthread", "-ldl"])
        .arg("-o")
        .arg(&output);
    for name in &names {
        command.arg(format!("-Wl,--defsym={name}={IN_FRONT}{name}"));
    }
    for name in front.own {
        command.arg(format!("-Wl,--undefined={name}"));
    }
    run(command, front.name)?;
    Ok(output)
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
fn version_script(names: &BTreeSet<String>, own: &[&str]) -> String {
    let mut script = "{\n  global:\n".to_owned();
    for name in names.iter().map(String::as_str).chain(own.iter().copied()) {
        // Writing to a string does not fail.
        let _ = writeln!(script, "    {name};");
    }
    script + "  local: *;\n};\n"
}
