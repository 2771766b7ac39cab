//! Why a program cannot be recorded on a runtime.

use std::path::PathBuf;

/// A program cannot be recorded on a runtime.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WatchError {
    #[error(
        "{runtime} was not found {places}: install it{package}, or give its path as in --runtime {runtime}=/path/{file}"
    )]
    Missing {
        runtime: &'static str,
        places: &'static str,
        package: &'static str,
        file: &'static str,
    },
    #[error("cannot use {path} as {runtime}: {reason}: give the path of the runtime's shared library", path = path.display())]
    Unusable {
        runtime: &'static str,
        path: PathBuf,
        reason: String,
    },
    #[error("{program} calls {call}, as programs of {compiler} do, which {runtime} does not have: record it on {others}", program = program.display())]
    OtherCompiler {
        program: PathBuf,
        call: String,
        compiler: &'static str,
        runtime: &'static str,
        others: &'static str,
    },
    #[error("{program} calls {call}, which this {runtime} ({library}) does not have: give a later one, as in --runtime {runtime}=/path", program = program.display(), library = library.display())]
    TooOld {
        program: PathBuf,
        call: String,
        runtime: &'static str,
        library: PathBuf,
    },
    #[error("{program} contains an OpenMP runtime of its own, linked statically, which no library can stand in front of: link it with the shared {runtime}", program = program.display())]
    OwnCopy {
        program: PathBuf,
        runtime: &'static str,
    },
    #[error(
        "OMP_TOOL is set to \"{value}\", so {runtime} starts no tool, and fathomp's, which would record it, neither: unset OMP_TOOL"
    )]
    NoTools {
        value: String,
        runtime: &'static str,
    },
}
