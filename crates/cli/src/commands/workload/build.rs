//! `fathomp workload build`.

use super::workshop::{Workshop, chosen};
use crate::args::workload::Build;
use crate::failure::{Failure, Outcome};
use crate::output::check_file;
use crate::progress::Progress;
use crate::voice::Voice;
use fathomp_toolchain::Built;
use fathomp_workloads::{Memory, Workload};
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
    /// Built now, not found in the cache.
    fresh: bool,
    /// Code and static data.
    static_bytes: Option<u64>,
    /// What it will allocate.
    heap_bytes: Option<u64>,
}

pub(super) fn build(plan: &Build, voice: Voice) -> Outcome {
    let workshop = Workshop::open(&plan.making)?;
    let workloads = chosen(&plan.names);
    let progress = Progress::start(voice, workloads.len());
    let class = plan.sizing.class;
    let built = workshop.build_all(&workloads, class, true, &progress, 0);
    progress.finish();
    // Those that could be built are in the cache when the command is repeated.
    let mut built = built.into_iter().collect::<Result<Vec<Built>, _>>()?;
    if let Some(directory) = &plan.output {
        copy(&mut built, directory, plan.force)?;
    }
    let rows = workloads.iter().zip(&built).map(|(workload, built)| {
        let memory = voice.json.then(|| memory(workload, plan, &built.path));
        Row {
            name: workload.full_name(),
            size: workload.size(class, plan.sizing.size.as_deref()),
            path: built.path.clone(),
            fresh: built.fresh,
            static_bytes: memory.flatten().map(|memory| memory.static_bytes),
            heap_bytes: memory.flatten().map(|memory| memory.heap_bytes),
        }
    });
    let answer = Answer {
        programs: rows.collect(),
    };
    voice.result("fathomp.workload-build", &answer, || {
        let paths = answer.programs.iter().map(|row| row.path.display());
        paths.map(|path| format!("{path}\n")).collect()
    })?;
    Ok(0)
}

/// `None` where the machine is too small even to ask, or the size unknown.
fn memory(workload: &Workload, plan: &Build, program: &Path) -> Option<Memory> {
    let arguments = workload.size_arguments(plan.sizing.class, plan.sizing.size.as_deref());
    Memory::needed(program, &arguments, None).ok()
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
