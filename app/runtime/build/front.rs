//! The libraries that stand in front of others' functions: the interposer of paging, the foreign
//! recorder, and the interposer of MPI.
//!
//! A function that is called `fathomp_paging_front_NAME`, or likewise for another one, answers to
//! `NAME` in its library. So the crate's own calls of that function come by the front, too, as those of
//! the program, and its tests do not.

use crate::link::{compiler, run, shared_library};
use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A library in front of others.
pub(crate) struct Front<'a> {
    /// The file's name, which is what the loader knows it by.
    pub(crate) name: &'a str,
    /// Our crate, without `fathomp-`.
    pub(crate) face: &'a str,
    /// Functions in C.
    pub(crate) source: Option<&'a Path>,
    /// What it exports besides those in front.
    pub(crate) own: &'a [&'a str],
}

/// The interposer of paging also exports what fathomp's runtime and the user's header look for.
pub(crate) const OF_PAGING: [&str; 4] = [
    "fathomp_paging_interface",
    "fathomp_paging_enter",
    "fathomp_paging_leave",
    "fathomp_paging_phase",
];

/// The foreign recorder also exports what runtimes look for that speak OMPT, and what the
/// interposer of MPI looks for.
pub(crate) const OF_FOREIGN_RECORDER: [&str; 2] =
    ["ompt_start_tool", "fathomp_mpi_recorder_of_foreign"];

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
    run(command, "paging's functions in C")?;
    Ok(object)
}

/// Links the library out of the code in `archive` into `out`.
pub(crate) fn library(
    front: &Front<'_>,
    archive: &Path,
    out: &Path,
) -> Result<PathBuf, Box<dyn Error>> {
    let output = out.join(front.name);
    let in_c = match front.source {
        Some(source) => Some(compile(source, out)?),
        None => None,
    };
    let prefix = format!("fathomp_{}_front_", front.face);
    let parts: Vec<&Path> = in_c.as_deref().into_iter().chain([archive]).collect();
    let names = names(&parts, &prefix)?;
    let map = output.with_extension("map");
    fs::write(&map, version_script(&names, front.own))?;

    let first: Vec<&Path> = in_c.as_deref().into_iter().collect();
    let mut command = shared_library(archive, front.face, front.name, &map, &first, &output)?;
    for name in &names {
        command.arg(format!("-Wl,--defsym={name}={prefix}{name}"));
    }
    for name in front.own {
        command.arg(format!("-Wl,--undefined={name}"));
    }
    // These libraries are not profiled, and local symbols would be a sixth of their size.
    command.arg("-Wl,--strip-all");
    run(command, front.name)?;
    Ok(output)
}

/// What functions of these object files and archives stand in front of.
fn names(files: &[&Path], prefix: &str) -> Result<BTreeSet<String>, Box<dyn Error>> {
    // It belongs to the linker that the C compiler calls.
    let output = Command::new("nm")
        .args(["--extern-only", "--defined-only", "--format=posix"])
        .args(files)
        .output()
        .map_err(|error| format!("nm cannot be run ({error}): install binutils"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("nm failed: {said}").into());
    }
    let symbols = String::from_utf8(output.stdout)?;
    let symbols = symbols.lines().filter_map(|line| line.split(' ').next());
    let names: BTreeSet<_> = symbols
        .filter_map(|symbol| Some(symbol.strip_prefix(prefix)?.to_owned()))
        .collect();
    if names.is_empty() {
        return Err(format!("nothing of the library is called {prefix}*").into());
    }
    Ok(names)
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
