//! `fathomp run`: a program on our runtime, and nothing else.

use crate::args::Run;
use crate::failure::{Failure, Outcome, exit};
use crate::launch::{Ended, Launch, Stdout};
use crate::program;
use crate::voice::Voice;
use serde::Serialize;

#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    outcome: fathomp_trace::model::Outcome,
    exit_code: u8,
    wall_ns: u64,
}

pub(super) fn run(plan: &Run, voice: Voice) -> Outcome {
    let program = program::examine(&plan.program.command).map_err(|error| {
        let code = error.exit_code();
        Failure::from(error).with_code(code)
    })?;
    let launcher = |error: Failure| error.with_code(exit::LAUNCHER);
    let unpacked = fathomp_runtime::unpack().map_err(|e| launcher(e.into()))?;
    let launch = Launch {
        program: &program,
        library: &unpacked.library,
        variables: crate::launch::thread_variables(plan.threads),
        stdout: Stdout::for_voice(voice),
    };
    let running = launch.start().map_err(|e| launcher(e.into()))?;
    let ended = running.wait().map_err(|e| launcher(e.into()))?;
    if voice.json {
        let answer = answer(&ended);
        voice.result("fathomp.run", &answer, String::new)?;
    }
    Ok(ended.exit_code())
}

fn answer(ended: &Ended) -> Answer {
    Answer {
        outcome: ended.outcome,
        exit_code: ended.exit_code(),
        wall_ns: u64::try_from(ended.wall.as_nanos()).unwrap_or(u64::MAX),
    }
}
