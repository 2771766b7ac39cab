//! `fathomp sharing`: which variables and cache lines threads share.

use crate::args::ThreadCount;
use crate::calibrate;
use crate::console::{self, Console};
use crate::failure::{Failure, Outcome, exit};
use crate::host;
use crate::launch::{Stderr, Stdin, Stdout};
use crate::program;
use crate::recording::Streams;
use fathomp_cluster_commands::args::{Sharing, nodes_for};
use fathomp_cluster_commands::sharing::{self, Request, SharingRun};
use fathomp_launch::{OpenMp, of_this_process};
use fathomp_predict::machine::Machine;
use fathomp_report::text;
use fathomp_runtime::Unpacked;
use fathomp_shared_lines::Findings;
use serde::Serialize;

#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    findings: &'a Findings,
    exit_code: u8,
    wall_ns: u64,
}

pub(super) fn sharing(plan: &Sharing, console: Console) -> Outcome {
    let program = program::examine(&plan.program.command)?;
    let nodes = plan.nodes.unwrap_or_else(|| nodes_for(threads_asked()));
    if let Some(warning) = program.on_nodes(nodes)? {
        console.warn(warning);
    }
    let launcher = |failure: Failure| failure.with_code(exit::LAUNCHER);
    sharing::check(&program).map_err(launcher)?;
    let unpacked = fathomp_runtime::unpack().map_err(|error| launcher(error.into()))?;
    let machine = match &plan.machine {
        Some(file) => Some(Machine::read(file)?),
        None => measured(&unpacked, console),
    };
    let looked = sharing::look(&Request {
        program: &program,
        unpacked: &unpacked,
        nodes,
        limit_s: plan.timeout,
        machine: machine.as_ref(),
        streams: Streams {
            stdin: Stdin::Inherit,
            stdout: Stdout::for_voice(console),
            stderr: Stderr::Inherit,
        },
    })
    .map_err(launcher)?;
    tell(plan, &looked, console)?;
    Ok(looked.ended.exit_code())
}

/// As many as the user's environment asks for, or processors.
fn threads_asked() -> ThreadCount {
    let asked = OpenMp::from_env(&of_this_process).threads;
    ThreadCount(asked.unwrap_or_else(host::usable_cpus))
}

/// What this machine costs; without that, findings have no price.
fn measured(unpacked: &Unpacked, console: Console) -> Option<Machine> {
    if host::usable_cpus() < 2 {
        return None;
    }
    let calibrated = calibrate::machine(unpacked, &[2], false, |_| {}).ok()?;
    if let Some(doubt) = calibrated.doubt {
        console.warn(doubt);
    }
    Some(calibrated.machine)
}

fn tell(plan: &Sharing, looked: &SharingRun, console: Console) -> Result<(), Failure> {
    let findings = &looked.findings;
    for note in &findings.notes {
        console.warn(note);
    }
    if console.json {
        let answer = Answer {
            findings,
            exit_code: looked.ended.exit_code(),
            wall_ns: looked.ended.wall_ns(),
        };
        return console.result("fathomp.sharing", &answer, String::new);
    }
    console::print(&text::sharing(findings, plan.reads, console.width()))
}
