//! A compiler: found, told apart from others, asked whether it knows OpenMP.

use crate::recipe::{File, Recipe};
use crate::store::{self, BuildError};
use fathomp_process::{self as process, Limits, RunError};
use nix::unistd::{AccessFlags, access};
use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Compilers say who they are at once.
const LIMITS: Limits = Limits {
    time: Duration::from_secs(30),
    bytes: 64 << 10,
};

/// A compiler that answered.
#[derive(Clone, Debug)]
pub struct Compiler {
    name: String,
    path: PathBuf,
    identity: String,
}

/// No compiler, or not one for OpenMP.
#[derive(Debug, thiserror::Error)]
pub enum CompilerError {
    /// No such program.
    #[error("there is no compiler called \"{0}\" here: install it, or name another with --cc")]
    Missing(String),
    /// It is a program, but does not behave like a compiler.
    #[error("{name} is no compiler that can be used ({reason}): name another with --cc")]
    Unusable {
        /// As the user called it.
        name: String,
        /// What went wrong.
        reason: String,
    },
    /// It does not build the smallest program that uses OpenMP.
    #[error(
        "{name} cannot build OpenMP programs ({reason}): install its OpenMP library (for clang: libomp-dev), or name another compiler with --cc"
    )]
    NoOpenMp {
        /// As the user called it.
        name: String,
        /// What it said.
        reason: String,
    },
    /// The cache cannot be written, or the like.
    #[error(transparent)]
    Store(BuildError),
}

impl Compiler {
    /// The compiler that `name` stands for: a path, or a name looked for in
    /// PATH.
    ///
    /// # Errors
    /// If there is none, or it does not tell its version.
    pub fn find(name: &str) -> Result<Self, CompilerError> {
        let path = search(name).ok_or_else(|| CompilerError::Missing(name.to_owned()))?;
        let unusable = |reason: String| CompilerError::Unusable {
            name: name.to_owned(),
            reason,
        };
        let answer = process::run(Command::new(&path).arg("--version"), LIMITS)
            .map_err(|error: RunError| unusable(error.to_string()))?;
        if !answer.status.success() {
            let end = answer.describe();
            return Err(unusable(format!("asked for --version it ended with {end}")));
        }
        // An upgrade in place may keep the version and change the code.
        let stamp = fs::metadata(&path).map_or_else(
            |_| String::new(),
            |found| format!("{} {}.{}", found.len(), found.mtime(), found.mtime_nsec()),
        );
        Ok(Self {
            name: name.to_owned(),
            identity: format!("{}\n{stamp}\n{}", path.display(), answer.stdout),
            path,
        })
    }

    /// As the user called it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first line of what it says about its version.
    #[must_use]
    pub fn version(&self) -> &str {
        self.identity.lines().nth(2).unwrap_or("").trim()
    }

    /// The program.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Changes when the compiler does.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// Makes sure that it builds OpenMP programs; once it did, that is known
    /// from the cache.
    ///
    /// # Errors
    /// If it does not, with its words.
    pub fn check_openmp(&self, cache: &Path) -> Result<(), CompilerError> {
        const PROBE: &str = "#include <omp.h>\n#ifndef _OPENMP\n#error \"OpenMP is not enabled by -fopenmp\"\n#endif\nint main(void)\n{\n    return omp_get_max_threads() == 0;\n}\n";
        let probe = Recipe {
            name: "openmp".to_owned(),
            files: vec![File {
                path: "openmp.c",
                text: PROBE,
            }],
            includes: Vec::new(),
            flags: vec!["-fopenmp".to_owned()],
            libraries: Vec::new(),
        };
        match store::build(self, &probe, cache) {
            Ok(_) => Ok(()),
            Err(BuildError::Refused { words, .. }) => Err(CompilerError::NoOpenMp {
                name: self.name.clone(),
                reason: store::first_error(&words).to_owned(),
            }),
            Err(other) => Err(CompilerError::Store(other)),
        }
    }
}

/// The file that would be executed.
fn search(name: &str) -> Option<PathBuf> {
    let executable =
        |path: &PathBuf| path.is_file() && access(path.as_path(), AccessFlags::X_OK).is_ok();
    if name.contains('/') {
        // Links are left as they are: some compilers see by the name what they are to be.
        return std::path::absolute(name).ok().filter(executable);
    }
    if name.is_empty() {
        return None;
    }
    env::split_paths(&env::var_os("PATH")?)
        .map(|directory| directory.join(name))
        .find(executable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::write_executable;

    fn script(directory: &Path, text: &str) -> String {
        let path = directory.join("cc");
        write_executable(&path, format!("#!/bin/sh\n{text}\n").as_bytes()).unwrap();
        path.display().to_string()
    }

    #[test]
    fn what_is_not_there_is_missing() {
        for name in [
            "",
            "no-such-compiler-anywhere",
            "/no/such/cc",
            "/tmp",
            "gcc -m64",
        ] {
            let error = Compiler::find(name).unwrap_err();
            assert!(
                matches!(error, CompilerError::Missing(_)),
                "{name}: {error}"
            );
        }
    }

    #[test]
    fn a_compiler_sees_the_name_by_which_it_is_called() {
        let directory = tempfile::tempdir().unwrap();
        script(directory.path(), "basename \"$0\"");
        let link = directory.path().join("cc.special");
        std::os::unix::fs::symlink("cc", &link).unwrap();
        let compiler = Compiler::find(&link.display().to_string()).unwrap();
        assert_eq!(compiler.version(), "cc.special");
    }

    #[test]
    fn what_does_not_tell_its_version_is_no_compiler() {
        let directory = tempfile::tempdir().unwrap();
        let error = Compiler::find(&script(directory.path(), "exit 4")).unwrap_err();
        assert!(error.to_string().contains("exit code 4"), "{error}");
    }

    #[test]
    fn a_compiler_without_openmp_is_quoted() {
        let directory = tempfile::tempdir().unwrap();
        // Drops the option that enables OpenMP, as some compilers do.
        let name = script(
            directory.path(),
            "for a; do shift; [ \"$a\" = -fopenmp ] || set -- \"$@\" \"$a\"; done; exec gcc \"$@\"",
        );
        let compiler = Compiler::find(&name).unwrap();
        let error = compiler.check_openmp(directory.path()).unwrap_err();
        assert!(
            error.to_string().contains("not enabled by -fopenmp"),
            "{error}"
        );
    }

    #[test]
    fn gcc_knows_openmp_and_has_a_version() {
        let directory = tempfile::tempdir().unwrap();
        let gcc = Compiler::find("gcc").unwrap();
        gcc.check_openmp(directory.path()).unwrap();
        assert!(!gcc.version().is_empty());
    }
}
