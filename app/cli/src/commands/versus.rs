//! `fathomp study --runtime A,B`: one program on several OpenMP runtimes.

use crate::args::{RuntimeArg, Study as Plan, ThreadList};
use crate::console::Console;
use crate::failure::{Failure, Outcome};
use crate::host;
use crate::launch::Stdin;
use crate::output;
use crate::program::Program;
use crate::progress::Progress;
use crate::study::Study;
use crate::study::runtimes::{Job, ROUNDS, lanes};
use crate::study::versus::text;
use fathomp_report::runtimes::{Comparison, Versus};
use fathomp_report::runtimes_page;
use serde::Serialize;
use std::path::{Path, PathBuf};

#[derive(Serialize)]
struct Answer<'a> {
    directory: &'a Path,
    recordings: &'a [PathBuf],
    exit_code: u8,
    notes: &'a [String],
    /// By number of threads.
    comparisons: &'a [Versus],
}

pub(super) fn versus(
    plan: &Plan,
    runtimes: &[RuntimeArg],
    program: &Program,
    console: Console,
) -> Outcome {
    Study::check(&plan.directory, plan.force)?;
    let unpacked = fathomp_runtime::unpack()?;
    let lanes = lanes(runtimes, program, &unpacked)?;
    let most = || ThreadList(vec![host::usable_cpus()]);
    let threads = plan.threads.clone().unwrap_or_else(most);
    let rounds = plan.repeat.unwrap_or(ROUNDS);
    let words = program.command.iter();
    let command = words.map(|word| word.to_string_lossy().into_owned());
    let mut study = Study::create(&plan.directory, command.collect())?;
    let progress = Progress::start(console, lanes.len() * threads.0.len() * rounds as usize + 1);
    let job = Job {
        console,
        program,
        unpacked: &unpacked,
        threads: &threads.0,
        rounds,
        progress: &progress,
        stdin: Stdin::for_several_runs(study.path("stdin")),
    };
    let compared = job.run(&mut study, &lanes)?;
    progress.finish();
    study.save()?;
    for note in &study.index.notes {
        console.warn(note);
    }
    let code = compared.failed.unwrap_or(0);
    let answer = Answer {
        directory: &plan.directory,
        recordings: &study.index.recordings,
        exit_code: code,
        notes: &study.index.notes,
        comparisons: &compared.tables,
    };
    let numbers = serde_json::to_string_pretty(&answer.comparisons).map_err(Failure::from)? + "\n";
    output::write_file(&study.path("runtimes.json"), numbers.as_bytes())?;
    if !compared.tables.is_empty() {
        let comparison = Comparison {
            command: &study.index.command,
            rounds,
            tables: &compared.tables,
            notes: &study.index.notes,
        };
        let page = runtimes_page(&comparison)?;
        output::write_file(&plan.output, page.as_bytes())?;
        console.say(format!("wrote {}", plan.output.display()));
    }
    console.result("fathomp.study-runtimes", &answer, || {
        let tables: Vec<String> = compared.tables.iter().map(text).collect();
        tables.join("\n")
    })?;
    Ok(code)
}
