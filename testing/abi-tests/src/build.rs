//! Compiling programs and the libraries they load.

use crate::program::Program;
use crate::run::{self, Limits};
use fathomp_types::Ending;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const LIMITS: Limits = Limits {
    time: Duration::from_secs(120),
    bytes: 1 << 20,
};

/// A program that does not compile.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The compiler could not be run or did not end.
    #[error("{compiler} could not be used: {source}")]
    Run {
        /// Its name.
        compiler: String,
        /// Why.
        source: io::Error,
    },
    /// It refused the source.
    #[error("{compiler} refused {file}:\n{output}")]
    Refused {
        /// Its name.
        compiler: String,
        /// The source.
        file: String,
        /// What it said.
        output: String,
    },
}

/// True if the compiler answers.
#[must_use]
pub fn available(compiler: &str) -> bool {
    let mut command = Command::new(compiler);
    command.arg("--version");
    run::run(&mut command, LIMITS).is_ok_and(|ended| ended.ending == Ending::Exited(0))
}

/// Builds `program` by the compiler of that command, at one optimisation level, into
/// `directory`.
///
/// # Errors
/// See [`BuildError`].
pub fn build(
    program: &Program,
    compiler: &str,
    variant: &str,
    directory: &Path,
) -> Result<PathBuf, BuildError> {
    let file = format!("{}{variant}", program.name.replace('/', "-"));
    let output = directory.join(file);
    let mut command = Command::new(compiler);
    command
        .args([variant, "-g", "-fopenmp"])
        .args(&program.flags)
        .arg("-I")
        .arg(crate::program::directory())
        .arg("-o")
        .arg(&output)
        .arg(&program.source)
        .args(["-ldl", "-lm", "-lpthread"])
        // Fortran writes module files into the working directory.
        .current_dir(directory);
    compile(compiler, &program.source, &mut command)?;
    Ok(output)
}

/// Builds `plugin_lib.c` as `plugin.so` into `directory`, by a compiler of C.
///
/// # Errors
/// See [`BuildError`].
pub fn build_library(
    source: &Path,
    compiler: &str,
    directory: &Path,
) -> Result<PathBuf, BuildError> {
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    let name = stem.strip_suffix("_lib").unwrap_or(&stem);
    let output = directory.join(format!("{name}.so"));
    let mut command = Command::new(compiler);
    command
        .args(["-O2", "-g", "-fopenmp", "-shared", "-fPIC", "-o"])
        .arg(&output)
        .arg(source);
    compile(compiler, source, &mut command)?;
    Ok(output)
}

fn compile(compiler: &str, source: &Path, command: &mut Command) -> Result<(), BuildError> {
    let ended = run::run(command, LIMITS).map_err(|source| BuildError::Run {
        compiler: compiler.to_owned(),
        source,
    })?;
    if ended.ending == Ending::Exited(0) {
        return Ok(());
    }
    Err(BuildError::Refused {
        compiler: compiler.to_owned(),
        file: source.display().to_string(),
        output: ended.stderr,
    })
}
