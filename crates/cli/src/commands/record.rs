//! `fathomp record`: one run, one recording.

use crate::args::{Record, ThreadCount};
use crate::failure::{Failure, Outcome, exit};
use crate::launch::{Stderr, Stdin, Stdout};
use crate::program;
use crate::recording::{self, Recorded, Request};
use crate::voice::{Voice, complain};
use fathomp_trace::writer::Existing;
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Answer<'a> {
    recording: &'a Path,
    records: u64,
    problems: &'a [String],
    exit_code: u8,
    wall_ns: u64,
}

pub(super) fn record(plan: &Record, voice: Voice) -> Outcome {
    let threads = threads(plan)?;
    let program = program::examine(&plan.program.command)?;
    if let Some(warning) = program.on_nodes(plan.cluster.nodes)? {
        voice.warn(warning);
    }
    let launcher = |failure: Failure| failure.with_code(exit::LAUNCHER);
    let unpacked = fathomp_runtime::unpack().map_err(|error| launcher(error.into()))?;
    let recorded = recording::record(&Request {
        program: &program,
        unpacked: &unpacked,
        directory: &plan.output,
        existing: if plan.force {
            Existing::Replace
        } else {
            Existing::Keep
        },
        threads,
        cluster: plan.cluster,
        accesses: plan.accesses,
        limit_bytes: plan.limit << 20,
        limit: None,
        rehearsal: false,
        stdin: Stdin::Inherit,
        stdout: Stdout::for_voice(voice),
        stderr: Stderr::Inherit,
    })
    .map_err(launcher)?;
    if let Some(sentence) = recorded.ended.of_nodes(plan.cluster.nodes) {
        complain("", &sentence);
    }
    let code = code(&recorded);
    tell(plan, &recorded, code, voice)?;
    Ok(code)
}

/// The program's exit code; ours if it ended well and there is nothing to show
/// for it.
fn code(recorded: &Recorded) -> u8 {
    match recorded.ended.exit_code() {
        0 if recorded.records == 0 => exit::LAUNCHER,
        code => code,
    }
}

/// Threads per node; one where accesses are recorded.
fn threads(plan: &Record) -> Result<Option<ThreadCount>, Failure> {
    if !plan.accesses {
        return Ok(plan.threads);
    }
    let one = Some(ThreadCount(1));
    let usage = |sentence: &str| Err(Failure::new(sentence).with_code(exit::USAGE));
    if plan.cluster.nodes < 2 {
        return usage("accesses are recorded on nodes: give --nodes with as many as threads");
    }
    if plan.threads.is_some() && plan.threads != one {
        return usage(
            "accesses are recorded of one thread on each node: give as many nodes as threads and leave --threads out",
        );
    }
    Ok(one)
}

fn tell(plan: &Record, recorded: &Recorded, code: u8, voice: Voice) -> Result<(), Failure> {
    for problem in &recorded.problems {
        voice.warn(problem);
    }
    if recorded.records > 0 {
        voice.say(format!(
            "recorded {} events in {}: see `fathomp regions {}`",
            recorded.records,
            plan.output.display(),
            plan.output.display()
        ));
    }
    if voice.json {
        let answer = Answer {
            recording: &plan.output,
            records: recorded.records,
            problems: &recorded.problems,
            exit_code: code,
            wall_ns: recorded.ended.wall_ns(),
        };
        voice.result("fathomp.record", &answer, String::new)?;
    }
    Ok(())
}
