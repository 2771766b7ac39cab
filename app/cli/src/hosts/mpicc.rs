//! The library by which agents use MPI, built by the user's own compiler for it.

use crate::failure::Failure;
use fathomp_launch::Starter;
use fathomp_launch::names::MPICC;
use fathomp_sys::mpi::SOURCE;
use fathomp_toolchain::{Compiler, CompilerError, File, Recipe, build};
use std::path::{Path, PathBuf};

/// The library for the MPI of that `mpirun`; `named` is the compiler that the user wants.
pub(super) fn library(named: Option<&str>, by: Starter) -> Result<PathBuf, Failure> {
    let chosen = named.map(str::to_owned).or_else(|| {
        let value = std::env::var(MPICC.name).ok();
        value.filter(|value| !value.is_empty())
    });
    let names = match &chosen {
        Some(name) => vec![name.clone()],
        None => candidates(by, beside_starter().as_deref()),
    };
    let compiler = find(&names, chosen.is_some(), by)?;
    let recipe = Recipe {
        name: "fathomp-mpi.so".to_owned(),
        files: vec![File {
            path: "mpi.c",
            text: SOURCE,
        }],
        includes: Vec::new(),
        flags: ["-O2", "-fPIC", "-shared"].map(str::to_owned).to_vec(),
        libraries: Vec::new(),
    };
    let unpacked = fathomp_runtime::unpack()?;
    let built = build(&compiler, &recipe, &unpacked.cache).map_err(|error| {
        Failure::new(format!(
            "{error}: install the headers of that MPI, or name another compiler by --mpicc"
        ))
    })?;
    Ok(built.path)
}

/// Compilers that may belong to that `mpirun`, the likeliest first. Debian has several MPIs side
/// by side and adds their names.
fn candidates(by: Starter, directory: Option<&Path>) -> Vec<String> {
    let own = match by {
        Starter::OpenMpi | Starter::SlurmPmix => "mpicc.openmpi",
        Starter::Mpich | Starter::SlurmPmi | Starter::Slurm => "mpicc.mpich",
    };
    let names = [own, "mpicc"];
    let beside = directory.into_iter().flat_map(|directory| {
        names.map(|name| directory.join(name).to_string_lossy().into_owned())
    });
    beside.chain(names.map(str::to_owned)).collect()
}

/// Where the program lies that has started this process: `mpirun` or its proxy on this host.
fn beside_starter() -> Option<PathBuf> {
    let parent = nix::unistd::getppid();
    let program = std::fs::read_link(format!("/proc/{parent}/exe")).ok()?;
    Some(program.parent()?.to_owned())
}

/// The first of these that there is.
fn find(names: &[String], is_chosen: bool, by: Starter) -> Result<Compiler, Failure> {
    for name in names {
        match Compiler::find(name) {
            Ok(compiler) => return Ok(compiler),
            Err(CompilerError::Missing(_)) => {}
            Err(error) => {
                let reason = match error {
                    CompilerError::Unusable { reason, .. } => reason,
                    other => other.to_string(),
                };
                return Err(Failure::new(format!(
                    "{name} is no compiler for MPI that can be used ({reason}): name another by --mpicc"
                )));
            }
        }
    }
    let named = names.last().map_or("", String::as_str);
    Err(Failure::new(match is_chosen {
        true => format!(
            "there is no compiler called \"{named}\" here: install it, or name another by --mpicc"
        ),
        false => format!(
            "there is no mpicc for {by} here: install it (on Debian libopenmpi-dev or libmpich-dev), or name it by --mpicc"
        ),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_beside_the_starter_comes_first() {
        let names = candidates(Starter::OpenMpi, Some(Path::new("/opt/mpi/bin")));
        assert_eq!(names[0], "/opt/mpi/bin/mpicc.openmpi");
        assert_eq!(names[1], "/opt/mpi/bin/mpicc");
        assert_eq!(candidates(Starter::Mpich, None), ["mpicc.mpich", "mpicc"]);
    }

    #[test]
    fn a_compiler_that_is_not_there_is_named() {
        let missing = ["no-such-mpicc".to_owned()];
        let error = find(&missing, true, Starter::Mpich).unwrap_err();
        assert!(error.sentence.contains("\"no-such-mpicc\""), "{error:?}");
        let error = find(&missing, false, Starter::Mpich).unwrap_err();
        assert!(error.sentence.contains("mpirun of MPICH"), "{error:?}");
    }
}
