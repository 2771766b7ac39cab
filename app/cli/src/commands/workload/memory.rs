//! Refusing what would not fit into memory before it is started.

use crate::failure::{Failure, exit};
use fathomp_workloads::{Class, Memory, MemoryError, Workload, available, binary_size};
use std::path::Path;

/// Makes sure that the built `program` fits into the memory there is.
pub(in crate::commands) fn check(
    workload: &Workload,
    class: Class,
    size: Option<&str>,
    program: &Path,
    arguments: &[String],
) -> Result<(), Failure> {
    let Some(free) = available() else {
        return Ok(());
    };
    let what = format!(
        "{}, size {},",
        workload.full_name(),
        workload.size(class, size)
    );
    let need = match Memory::needed(program, arguments, Some(free)) {
        Ok(memory) => memory.bytes(),
        Err(MemoryError::Static { need, .. }) => need,
        Err(MemoryError::Refused(words)) => return Err(Failure::new(words).with_code(exit::USAGE)),
        Err(error) => return Err(Failure::new(format!("{what} is no use: {error}"))),
    };
    if need <= free {
        return Ok(());
    }
    Err(Failure::new(format!(
        "{what} needs {} but only {} are free: {}",
        binary_size(need),
        binary_size(free),
        advice(workload, class)
    )))
}

fn advice(workload: &Workload, class: Class) -> String {
    let smaller = Class::ALL.into_iter().rev().find(|one| *one < class);
    match smaller {
        Some(smaller) if workload.suite.sized_when_built() => {
            format!("choose class {smaller}, or --force")
        }
        _ => "choose a smaller --size, or --force".to_owned(),
    }
}
