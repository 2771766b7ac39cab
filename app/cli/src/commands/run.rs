//! `fathomp run`: a program on our runtime, and nothing else.

use crate::args::Run;
use crate::console::{Console, complain};
use crate::failure::{Failure, Outcome, exit};
use crate::hosts::{self, Gathered};
use crate::launch::{Ended, Launch, Stderr, Stdin, Stdout, library, plan};
use crate::program;
use crate::progress::slowly;
use crate::teams::{Chosen, Decided};
use fathomp_launch::Protocol;
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
    let several = plan.cluster.nodes > 1 || plan.on.are_asked_for();
    let home = several && plan.cluster.dsm == Protocol::Home;
    if plan.check_races && !home {
        return Err(Failure::new(
            "--check-races compares what nodes of the home-based protocol change: give --nodes 2 or more, --hosts or --transport, and --dsm home, or leave it out",
        )
        .with_code(exit::USAGE));
    }
    let participants = match hosts::gather(&plan.on, &plan.program.command, plan.cluster.nodes)? {
        Gathered::Member(code) => return Ok(code),
        Gathered::Participants(participants) => Some(participants),
        Gathered::Alone => None,
    };
    let program = program::examine(&plan.program.command)?;
    if let Some(participants) = participants {
        let hosts::Answer { exit_code, wall_ns } =
            hosts::run(plan, &program, participants, console)?;
        let answer = Answer {
            exit_code,
            wall_ns,
            teams: None,
        };
        if console.json {
            console.result("fathomp.run", &answer, String::new)?;
        }
        return Ok(exit_code);
    }
    hosts::tell_of_others(&program, console);
    if let Some(warning) = program.on_nodes(plan.cluster.nodes)? {
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
    if let Some(sentence) = ended.of_nodes(plan.cluster.nodes) {
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
    let mut told = plan(asked.threads, asked.cluster);
    if let Some(teams) = teams {
        teams.tell(&mut told);
    }
    if let Some(cluster) = &mut told.cluster {
        cluster.races = asked.check_races;
    }
    let launch = Launch {
        program,
        tap: None,
        library: Some(library(&unpacked, asked.cluster)),
        plan: told,
        stdin: Stdin::Inherit,
        stdout: Stdout::for_voice(console),
        stderr: Stderr::Inherit,
    };
    Ok(launch.start()?.wait(None)?)
}
