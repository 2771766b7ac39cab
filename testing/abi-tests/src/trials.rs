//! A trial for each program and compiler.

use crate::build;
use crate::program::{Compiler, Program};
use fathomp_requirements::left_out;
use libtest_mimic::{Completion, Failed, Trial};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Checks a program, built by a compiler, with what all trials share.
pub type Check<S> = fn(&Program, Compiler, &S) -> Result<(), Failed>;

/// One trial per program and compiler that can build it; where the compiler is missing, it says
/// so.
pub fn of<'a, S: Send + Sync + 'static>(
    programs: impl Iterator<Item = &'a Program>,
    shared: &Arc<S>,
    check: Check<S>,
) -> Vec<Trial> {
    let mut available = BTreeMap::new();
    let mut trials = Vec::new();
    for (program, compiler) in programs.flat_map(|one| Compiler::ALL.map(|by| (one, by))) {
        let Some(command) = program.command(compiler) else {
            continue;
        };
        let works = *available
            .entry(command)
            .or_insert_with(|| build::available(command));
        let (shared, tested) = (Arc::clone(shared), program.clone());
        let test = move || {
            if !works {
                let packages = compiler.packages(command);
                return left_out(format!("needs {command}: apt-get install {packages}"));
            }
            check(&tested, compiler, &shared)?;
            Ok(Completion::Completed)
        };
        trials.push(Trial::ignorable_test(compiler.test_name(program), test));
    }
    trials
}
