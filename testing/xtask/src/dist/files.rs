//! Files and commands, with errors that are sentences.

use std::env;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What was made, or a sentence that says what went wrong.
pub(crate) type Outcome<T> = Result<T, String>;

pub(crate) fn read(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).map_err(because("read", path))
}

pub(crate) fn write(path: &Path, text: &str) -> Outcome<()> {
    fs::write(path, text).map_err(because("written", path))
}

pub(crate) fn copy(from: &Path, to: &Path) -> Outcome<()> {
    fs::copy(from, to)
        .map(drop)
        .map_err(because("copied", from))
}

pub(crate) fn make_dir(path: &Path) -> Outcome<()> {
    fs::create_dir_all(path).map_err(because("made", path))
}

pub(crate) fn because<E: Display>(what: &str, path: &Path) -> impl Fn(E) -> String {
    move |error| format!("{} cannot be {what}: {error}", path.display())
}

/// The entries of the folder, in order.
pub(crate) fn read_dir(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(because("read", folder))?;
    let paths: Result<Vec<_>, _> = entries.map(|entry| entry.map(|one| one.path())).collect();
    let mut paths = paths.map_err(because("read", folder))?;
    paths.sort();
    Ok(paths)
}

/// All files in the folder and in those below, in order, without links.
pub(crate) fn files_below(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in read_dir(folder)? {
        match path.symlink_metadata().map_err(because("read", &path))? {
            kind if kind.is_dir() => files.extend(files_below(&path)?),
            kind if kind.is_file() => files.push(path),
            _ => {}
        }
    }
    Ok(files)
}

/// Runs a command that has to succeed.
pub(crate) fn done(command: &mut Command) -> Outcome<()> {
    let name = command.get_program().display().to_string();
    let status = command
        .status()
        .map_err(|error| format!("{name} cannot be run ({error}): install it"))?;
    if status.success() {
        return Ok(());
    }
    Err(format!("{name} failed with {status}: see above why"))
}

/// Builds the command `fathomp` and returns its path.
pub(crate) fn built(root: &Path) -> Outcome<PathBuf> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let build = ["build", "--release", "--locked", "--package", "fathomp"];
    done(Command::new(cargo).current_dir(root).args(build))?;
    Ok(root.join("target/release/fathomp"))
}

/// Runs a command that has to succeed, and returns what it says.
pub(crate) fn output(command: &mut Command) -> Outcome<String> {
    let name = command.get_program().display().to_string();
    let output = command
        .output()
        .map_err(|error| format!("{name} cannot be run ({error}): install it"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name} failed with {}: {said}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{name} wrote what is not UTF-8"))
}
