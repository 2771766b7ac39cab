//! `fathomp workload build`.

use super::workshop::{Workshop, chosen};
use crate::args::workload::Build;
use crate::console::Console;
use crate::failure::{Failure, Outcome};
use crate::output::check_file;
use crate::progress::Progress;
use fathomp_toolchain::Built;
use fathomp_workloads::{Memory, MemoryError, available};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Serialize)]
struct Answer {
    programs: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    size: String,
    path: PathBuf,
    /// What asks the program for the size that was asked for.
    arguments: Vec<String>,
    /// Built now, not found in the cache.
    fresh: bool,
    /// Code and static data.
    static_bytes: Option<u64>,
    /// What it will allocate.
    heap_bytes: Option<u64>,
}

pub(super) fn build(plan: &Build, console: Console) -> Outcome {
    let workshop = Workshop::open(&plan.making)?;
    let workloads = chosen(&plan.names, &plan.sizing)?;
    let progress = Progress::start(console, workloads.len());
    let (class, size) = (plan.sizing.class(), plan.sizing.data_set());
    let built = workshop.build_all(&workloads, class, true, &progress, 0);
    progress.finish();
    // Those that could be built are in the cache when the command is repeated.
    let mut built = built.into_iter().collect::<Result<Vec<Built>, _>>()?;
    if let Some(directory) = &plan.output {
        copy(&mut built, directory, plan.force)?;
    }
    let rows = workloads.iter().zip(&built).map(|(workload, built)| {
        let arguments = workload.size_arguments(class, size);
        let (static_bytes, heap_bytes) = if console.json {
            need(&built.path, &arguments)
        } else {
            (None, None)
        };
        Row {
            name: workload.full_name(),
            size: workload.size(class, size),
            path: built.path.clone(),
            arguments: if plan.sizing.is_default() {
                Vec::new()
            } else {
                arguments
            },
            fresh: built.fresh,
            static_bytes,
            heap_bytes,
        }
    });
    let answer = Answer {
        programs: rows.collect(),
    };
    console.result("fathomp.workload-build", &answer, || {
        answer.programs.iter().map(Row::text).collect()
    })?;
    Ok(0)
}

impl Row {
    /// What to type, or to put behind `record --`.
    fn text(&self) -> String {
        let mut line = self.path.display().to_string();
        for argument in &self.arguments {
            line.push(' ');
            line.push_str(argument);
        }
        line.push('\n');
        line
    }
}

/// Bytes of code and static data, and of allocations, as far as they are known:
/// a program that is too large for this machine is not asked.
fn need(program: &Path, arguments: &[String]) -> (Option<u64>, Option<u64>) {
    match Memory::needed(program, arguments, available()) {
        Ok(memory) => (Some(memory.static_bytes), Some(memory.heap_bytes)),
        Err(MemoryError::Static { need, .. }) => (Some(need), None),
        Err(_) => (None, None),
    }
}

fn copy(built: &mut [Built], directory: &Path, force: bool) -> Result<(), Failure> {
    fs::create_dir_all(directory).map_err(|error| Failure::unwritable(directory, &error))?;
    let copies: Vec<PathBuf> = built
        .iter()
        .filter_map(|one| one.path.file_name())
        .map(|name| directory.join(name))
        .collect();
    for copy in &copies {
        check_file(copy, force)?;
    }
    for (built, copy) in built.iter_mut().zip(copies) {
        fs::copy(&built.path, &copy).map_err(|error| Failure::unwritable(&copy, &error))?;
        built.path = copy;
    }
    Ok(())
}
