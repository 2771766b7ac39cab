//! `fathomp run`: a program on our runtime, and nothing else.

use super::cluster;
use crate::args::Run;
use crate::console::{Console, complain};
use crate::failure::{Failure, Outcome, exit};
use crate::launch::{Ended, Launch, RanElsewhere, Stderr, Stdin, Stdout, library, plan};
use crate::program;
use crate::progress::slowly;
use crate::ranks;
use crate::teams::{Chosen, Decided};
use serde::Serialize;

#[derive(Serialize)]
struct Answer {
    exit_code: u8,
    wall_ns: u64,
    /// Teams of regions, if they were decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    teams: Option<Chosen>,
}

pub(super) fn run(plan: &Run, console: Console) -> Outcome {
    if let Some(RanElsewhere { exit_code, wall_ns }) = cluster::run(plan, console)? {
        if let Some(wall_ns) = wall_ns.filter(|_| console.json) {
            let answer = Answer {
                exit_code,
                wall_ns,
                teams: None,
            };
            console.result("fathomp.run", &answer, String::new)?;
        }
        return Ok(exit_code);
    }
    let program = program::examine(&plan.program.command)?;
    ranks::tell_of_others(&program, console);
    let nodes = plan.nodes.cluster().map_or(1, |cluster| cluster.nodes);
    if let Some(warning) = program.on_nodes(nodes)? {
        console.warn(warning);
    }
    let launcher = |failure: Failure| failure.with_code(exit::LAUNCHER);
    if plan.teams.is_something() {
        slowly(console, "looking at the program's code", || {
            crate::plan::keep(&program);
        });
    }
    let teams = Decided::prepare(&plan.teams, &program, console).map_err(launcher)?;
    let ended = start_and_wait(plan, &program, teams.as_ref(), console).map_err(launcher)?;
    if let Some(sentence) = ended.of_nodes(nodes) {
        complain("", &sentence);
    }
    let answer = Answer {
        exit_code: ended.exit_code(),
        wall_ns: ended.wall_ns(),
        teams: teams.map(|teams| teams.finish(console)),
    };
    if console.json {
        console.result("fathomp.run", &answer, String::new)?;
    }
    Ok(answer.exit_code)
}

fn start_and_wait(
    asked: &Run,
    program: &program::Program,
    teams: Option<&Decided>,
    console: Console,
) -> Result<Ended, Failure> {
    let unpacked = fathomp_runtime::unpack()?;
    let cluster = asked.nodes.cluster();
    let mut told = plan(asked.threads, cluster);
    if let Some(teams) = teams {
        teams.tell(&mut told);
    }
    let launch = Launch {
        program,
        interposer: None,
        library: Some(library(&unpacked, cluster)),
        plan: told,
        stdin: Stdin::Inherit,
        stdout: Stdout::for_voice(console),
        stderr: Stderr::Inherit,
    };
    Ok(launch.start()?.wait(None)?)
}
