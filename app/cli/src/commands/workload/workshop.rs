//! Where workloads are built: a compiler, its options, the cache.

use crate::args::workload::{Making, Names, RuntimeName, Sizing};
use crate::failure::{Failure, exit};
use crate::progress::Progress;
use fathomp_launch::Cluster;
use fathomp_toolchain::{BuildError, Built, Compiler, build, in_parallel};
use fathomp_workloads::{Class, Variant, Workload};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A compiler that builds OpenMP programs, and a place to build them in.
pub(in crate::commands) struct Workshop {
    compiler: Compiler,
    flags: Vec<String>,
    cache: PathBuf,
}

impl Workshop {
    pub(in crate::commands) fn open(making: &Making) -> Result<Self, Failure> {
        let cache = fathomp_runtime::unpack()?.cache;
        let compiler = Compiler::find(&making.cc)?;
        compiler.check_openmp(&cache)?;
        Ok(Self {
            compiler,
            flags: making
                .cflags
                .split_whitespace()
                .map(str::to_owned)
                .collect(),
            cache,
        })
    }

    pub(in crate::commands) fn build(
        &self,
        workload: &Workload,
        class: Class,
        openmp: bool,
    ) -> Result<Built, BuildError> {
        let variant = Variant {
            class,
            openmp,
            flags: self.flags.clone(),
        };
        build(&self.compiler, &workload.recipe(&variant), &self.cache)
    }

    /// Builds several at a time, counting them from `done` on.
    pub(super) fn build_all(
        &self,
        workloads: &[&Workload],
        class: Class,
        openmp: bool,
        progress: &Progress,
        done: usize,
    ) -> Vec<Result<Built, BuildError>> {
        let done = AtomicUsize::new(done);
        in_parallel(workloads, |workload| {
            let built = self.build(workload, class, openmp);
            let count = done.fetch_add(1, Ordering::Relaxed) + 1;
            progress.at(count, format!("built {}", workload.full_name()));
            built
        })
    }
}

/// The workloads that the names stand for, each once, in the order given.
///
/// # Errors
/// If none of them has a size of the kind that is asked for.
pub(super) fn chosen<'a>(
    names: &'a [Names],
    sizing: &Sizing,
) -> Result<Vec<&'a Workload>, Failure> {
    let mut chosen: Vec<&Workload> = Vec::new();
    for workload in names.iter().flat_map(|names| &names.0) {
        if !chosen.contains(&workload) {
            chosen.push(workload);
        }
    }
    check_sizing(&chosen, sizing)?;
    Ok(chosen)
}

/// Makes sure that only our runtime is asked for more than one process.
pub(super) fn check_nodes(
    cluster: Option<Cluster>,
    runtimes: &[RuntimeName],
) -> Result<(), Failure> {
    if cluster.is_some() && runtimes.contains(&RuntimeName::System) {
        return Err(Failure::new(
            "only fathomp's runtime runs programs on several nodes: leave out --runtime system or --nodes",
        )
        .with_code(exit::USAGE));
    }
    Ok(())
}

/// Makes sure that a data set is asked of programs that have such.
pub(super) fn check_sizing(workloads: &[&Workload], sizing: &Sizing) -> Result<(), Failure> {
    let deaf = |workload: &&Workload| workload.suite.sized_when_built();
    match workloads {
        [first, ..] if sizing.data_set().is_some() && workloads.iter().all(deaf) => {
            Err(Failure::new(format!(
                "{} has classes instead of data sets: choose one with --class",
                first.full_name()
            ))
            .with_code(exit::USAGE))
        }
        [first, ..] if sizing.is_both() && !workloads.iter().any(deaf) => {
            Err(Failure::new(format!(
                "{} has one size: give --class or --size, not both",
                first.full_name()
            ))
            .with_code(exit::USAGE))
        }
        _ => Ok(()),
    }
}
