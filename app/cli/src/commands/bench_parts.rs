//! What the ways to run benchmarks have in common: which programs, rows and names.

use crate::args::Bench;
use crate::console::Console;
use crate::failure::Failure;
use fathomp_bench::compiler::Compiler;
use fathomp_bench::run::Choice;
use fathomp_bench::suite::{self, Program, SuiteName};
use fathomp_toolchain::CompilerError;
use std::path::Path;

/// Compilers that are used if they are there.
const COMPILERS: [&str; 3] = ["gcc", "clang", "gfortran"];
/// Samples and runs for a first look.
pub(super) const QUICK: (u32, u32) = (10, 1);

/// The rows asked for.
pub(super) fn choice(plan: &Bench) -> Choice {
    Choice {
        only: plan.only.clone(),
        groups: plan.group.clone(),
    }
}

/// The compilers named, or those of the usual ones that work.
pub(super) fn compilers(
    named: &[String],
    cache: &Path,
    console: Console,
) -> Result<Vec<Compiler>, Failure> {
    if !named.is_empty() {
        return named
            .iter()
            .map(|name| Ok(Compiler::find(name, cache)?))
            .collect();
    }
    let mut found = Vec::new();
    for name in COMPILERS {
        match Compiler::find(name, cache) {
            Ok(compiler) => found.push(compiler),
            Err(CompilerError::Missing(_)) => {}
            Err(error) => console.warn(Failure::of(&error).sentence),
        }
    }
    if found.is_empty() {
        return Err(Failure::new(
            "there is no compiler to build the benchmarks with: install gcc or clang, or name one with --cc",
        ));
    }
    Ok(found)
}

/// The suite's programs by these compilers, at least one.
pub(super) fn programs(
    suite: SuiteName,
    compilers: &[Compiler],
    cache: &Path,
) -> Result<Vec<Program>, Failure> {
    let mut programs = Vec::new();
    for compiler in compilers {
        let built = suite::build(suite, compiler, cache)?;
        programs.extend(built);
    }
    if programs.is_empty() {
        return Err(Failure::new(format!(
            "the {} benchmark has no program in Fortran: name a C compiler with --cc",
            suite.name()
        )));
    }
    Ok(programs)
}
