//! `fathomp completions`: a shell's script, made from the definition of the arguments.

use crate::args::{Arguments, Completions};
use crate::console::Console;
use crate::failure::{Failure, Outcome};
use clap::CommandFactory;
use serde::Serialize;

#[derive(Serialize)]
struct Answer {
    shell: String,
    script: String,
}

pub(super) fn completions(plan: Completions, console: Console) -> Outcome {
    let mut script = Vec::new();
    let mut command = Arguments::command();
    let name = command.get_name().to_owned();
    clap_complete::generate(plan.shell, &mut command, name, &mut script);
    let answer = Answer {
        shell: plan.shell.to_string(),
        script: String::from_utf8(script)
            .map_err(|_| Failure::new("the script is not UTF-8, which is a fault of fathomp"))?,
    };
    console.result("fathomp.completions", &answer, || answer.script.clone())?;
    Ok(0)
}
