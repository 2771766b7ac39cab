//! `fathomp workload run`: builds one workload and gets out of its way.

use super::memory;
use super::workshop::{Workshop, check_nodes, check_sizing};
use crate::args::workload::{Run, RuntimeName};
use crate::console::Console;
use crate::failure::{Failure, Outcome, exit};
use crate::launch::{self, Launch, Stderr, Stdin, Stdout, library};
use crate::program::{self, Program};
use serde::Serialize;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Serialize)]
struct Answer {
    program: PathBuf,
    exit_code: u8,
    wall_ns: u64,
}

pub(super) fn run(plan: &Run, console: Console) -> Outcome {
    let prepared = prepare(plan).map_err(|failure| match failure.code {
        // The launcher's own failures must not look like the program's.
        exit::FAILED => failure.with_code(exit::LAUNCHER),
        _ => failure,
    })?;
    let answer = start_and_wait(plan, &prepared, console)
        .map_err(|failure| failure.with_code(exit::LAUNCHER))?;
    if console.json {
        console.result("fathomp.workload-run", &answer, String::new)?;
    }
    Ok(answer.exit_code)
}

fn prepare(plan: &Run) -> Result<Program, Failure> {
    let workload = &plan.name.0;
    let (class, size) = (plan.sizing.class(), plan.sizing.data_set());
    check_nodes(plan.nodes.cluster(), &[plan.runtime])?;
    check_sizing(&[workload], &plan.sizing)?;
    let built = Workshop::open(&plan.making)?.build(workload, class, true)?;
    let arguments = workload.size_arguments(class, size);
    if !plan.force {
        memory::check(workload, class, size, &built.path, &arguments)?;
    }
    let mut command = vec![OsString::from(&built.path)];
    command.extend(arguments.into_iter().map(OsString::from));
    command.extend(plan.arguments.iter().cloned());
    match plan.runtime {
        RuntimeName::Fathomp => Ok(program::examine(&command)?),
        RuntimeName::System => Ok(Program {
            path: built.path,
            command,
            suspicion: None,
        }),
    }
}

fn start_and_wait(plan: &Run, program: &Program, console: Console) -> Result<Answer, Failure> {
    let unpacked = fathomp_runtime::unpack()?;
    let launch = Launch {
        program,
        interposer: None,
        library: (plan.runtime == RuntimeName::Fathomp)
            .then(|| library(&unpacked, plan.nodes.cluster())),
        plan: launch::plan(plan.threads, plan.nodes.cluster()),
        stdin: Stdin::Inherit,
        stdout: Stdout::for_voice(console),
        stderr: Stderr::Inherit,
    };
    let ended = launch.start()?.wait(None)?;
    Ok(Answer {
        program: program.path.clone(),
        exit_code: ended.exit_code(),
        wall_ns: ended.wall_ns(),
    })
}
