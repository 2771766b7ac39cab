//! `fathomp workload figures`: the published figures of access patterns, measured here.

use crate::args::workload::Figures;
use crate::console::Console;
use crate::failure::{Failure, Outcome, exit};
use crate::{host, output};
use serde::Serialize;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What measures and draws.
const SCRIPT: &str = include_str!("../../../../../workloads/patterns/figures.sh");

#[derive(Serialize)]
struct Answer {
    /// Tables (CSV), and what gnuplot draws of them.
    files: Vec<PathBuf>,
}

pub(super) fn figures(plan: &Figures, console: Console) -> Outcome {
    output::check_directory(&plan.output, plan.force)?;
    let failed = |error: std::io::Error| {
        Failure::new(format!(
            "cannot run a shell that measures the figures: {error}"
        ))
        .with_code(exit::LAUNCHER)
    };
    let threads = plan
        .threads
        .clone()
        .map_or_else(|| vec![1, host::usable_cpus()], |list| list.0);
    console.say("measuring seven figures, which takes minutes");
    let mut shell = Command::new("sh")
        .args(["-s", "--"])
        .arg(&plan.output)
        .args(threads.iter().map(u32::to_string))
        .env("FATHOMP", std::env::current_exe().map_err(failed)?)
        .env("REPEAT", plan.repeat.to_string())
        .env("RUNS", plan.runs.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .map_err(failed)?;
    if let Some(mut stdin) = shell.stdin.take() {
        stdin.write_all(SCRIPT.as_bytes()).map_err(failed)?;
    }
    if !shell.wait().map_err(failed)?.success() {
        return Err(Failure::new(
            "the figures were not all measured: see above what went wrong",
        ));
    }
    let answer = Answer {
        files: files(&plan.output).map_err(|error| Failure::unwritable(&plan.output, &error))?,
    };
    console.result("fathomp.workload.figures", &answer, || {
        let lines = answer
            .files
            .iter()
            .map(|file| format!("{}\n", file.display()));
        lines.collect()
    })?;
    Ok(0)
}

fn files(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(directory)?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    Ok(files)
}
