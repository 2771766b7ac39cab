//! Which of the files that a user names are programs, and which are sources.

use crate::failure::Failure;
use fathomp_directives::{Compiled, is_source};
use object::elf::ELFMAG;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// What is to be scanned.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    pub(super) programs: Vec<PathBuf>,
    pub(super) sources: Vec<PathBuf>,
    /// Sources from a list of compilations.
    pub(super) listed: Vec<Compiled>,
}

impl Inputs {
    /// Tells files apart: programs by what they contain, sources by their names.
    pub(super) fn sort(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut inputs = Self::default();
        for path in paths {
            let list = if is_elf(path)? {
                &mut inputs.programs
            } else if is_source(path) {
                &mut inputs.sources
            } else {
                return Err(Failure::new(format!(
                    "{}: is neither an ELF program or library nor called like a source in C, C++ or Fortran: name a compiled program, or a file such as x.c, x.cpp or x.f90",
                    path.display()
                )));
            };
            // Whoever names a file twice wants it once.
            if !list.contains(path) {
                list.push(path.clone());
            }
        }
        Ok(inputs)
    }

    /// Any of them.
    pub(super) fn first(&self) -> Option<&Path> {
        let listed = self.listed.iter().map(|one| &one.path);
        let mut all = self.programs.iter().chain(&self.sources).chain(listed);
        all.next().map(PathBuf::as_path)
    }
}

/// Whether a file begins like a program.
fn is_elf(path: &Path) -> Result<bool, Failure> {
    let unreadable = |error: std::io::Error| {
        Failure::new(format!(
            "{}: cannot be read: {error}: check the path and its permissions",
            path.display()
        ))
    };
    // Before it is opened: opening a pipe would wait for its other end.
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(Failure::new(format!(
            "{}: is a directory: name programs or sources in it, or a compile_commands.json by -p",
            path.display()
        )));
    }
    if !metadata.is_file() {
        return Err(Failure::new(format!(
            "{}: is no ordinary file: name a program or a source",
            path.display()
        )));
    }
    let mut start = Vec::new();
    File::open(path)
        .and_then(|file| file.take(ELFMAG.len() as u64).read_to_end(&mut start))
        .map_err(unreadable)?;
    Ok(start == ELFMAG)
}
