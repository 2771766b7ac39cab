//! The OpenMP runtime that a program is recorded on: how it gets there, and why it cannot.

mod error;
mod find;

pub(crate) use error::WatchError;

use crate::args::{Family, RuntimeArg};
use crate::program::{self, Program};
use fathomp_launch::steering::TOOL_LIBRARIES;
use fathomp_launch::{Plan, of_this_process};
use fathomp_runtime::Unpacked;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What tells runtimes with OMPT whether to look for tools.
const TOOL: &str = "OMP_TOOL";

/// A runtime other than ours, which is watched while a program uses it.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    /// What the user asked for.
    pub(crate) asked: RuntimeArg,
    /// Libraries to preload: the foreign recorder, and the runtime if the program would not load it.
    preload: Vec<PathBuf>,
    tool: PathBuf,
    /// What the user should know, each as one sentence.
    pub(crate) notes: Vec<String>,
}

impl Watched {
    /// How `program` is recorded on the runtime that was asked for; nothing if that is ours.
    ///
    /// # Errors
    /// A sentence if it cannot be.
    pub(crate) fn prepare(
        asked: &RuntimeArg,
        program: &Program,
        unpacked: &Unpacked,
    ) -> Result<Option<Self>, WatchError> {
        let (family, path) = match asked {
            RuntimeArg::Fathomp => return Ok(None),
            RuntimeArg::Auto => (None, None),
            RuntimeArg::Other(family, path) => (Some(*family), path.as_deref()),
        };
        let mut preload = vec![unpacked.foreign_recorder.clone()];
        if let Some(family) = family {
            preload.extend(in_front(family, path, program)?);
        }
        let mut notes = Vec::new();
        tools(family, &mut notes)?;
        Ok(Some(Self {
            asked: asked.clone(),
            preload,
            tool: unpacked.foreign_recorder.clone(),
            notes,
        }))
    }

    /// Has a program started so.
    pub(crate) fn tell(&self, plan: &mut Plan) {
        plan.preload.clone_from(&self.preload);
        plan.tools = vec![self.tool.clone()];
    }
}

/// What the environment says of tools.
fn tools(family: Option<Family>, notes: &mut Vec<String>) -> Result<(), WatchError> {
    let text = |value: OsString| value.to_string_lossy().into_owned();
    let speaks_ompt = family != Some(Family::Libgomp);
    let runtime = family.map_or("a runtime with OMPT", Family::name);
    if let Some(value) = of_this_process(TOOL).map(text)
        && speaks_ompt
        && value.eq_ignore_ascii_case("disabled")
    {
        match family {
            Some(_) => return Err(WatchError::NoTools { value, runtime }),
            // The program may be one of libgomp's.
            None => notes.push(
                WatchError::NoTools { value, runtime }.to_string() + ", if the program uses one.",
            ),
        }
    }
    if let Some(users) =
        of_this_process(TOOL_LIBRARIES).filter(|users| !users.is_empty() && speaks_ompt)
    {
        notes.push(format!(
            "A runtime starts one tool, which is fathomp's in this run, so {} (OMP_TOOL_LIBRARIES) is not started.",
            text(users)
        ));
    }
    Ok(())
}

/// The library to preload for a program that is to use a runtime; none if it uses it anyway.
fn in_front(
    family: Family,
    path: Option<&Path>,
    program: &Program,
) -> Result<Option<PathBuf>, WatchError> {
    let runtime = family.name();
    if program.has_own_copy() {
        return Err(WatchError::OwnCopy {
            program: program.path.clone(),
            runtime,
        });
    }
    let calls = program::calls(&program.path);
    let llvms = calls.names.iter().find(|name| name.starts_with("__kmpc_"));
    if let (Family::Libgomp, Some(call)) = (family, llvms) {
        return Err(WatchError::OtherCompiler {
            program: program.path.clone(),
            call: call.clone(),
            compiler: "clang and other compilers with LLVM's runtime",
            runtime,
            others: "libomp, libiomp5 or fathomp",
        });
    }
    let unusable = |path: &Path, reason: String| WatchError::Unusable {
        runtime,
        path: path.to_owned(),
        reason,
    };
    let library = match path {
        Some(path) => path
            .canonicalize()
            .map_err(|error| unusable(path, error.to_string()))?,
        None if calls.asks_for(family) || family == Family::Libgomp => return Ok(None),
        None => find::library(family)?,
    };
    if library.to_string_lossy().contains([' ', ':', '\t']) {
        let reason = "the loader cannot preload paths with blanks and colons";
        return Err(unusable(&library, reason.to_owned()));
    }
    let has = program::definitions(&library).map_err(|reason| unusable(&library, reason))?;
    let needed = match family {
        Family::Libgomp => "GOMP_parallel",
        Family::Libomp | Family::Libiomp5 => "__kmpc_fork_call",
    };
    if !has.contains(needed) {
        return Err(unusable(&library, format!("it has no {needed}")));
    }
    missing(&calls.names, &has).map_or(Ok(Some(library.clone())), |call| {
        Err(WatchError::TooOld {
            program: program.path.clone(),
            call,
            runtime,
            library,
        })
    })
}

/// A call that a runtime does not have, if there is one.
fn missing(calls: &BTreeSet<String>, has: &BTreeSet<String>) -> Option<String> {
    calls.iter().find(|call| !has.contains(*call)).cloned()
}
